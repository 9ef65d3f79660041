/**
 * What the evidence shows about a mutation whose outcome is unknown. The observation must have begun after the settle
 * window. docs/reference/actions.md has a table of all verdicts; `npm run docs:actions` makes it by asking
 * `settle`.
 *
 * | evidence | happened                              | did not happen                  | not decided                         |
 * |----------|---------------------------------------|---------------------------------|-------------------------------------|
 * | mark     | something carries the object's mark   | nothing does                    | something hides its marks: for a registry see below |
 * | fields   | they are as sent                      | one differs; hidden ones: the revision is unchanged | they are hidden, and the revision moved: see below |
 * | left     | it is neither paused nor sleeping     | it still is                     | no state is shown                   |
 * | paused   | it is paused                          | it is in another steady state   | no state is shown                   |
 * | moved    | the revision or the state has moved   | neither has                     | no revision is shown, and the state is the same |
 * | gone     | gone, or deleting                     | there, and not deleting         | no state is shown                   |
 *
 * An absence that is not confirmed proves nothing, except for things that carry a mark.
 *
 * "Did not happen" never permits a second effect: the same request is sent again with the same idempotency key. If
 * evidence can't decide, an operator has to (`fleetkeeper resolve`).
 *
 * *Outdated*: hidden fields differ, their revision moved, and the request carried the revision before (§4 rule 3). It
 * has taken effect already, or never will. Its fields are set whole (§2). So the change is planned again as another
 * request, with the new revision and another key. Both have the same result.
 *
 * *Repeatable*: hidden fields of a request without a revision, and an entry for a repository, of which an account has
 * one. The same request is sent once more, with its key. The result is the same, whichever of the two takes effect.
 */
import { actionOf } from '../../actions/index.ts';
import type { Intent } from '../../state/index.ts';
import { settledStates } from './service-states.ts';
import type { Difference, Observation } from './types.ts';

/** `undecided`: no evidence can decide. Undefined: this observation can't decide yet. */
export type Verdict = 'applied' | 'not-applied' | 'outdated' | 'repeatable' | 'undecided' | undefined;

interface Observed {
  readonly state?: string | undefined;
  readonly status?: string | undefined;
  readonly revision?: number | undefined;
}

const verdict = (happened: boolean) => (happened ? 'applied' : 'not-applied');

/** `marksHidden`: a new unmanaged thing may carry the object's mark without showing it. */
export function settle(
  intent: Intent,
  observation: Observation<Observed>,
  differences: readonly Difference[],
  marksHidden: boolean,
): Verdict {
  if (observation.kind === 'pending') return undefined;
  if (observation.kind === 'conflict') return 'undecided';
  const evidence = actionOf(intent.action)?.evidence;
  // Recorded by a later version.
  if (!evidence) return 'undecided';
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

/** The differences that the intent would have removed, and that still exist. */
export function left({ action }: Intent, differences: readonly Difference[]): readonly Difference[] {
  const evidence = actionOf(action)?.evidence;
  if (evidence?.by !== 'fields') return [];
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
