/** Durable changes of rosters, as the invariants of fleets see them, and what several of these need. */
import { parseObjectKey, type ObjectKey } from '../../../src/resources/index.ts';
import type { ObjectRecord } from '../../../src/state/index.ts';
import { limitsOf, replicaKey, rosterInMemory, type Limits, type RosterEntry } from '../fleets.ts';
import { budgetKey, budgetNames } from '../budgets.ts';
import type { Invariant, Json, View, Watcher } from '../watch.ts';

/** A roster as it was, and as it is to be. */
export interface Step {
  readonly fleet: ObjectKey;
  readonly record: ObjectRecord;
  readonly before: readonly RosterEntry[];
  readonly after: readonly RosterEntry[];
  /** By the document as it was when the step was planned: that may have been just before the last edit. */
  readonly specs: readonly Json[];
  /** What budgets may have limited its replicas to then. */
  readonly caps: readonly number[];
}

export type StepWatcher = Omit<Watcher, 'durable'> & {
  readonly step: (step: Step) => void;
  /** A record of something else. */
  readonly saved?: (record: ObjectRecord) => void;
  /** Nothing is known of the object any more. */
  readonly forgotten?: (key: ObjectKey) => void;
};

/** A roster that is found again is not a step. */
export function ofSteps(watch: (view: View) => StepWatcher): Invariant {
  return (view) => {
    const { step, saved, forgotten, ...watcher } = watch(view);
    const caps = new RecentCaps(view);
    return {
      ...watcher,
      durable(write) {
        if (write.kind === 'remove') forgotten?.(write.key);
        caps.note();
        for (const record of write.kind === 'save' ? write.records : []) {
          if (parseObjectKey(record.key).kind !== 'ServiceFleet') saved?.(record);
          if (parseObjectKey(record.key).kind !== 'ServiceFleet') continue;
          const fleet = record.key;
          const before = rosterInMemory(view, fleet);
          const after: readonly RosterEntry[] | undefined = (record.kind as Json).roster;
          if (!before || !after) continue;
          const specs = [record.manifest.spec, view.inMemory(fleet)?.manifest.spec].filter(Boolean);
          step({ fleet, record, before, after, specs, caps: caps.of(fleet) });
        }
      },
    };
  };
}

/** So long before it is durable a step may have been planned. */
export const plannedMs = 1000;

export function limits(view: View, { fleet, specs, caps }: Step): Limits[] {
  const { wallMs } = view;
  return [...specs, ...recentSpecs(view, fleet)].flatMap((spec) =>
    [undefined, ...caps].flatMap((cap) => [
      limitsOf(spec, wallMs, cap),
      limitsOf(spec, wallMs - plannedMs, cap),
    ]),
  );
}

/** What budgets limit fleets to, by their records. What these may be is judged elsewhere (shedding.ts). */
class RecentCaps {
  readonly #view: View;
  readonly #seen = new Map<ObjectKey, Map<number, number>>();

  constructor(view: View) {
    this.#view = view;
  }

  /** As they are now, in memory and on the disk. */
  note(): void {
    const { disk, nowMs } = this.#view;
    for (const name of budgetNames(this.#view)) {
      const key = budgetKey(name);
      for (const record of [disk.record(key), this.#view.inMemory(key)]) {
        const orders: Json[] = (record?.kind as Json)?.shedding?.orders ?? [];
        for (const { object, replicas } of orders) {
          if (replicas === undefined) continue;
          const own = this.#seen.get(object) ?? new Map<number, number>();
          this.#seen.set(object, own.set(replicas, nowMs));
        }
      }
    }
  }

  of(fleet: ObjectKey): number[] {
    const sinceMs = this.#view.nowMs - longestWriteMs;
    return [...(this.#seen.get(fleet) ?? [])].flatMap(([cap, atMs]) => (atMs >= sinceMs ? [cap] : []));
  }
}

/** To an API server. */
export const longestWriteMs = 30_000;

/** Those that counted when it may have been planned: an autoscaler and a person may both have written since. */
export function recentSpecs(
  view: View,
  fleet: ObjectKey,
  sinceMs = view.nowMs - (view.isCluster ? longestWriteMs : plannedMs),
): Json[] {
  const history = view.history(fleet);
  return history
    .filter((_, index) => (history[index + 1]?.atMs ?? view.nowMs) >= sinceMs)
    .map(({ spec }) => spec);
}

export function entryOf(roster: readonly RosterEntry[], slot: number): RosterEntry | undefined {
  return roster.find((entry) => entry.slot === slot);
}

export function slotsOf(entries: readonly RosterEntry[]): string {
  return `slots ${entries.map(({ slot }) => slot).join(', ')}`;
}

/**
 * What was left at the provider when its document was removed (`Retain`) may be found again, however many there are. That
 * document may have been the fleet's, or one that had the name of a replica.
 */
export function leftAtProvider(view: View) {
  const left = new Set<ObjectKey>();
  return {
    note({ fleet, record, before, after, specs }: Step): void {
      const isRetained = specs.some(({ deletionPolicy }) => deletionPolicy === 'Retain');
      if (record.deletionRequestedAt === undefined || !isRetained) return;
      for (const { slot, phase } of [...before, ...after])
        if (phase === 'retiring' || !entryOf(after, slot)) left.add(replicaKey(fleet, slot));
    },
    forgotten(key: ObjectKey): void {
      const { derived, manifest } = view.disk.record(key) ?? {};
      if (!derived && manifest?.spec['deletionPolicy'] === 'Retain') left.add(key);
    },
    has: (fleet: ObjectKey, slot: number) => left.has(replicaKey(fleet, slot)),
  };
}

/** Somebody works in it, so its update was not sent, and it leaves with what it has. */
export function leavesAsItIs(was: RosterEntry, entry: RosterEntry): boolean {
  return was.phase === 'wanted' && entry.phase === 'draining' && entry.revision === was.earlier;
}

/** Somebody works in it, so it keeps the revision that it has (section 4, rule 4). */
export function givesWay(was: RosterEntry, entry: RosterEntry): boolean {
  return entry.revision === was.earlier && entry.spared !== was.spared;
}
