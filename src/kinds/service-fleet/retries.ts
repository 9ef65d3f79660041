/**
 * Restart tokens of replicas that are tried again. Pure.
 *
 *     token of the revision ── retry ──> `r7#2`: one restart ── next revision ──> its own token
 *                                                                  └── the same one as before the retry: no other restart
 */
import type { OwnerRevision } from '../../state/index.ts';
import { revisionName, revisionOf } from './revisions.ts';
import type { RosterEntry } from './state.ts';

/** The failed revision is tried again, so the replica is restarted once. Undefined: it is not. */
export function retryToken({
  revision,
  retried,
}: Pick<RosterEntry, 'revision' | 'retried'>): string | undefined {
  return revision === undefined || retried === undefined ? undefined : `${revisionName(revision)}#${retried}`;
}

/** As it leaves the revision that was tried again: what the token of that revision asked for was done by the retry. */
export function withoutRetry(
  { retried, ...entry }: RosterEntry,
  revisions: readonly OwnerRevision[],
): Omit<RosterEntry, 'retried'> {
  const token = retryToken({ revision: entry.revision, retried });
  const of = revisionOf(revisions, entry.revision)?.content['restartToken'];
  return token !== undefined && typeof of === 'string' ? { ...entry, restarted: { token, of } } : entry;
}

/** The token of a retry that stands for this one of its revision: with it, the replica needs no restart. */
export function restartedFor(
  { retried, restarted }: Pick<RosterEntry, 'retried' | 'restarted'>,
  token: unknown,
): string | undefined {
  return retried === undefined && restarted?.of === token ? restarted?.token : undefined;
}
