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
import { actions, type ActionName } from '../actions/index.ts';
import type { Intent } from '../state/index.ts';
import { settledStates } from './service-states.ts';
import type { Difference, Observation } from './types.ts';

/** `undecided`: no evidence will tell. Undefined: this observation can't tell yet. */
export type Verdict = 'applied' | 'not-applied' | 'outdated' | 'repeatable' | 'undecided' | undefined;

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
  const { evidence } = actions[intent.action as ActionName];
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
  const { evidence } = actions[action as ActionName];
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
