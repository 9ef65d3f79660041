/**
 * Things without a visible mark that existed in the account before a creation was first sent. The creation did not make
 * them, whatever they look like. Their ids are recorded with the intent, since the next process can't know them.
 *
 *     first sent ── ids of such things ──> kept while the same request is repeated ── the outcome is known ──> forgotten
 *     first sent by a version that recorded none, or with too many of them: unknown, and an operator has to decide
 */
import { isCreation } from '../../actions/index.ts';
import type { BeforeCreation, Intent, ObjectRecord, StateStore } from '../../state/index.ts';
import type { Target } from './executor.ts';

/** In a cluster they are part of the object's status, whose size is limited. */
const mostRecorded = 100;

/** To be recorded with `intent`, which is not in the store yet. */
export function beforeCreation(
  store: StateStore,
  { record, unmarked = () => [] }: Pick<Target, 'record' | 'unmarked'>,
  { idempotencyKey, action }: Intent,
): BeforeCreation | undefined {
  if (!isCreation(action)) return undefined;
  const previous = store.lastIntent(record.key);
  const wasSent = previous?.idempotencyKey === idempotencyKey && previous.outcome !== 'not-sent';
  const known = knownBefore(record, idempotencyKey);
  if (known || wasSent) return known;
  const ids = unmarked();
  return ids.length > mostRecorded ? undefined : { idempotencyKey, unmarked: ids };
}

/** For the creation with this key. */
export function knownBefore(
  { beforeCreation: before }: ObjectRecord,
  idempotencyKey: string | undefined,
): BeforeCreation | undefined {
  return before?.idempotencyKey === idempotencyKey ? before : undefined;
}
