/**
 * Why a step is taken, and who asked for it: what its intent records for people (state/why.ts). Pure.
 *
 * | reason of the step                    | who asked                                              |
 * |---------------------------------------|--------------------------------------------------------|
 * | Drift, Vanished, Remediation          | nobody: drift, a loss, an error                        |
 * | Shed, ShedEnded                       | a Budget                                               |
 * | any other, of an owned object         | its owner, which knows why it has, changes or removes it |
 * | RestartRequested                      | the token                                              |
 * | any other                             | the document                                           |
 */
import { actionOf, effectOf } from '../../actions/index.ts';
import type { AskedBy, Why } from '../../state/index.ts';
import type { Step } from './types.ts';

/** What is known of an object beside its step. */
export interface Askers {
  /** Of an owned object: what its owner answers. */
  readonly owner: AskedBy | undefined;
  /** The Budget that has it stopped. */
  readonly budget: string | undefined;
  readonly restartToken: string | undefined;
  readonly planFile: string | undefined;
}

const withoutAsker: Readonly<Partial<Record<Step['reason'], AskedBy['by']>>> = {
  Drift: 'Drift',
  Vanished: 'Loss',
  Remediation: 'Error',
};

export function whyOf(step: Step, askers: Askers): Why {
  const { reason, action, differences } = step;
  const isWhole = actionOf(action.do)?.fields === 'all' || effectOf(action.do) === 'delete';
  const { planFile } = askers;
  return {
    reason,
    fields: isWhole ? [] : [...new Set(differences.map(({ path }) => path))],
    askedBy: askerOf(step, askers),
    ...(planFile === undefined ? {} : { planFile }),
  };
}

function askerOf({ reason }: Step, { owner, budget, restartToken }: Askers): AskedBy {
  const by = withoutAsker[reason];
  if (by !== undefined) return { by };
  if (reason === 'Shed' || reason === 'ShedEnded')
    return { by: 'Shedding', ...(budget === undefined ? {} : { name: budget }) };
  if (owner) return owner;
  if (reason === 'RestartRequested' && restartToken !== undefined)
    return { by: 'RestartToken', name: restartToken };
  return { by: 'Document' };
}

/** `Drift: image, env.LEVEL and 2 more`. */
export function whyText({ reason, fields = [], moreFields = 0 }: Why): string {
  const more = moreFields > 0 ? ` and ${moreFields} more` : '';
  return fields.length === 0 ? reason : `${reason}: ${fields.join(', ')}${more}`;
}

/** `rollout of the fleet web to revision 3`. */
export function askedByText({ why, generation }: { readonly why: Why; readonly generation: number }): string {
  const { askedBy, planFile, reason } = why;
  const text = askerText(askedBy, reason, generation);
  return planFile === undefined ? text : `${text}, by the plan file ${planFile}`;
}

function askerText({ by, name = '', revision, detail }: AskedBy, reason: string, generation: number): string {
  const to = revision === undefined ? '' : ` to revision ${revision}`;
  switch (by) {
    case 'Document':
      return reason === 'Deleted' ? 'removal of the document' : `generation ${generation} of the document`;
    case 'RestartToken':
      return `restart token ${name}`;
    case 'Drift':
      return 'drift: somebody else changed it';
    case 'Loss':
      return 'a loss: somebody else deleted it';
    case 'Error':
      return 'onError: it is in error';
    case 'Shedding':
      return name === '' ? 'a Budget' : `Budget ${name}`;
    case 'Rollout':
      return `rollout of the fleet ${name}${to}`;
    case 'Rollback':
      return `return of the fleet ${name}${to}`;
    case 'Scale':
      return `scale of the fleet ${name}${detail === undefined ? '' : `: ${detail}`}`;
    case 'Repair':
      return `repair of the fleet ${name}`;
    case 'Command':
      return `operator command on the fleet ${name}`;
    case 'Relocation':
      return `relocation of a replica of the fleet ${name}`;
    case 'Fleet':
      return `the fleet ${name}`;
  }
}
