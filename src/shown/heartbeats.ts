/**
 * Tasks whose heartbeats nobody sends. A record has what was so when it was written; without a manager, its `Held` is no
 * longer true. Pure.
 *
 * | no manager is at work, and the last heartbeat | `Ready` of a registered task is shown as |
 * |-----------------------------------------------|------------------------------------------|
 * | may still count                               | recorded                                 |
 * | is older than the life of a record            | False, `Expired`                         |
 */
import { stateTraitsOf, type Condition, type ObjectKey } from '../resources/index.ts';
import type { ObjectRecord, SignOfLife } from '../state/index.ts';
import type { StatusEntry } from './entries.ts';
import { agoText, isAbsent, type ManagerState } from './manager-state.ts';

/** §4: what the API gives a record by default. */
const recordLifeMs = 300_000;

/** `heartbeats`: when the newest one for each object was accepted, as far as that is recorded. */
export function withoutHeartbeats(
  entries: readonly StatusEntry[],
  manager: ManagerState,
  heartbeats: SignOfLife['heartbeats'],
  nowMs: number,
): readonly StatusEntry[] {
  if (!isAbsent(manager)) return entries;
  return entries.map((entry) => {
    const { record } = entry;
    const lastMs = heartbeats?.[record.key] ?? manager.seenAt;
    const { status } = record;
    if (!status || !isHeld(record) || lastMs === undefined || nowMs - lastMs < recordLifeMs) return entry;
    const conditions = status.conditions.map((each) =>
      each.type === 'Ready' && each.reason === 'Held' ? shown(each, lastMs, nowMs) : each,
    );
    return { ...entry, record: { ...record, status: { ...status, conditions } } };
  });
}

/** Those of them whose record has expired. */
export function expiredTasks(entries: readonly StatusEntry[]): readonly ObjectKey[] {
  return entries
    .filter(({ record }) => isHeld(record))
    .filter(({ record }) => record.status?.conditions.some(({ reason }) => reason === 'Expired'))
    .map(({ record }) => record.key);
}

/** Its activity is registered and not released, so it needs heartbeats. */
export function isHeld({ key, kind }: ObjectRecord): boolean {
  return stateTraitsOf(key).registered?.(kind)?.isReleased === false;
}

function shown(ready: Condition, lastMs: number, nowMs: number): Condition {
  const message = `no manager is running: the last heartbeat was ${agoText(lastMs, nowMs)}, and the record has expired. It still protects; start \`fleetkeeper run\``;
  return { ...ready, status: 'False', reason: 'Expired', message };
}
