/**
 * What the evidence says of a mutation whose outcome is unknown. The observation must have begun after the settle
 * window; then what it shows is what came of the request. docs/safety-of-mutations.md has the table of all mutations:
 *
 * | evidence | happened                              | did not happen                  | can't be told                       |
 * |----------|---------------------------------------|---------------------------------|-------------------------------------|
 * | mark     | something carries our mark            | nothing does                    | there is something whose marks are hidden: for a registry see below |
 * | fields   | they are as sent                      | one differs; hidden ones: the revision is the one before | they are hidden, and the revision moved: see below |
 * | left     | it is not paused or sleeping any more | it still is                     | no state is shown                   |
 * | paused   | it is paused                          | it is in another steady state   | no state is shown                   |
 * | moved    | the revision or the state has moved   | neither has                     | no revision is shown, and the state is the same |
 * | gone     | gone, or deleting                     | there, and not deleting         | no state is shown                   |
 *
 * What one look does not show is not gone: an absence that is not confirmed proves nothing, but for what carries a mark.
 *
 * "Did not happen" is never taken as a licence for a second effect: the same request goes out again with the
 * same idempotency key. What can't be told waits for a person's word (`fleetkeeper resolve`).
 *
 * Except for hidden fields whose revision moved, when the request carried the revision before (§4 rule 3): it is *outdated*. It has
 * taken effect already, or never will. What it sets is set whole (§2), so the change is planned again as another
 * request, with the new revision and another key: that has one end, whichever of the two it was.
 *
 * And except for what is *repeatable*: hidden fields of a request without a revision, and an entry for a repository, of which an account has
 * one. The same request is sent once more, with its key: that has one end, whether it is the first or the second one that has it.
 */
import type { Intent } from '../state/index.ts';
import { settledStates } from './service-states.ts';
import type { ActionName, Difference, Observation } from './types.ts';

/** `undecided`: no evidence will tell. Undefined: this observation can't tell yet. */
export type Verdict = 'applied' | 'not-applied' | 'outdated' | 'repeatable' | 'undecided' | undefined;

type Evidence =
  | { readonly by: 'left' | 'paused' | 'moved' }
  /** `isSingle`: an account can have only one such thing, so a repetition makes no second one. */
  | { readonly by: 'mark'; readonly isSingle?: true }
  /** `paths` of the differences that the action would have removed; `isRevised`: the request carries the revision that it rests on. */
  | { readonly by: 'fields'; readonly paths: RegExp; readonly isRevised: boolean }
  /** `stateless`: such a thing is there or not, and shows no deletion under way. */
  | { readonly by: 'gone'; readonly stateless?: true };

export const evidenceOf: Readonly<Record<ActionName, Evidence>> = {
  'create-service': { by: 'mark' },
  'patch-service': { by: 'fields', paths: /^(image|command|httpPort|env(\..*)?)$/, isRevised: true },
  'resize-service': { by: 'fields', paths: /^resources$/, isRevised: false },
  'set-sleep-policy': { by: 'fields', paths: /^sleepAfterMinutes$/, isRevised: false },
  'start-service': { by: 'left' },
  'stop-service': { by: 'paused' },
  'restart-service': { by: 'moved' },
  'delete-service': { by: 'gone' },
  'create-volume': { by: 'mark' },
  'update-volume': { by: 'fields', paths: /^(volumeName|sizeGb)$/, isRevised: true },
  'delete-volume': { by: 'gone' },
  'create-template': { by: 'mark' },
  'replace-template': {
    by: 'fields',
    paths:
      /^(templateName|description|image|command|resources|httpPort|containerDiskGb|workspaceGb|sleepAfterMinutes|requiredEnvironment)$/,
    isRevised: true,
  },
  'delete-template': { by: 'gone', stateless: true },
  'create-registry': { by: 'mark', isSingle: true },
  // Nobody can see whose rotation moved the revision.
  'rotate-registry': { by: 'fields', paths: /^credentials$/, isRevised: true },
  'delete-registry': { by: 'gone', stateless: true },
};

interface Observed {
  readonly state?: string | undefined;
  readonly status?: string | undefined;
  readonly revision?: number | undefined;
}

const verdict = (happened: boolean) => (happened ? 'applied' : 'not-applied');

/** `marksHidden`: among what nobody is known to own there is something that may carry our mark without showing it. */
export function settle(
  intent: Intent,
  observation: Observation<Observed>,
  differences: readonly Difference[],
  marksHidden: boolean,
): Verdict {
  if (observation.kind === 'pending') return undefined;
  if (observation.kind === 'conflict') return 'undecided';
  const evidence = evidenceOf[intent.action as ActionName];
  if (evidence.by === 'mark') {
    if (observation.kind === 'present') return 'applied';
    if (!marksHidden) return 'not-applied';
    return evidence.isSingle ? 'repeatable' : 'undecided';
  }
  if (observation.kind === 'absent') {
    return observation.confirmed ? verdict(evidence.by === 'gone') : undefined;
  }
  const { value } = observation;
  const state = value.state ?? value.status;
  switch (evidence.by) {
    case 'fields':
      return byFields(intent, value, left(intent, differences), evidence.isRevised);
    case 'left':
      return state === undefined ? 'undecided' : verdict(state !== 'paused' && state !== 'sleeping');
    case 'paused':
      if (state === undefined) return 'undecided';
      return settledStates.has(state) ? verdict(state === 'paused') : undefined;
    case 'moved':
      return byMove(intent, value);
    case 'gone':
      if (state === undefined && !evidence.stateless) return 'undecided';
      return verdict(state === 'deleting');
  }
}

/** What the intent would have removed of the differences, and is there. */
export function left({ action }: Intent, differences: readonly Difference[]): readonly Difference[] {
  const evidence = evidenceOf[action as ActionName];
  if (evidence.by !== 'fields') return [];
  return differences.filter(({ path, removed }) => !removed && evidence.paths.test(path));
}

function byFields(
  { baseRevision }: Intent,
  { revision }: Observed,
  differences: readonly Difference[],
  isRevised: boolean,
): Verdict {
  if (differences.length === 0) return 'applied';
  if (differences.some(({ hidden }) => !hidden)) return 'not-applied';
  if (revision !== undefined && revision === baseRevision) return 'not-applied';
  const isLower = revision !== undefined && baseRevision !== undefined && revision < baseRevision;
  if (isLower) return 'undecided';
  if (!isRevised) return 'repeatable';
  return revision === undefined || baseRevision === undefined ? 'undecided' : 'outdated';
}

function byMove(intent: Intent, { state, revision }: Observed): Verdict {
  if (state !== intent.baseState) return 'applied';
  if (revision === undefined || intent.baseRevision === undefined) return 'undecided';
  return verdict(revision !== intent.baseRevision);
}
