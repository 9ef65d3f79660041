/**
 * The last observation of the remote thing, and whether the current read counts. If a field that matters can't be
 * read, the object is unusable: Hold.
 *
 * | revision                                   | what follows                                                           |
 * |--------------------------------------------|------------------------------------------------------------------------|
 * | not shown, or not lower than before        | the read counts                                                        |
 * | no integer from 1 to 2^53-1 (§2)           | Hold: nothing is concluded or sent                                     |
 * | lower than before, for up to a minute      | Wait: the read may be stale                                            |
 * | lower than before, for longer              | Hold: the account may have been restored from a backup; an operator confirms it |
 */
import type { wire } from '../../api/index.ts';
import { entryOf } from '../../reasons/index.ts';
import { annotations } from '../../resources/index.ts';
import type { Baseline, ObjectRecord, Seen } from '../../state/index.ts';
import { holdFor, waitFor, type Observation, type Plan } from './types.ts';

/** Common to all kinds. A kind shows `state` or `status`, or neither. */
export interface Remote {
  readonly id: string;
  readonly state?: string | null | undefined;
  readonly status?: string | null | undefined;
  readonly revision?: number | undefined;
  readonly unreadable?: readonly wire.Unreadable[];
}

/** How far a read may lag behind another one. */
export const lagMs = 60_000;

export function isRegressed({ seen }: ObjectRecord, observation: Observation<Remote>): boolean {
  if (observation.kind !== 'present' || seen?.revision === undefined) return false;
  const { id, revision } = observation.value;
  return seen.id === id && revision !== undefined && revision < seen.revision;
}

/**
 * Undefined if the read counts. `regressedForMs`: how long the revision has been lower than before. Undefined
 * if it is not lower, or an operator accepts it.
 */
export function distrust(
  record: ObjectRecord,
  observation: Observation<Remote>,
  regressedForMs: number | undefined,
): Plan | undefined {
  if (observation.kind !== 'present') return undefined;
  const unusable = unusableReason(observation.value);
  if (unusable !== undefined) return holdFor('AnswerUnreadable', unusable);
  const { id, revision } = observation.value;
  if (revision !== undefined && !isRevision(revision)) {
    const message = `the API shows the revision ${revision} of ${id}, which can't be one (§2: an integer from 1 to 2^53-1); nothing is concluded from that`;
    return holdFor('RevisionInvalid', message);
  }
  if (regressedForMs === undefined) return undefined;
  const numbers = `the API shows the revision ${revision} of ${id}, and has shown ${record.seen?.revision} before`;
  if (regressedForMs < lagMs) return waitFor('StaleRead', `${numbers}; waiting for a newer read`);
  return holdFor(
    'RevisionRegressed',
    `${numbers}; nothing is concluded from that. If the account was restored from a backup, confirm that with ` +
      `${annotations.acceptRevisionsUntil}: "<time, RFC 3339>" on this object, or on the Account for all of them`,
  );
}

/** Why nothing may be concluded about an object: a field that matters could not be read. */
export function unusableReason({ id, unreadable }: Pick<Remote, 'id' | 'unreadable'>): string | undefined {
  const problem = unreadable?.find(({ decides }) => decides);
  if (!problem) return undefined;
  const { field, found, expected } = problem;
  return `the API shows ${field} of ${id} in a form that can't be read (expected ${expected}, found ${found}); nothing is sent for it until then`;
}

/** Records an observation. The same observation again changes nothing. */
export function observed(
  record: ObjectRecord,
  observation: Observation<Remote>,
  plan: Plan,
  wallMs: number,
): Pick<ObjectRecord, 'seen' | 'baseline'> {
  const { seen, baseline } = record;
  if (observation.kind === 'pending' || observation.kind === 'conflict') return { seen, baseline };
  if (observation.kind === 'absent') return { seen, baseline: undefined };
  if ((plan.kind === 'wait' || plan.kind === 'hold') && entryOf(plan.reason).distrusted) {
    return { seen, baseline };
  }
  const asDesired = plan.kind === 'in-sync' && plan.differences.length === 0;
  const now = seenNow(seen, observation.value, wallMs);
  return {
    // The step was planned from that observation, and its response is newer.
    seen: plan.kind === 'act' && seen ? seenInAnswer(now, seen) : now,
    baseline: asDesired ? baselineNow(baseline, observation.value, wallMs) : baseline,
  };
}

/** The response to a mutation counts as an observation: it is newer than a read with an older revision. */
export function seenInAnswer(
  before: Seen | undefined,
  { id, revision }: Pick<Remote, 'id' | 'revision'>,
): Seen | undefined {
  if (before?.id !== id || revision === undefined || !isRevision(revision)) return before;
  return { ...before, revision: Math.max(revision, before.revision ?? revision) };
}

function seenNow(before: Seen | undefined, value: Remote, wallMs: number): Seen {
  const state = stateOf(value);
  const { id, revision } = value;
  if (before?.id !== id) return { id, revision, state, since: wallMs };
  const now = { id, revision: revision ?? before.revision, state, since: wallMs };
  if (before.state !== state) return now;
  if (before.since > wallMs) return { ...now, mayBeOlder: true };
  return { ...before, revision: now.revision };
}

/** The state in which it matches the spec, from a read or a response. */
export function baselineNow(
  before: Baseline | undefined,
  value: Pick<Remote, 'id' | 'revision' | 'state' | 'status'>,
  wallMs: number,
): Baseline | undefined {
  const { id, revision } = value;
  if (revision === undefined || !isRevision(revision)) return undefined;
  const state = stateOf(value);
  if (before?.id === id && before.revision === revision && before.state === state) return before;
  return { id, revision, state, at: wallMs };
}

function stateOf({ state, status }: Pick<Remote, 'state' | 'status'>): string | undefined {
  return state ?? status ?? undefined;
}

/** §2: an integer from 1 to 2^53-1. */
function isRevision(revision: number): boolean {
  return Number.isSafeInteger(revision) && revision > 0;
}
