/**
 * The roster of a fleet: which replicas there are. It is written before anything is done for a replica, and nothing else is asked
 * how many there are. A replica has a slot, which is a number from 0 on, and is the ContainerService `FLEET-SLOT`.
 *
 *     wanted <──> draining ──> retiring ──> (not in the roster)
 *
 * | phase    | the object of the replica            | leaves the phase                                                  |
 * |----------|--------------------------------------|-------------------------------------------------------------------|
 * | wanted   | is reconciled like any other one     | victims drain (victims.ts)                                        |
 * | draining | nothing is changed; its activities are read | retires after the grace period if it is not protected; or is wanted again |
 * | retiring | is deleted like any other one         | its slot is free when its record is gone: its absence is confirmed |
 *
 * `retiring` is final. The lowest free slot is used. So a name never stands for two things at the provider.
 *
 * What happens in these cases:
 *
 * | case | |
 * |---|---|
 * | crash between roster and objects | objects follow from document and roster (children.ts), so the next start makes or removes them |
 * | state file lost | uids of replicas are derived from their names. All 2,048 are searched among the marks in the account (look.ts) |
 * | document gone or unusable for now | replicas stay as they are; nothing is changed in them |
 * | document removed for good | all replicas drain and are deleted; with `Retain` they stay at the provider |
 * | document renamed | another fleet: its replicas are created, and those of the old name are deleted |
 * | a document has the name of a replica | the document wins. The slot leaves the roster, and is not used (`NameTaken`) |
 * | that document is removed, or its file is empty for a while | the slot is not used before the record of its service is gone |
 * | replica vanishes at the provider | its own object creates it again, or reports it |
 * | account can't be read | nothing in the roster changes |
 * | scaled to 0 during a rollout | the rollout continues when replicas return: these have the present content |
 */
import { objectKey, parseObjectKey, type ObjectKey } from '../../resources/index.ts';
import { containerService } from '../container-service/declaration.ts';
import type { FleetState, RosterEntry } from './state.ts';
import { slotsAtMost } from './schema.ts';

export function childName(fleet: string, slot: number): string {
  return `${fleet}-${slot}`;
}

export function replicaKey(fleet: ObjectKey, slot: number): ObjectKey {
  const { namespace, name } = parseObjectKey(fleet);
  return objectKey(containerService.name, namespace, childName(name, slot));
}

/** The lowest slots that are in no roster and not taken otherwise. */
export function freeSlots(
  roster: readonly RosterEntry[],
  taken: ReadonlySet<number>,
  count: number,
): number[] {
  const used = new Set(roster.map(({ slot }) => slot));
  const free: number[] = [];
  for (let slot = 0; slot < slotsAtMost && free.length < count; slot += 1)
    if (!used.has(slot) && !taken.has(slot)) free.push(slot);
  return free;
}

/** With these entries in place of those of the same slots. */
export function withEntries(roster: readonly RosterEntry[], changed: readonly RosterEntry[]): RosterEntry[] {
  const bySlot = new Map([...roster, ...changed].map((entry) => [entry.slot, entry]));
  return [...bySlot.values()].sort((left, right) => left.slot - right.slot);
}

const minuteMs = 60_000;

/** How many removals may begin now, and when more may. `limit`: per minute. */
export function paceOf(
  pace: FleetState['pace'],
  replicas: number,
  limitOf: (replicas: number) => number,
  nowMs: number,
): {
  readonly left: number;
  readonly nextAt: number;
  begin(count: number): NonNullable<FleetState['pace']>;
} {
  // The clock may have been set back.
  const known = pace && pace.at <= nowMs && nowMs < pace.at + minuteMs ? pace : undefined;
  const { at, of, begun } = known ?? { at: nowMs, of: replicas, begun: 0 };
  return {
    left: Math.max(0, Math.max(1, limitOf(of)) - begun),
    nextAt: at + minuteMs,
    begin: (count) => ({ at, of, begun: begun + count }),
  };
}
