/**
 * FI1, FI2, FI4, FI5, FI7 of fleets, and the pace of removals: what a durable change of a roster may be. They rest on the words of the document, on
 * the records of the replicas, and on what is at the provider. FI3 and FI11 are in replicas.ts, FI8 and FI10 in fleet-liveness.ts and world.ts.
 */
import type { ObjectKey } from '../../../src/resources/index.ts';
import type { ObjectRecord } from '../../../src/state/index.ts';
import {
  ownerOf,
  paceOf,
  placeInFleet,
  replicaKey,
  revisionOf,
  rosterInMemory,
  rosterOf,
  volumeInFleet,
  volumeKey,
  type RosterEntry,
} from '../fleets.ts';
import { marked } from '../truth.ts';
import { isMutation, type Invariant, type Json, type View } from '../watch.ts';
import { contestInvariants } from './contests.ts';
import { replicaInvariants } from './replicas.ts';
import {
  entryOf,
  givesWay,
  leavesAsItIs,
  leftAtProvider,
  limits,
  ofSteps,
  plannedMs,
  slotsOf,
  type Step,
} from './steps.ts';

/** Read as protected since it began to drain. */
function isProtected(view: View, fleet: ObjectKey, { slot, phase, since }: RosterEntry): boolean {
  const { activities }: Json = view.inMemory(replicaKey(fleet, slot))?.kind ?? {};
  return phase === 'draining' && activities?.by !== undefined && activities.readAt >= since;
}

const fi1NeverTooMany = ofSteps((view) => {
  const left = leftAtProvider(view);
  return { forgotten: (key) => left.forgotten(key), step: (step) => neverTooMany(view, step, left) };
});

function neverTooMany(view: View, step: Step, left: ReturnType<typeof leftAtProvider>): void {
  left.note(step);
  const { fleet, before, after } = step;
  const added = after.filter(({ slot }) => !entryOf(before, slot) && !left.has(fleet, slot));
  const overlapping = before.filter((entry) => isProtected(view, fleet, entry)).length;
  const most = Math.max(
    ...limits(view, step).map(({ want, surge }) => want + surge + Math.min(surge, overlapping)),
  );
  if (added.length > 0 && after.length > most)
    view.violated(
      'FI1',
      `${fleet} adds ${slotsOf(added)}: ${after.length} replicas, and ${most} may be there`,
    );
}

/** It may have been changed since it was observed: to its revision, or back to it. */
function isUnderWay(view: View, fleet: ObjectKey, entry: RosterEntry, isSent: boolean): boolean {
  const { settled } = view.inMemory(replicaKey(fleet, entry.slot))?.derived ?? {};
  const revision = revisionOf(view.disk, fleet, entry);
  return revision ? settled !== revision.digest : isSent;
}

/** Ready for so long as the document asks for, as it is to be, and nothing is under way in it. */
function isAvailable(view: View, step: Step, entry: RosterEntry, isSent: boolean): boolean {
  const { fleet, specs } = step;
  const record = view.inMemory(replicaKey(fleet, entry.slot));
  if (!record || record.derived?.owner !== fleet || record.deletionRequestedAt !== undefined) return false;
  const ready = record.status?.conditions.find(({ type }) => type === 'Ready');
  if (ready?.status !== 'True') return false;
  const waits = specs.map(({ update }) => (update?.minReadySeconds ?? 30) * 1000);
  const readyMs = view.wallMs - Date.parse(ready.lastTransitionTime);
  // Where the clock was set back, it has been Ready for nobody knows how long.
  if (readyMs >= 0 && readyMs < Math.min(...waits)) return false;
  return !isUnderWay(view, fleet, entry, isSent);
}

/** It was still Ready when a step was planned that is durable only now. */
function wasReadyJustNow(view: View, fleet: ObjectKey, { slot }: RosterEntry): boolean {
  const { status } = view.inMemory(replicaKey(fleet, slot)) ?? {};
  const ready = status?.conditions.find(({ type }) => type === 'Ready');
  // Times of conditions are whole seconds.
  const sinceMs = ready ? view.wallMs - Date.parse(ready.lastTransitionTime) : Number.POSITIVE_INFINITY;
  return ready?.status !== 'True' && sinceMs >= 0 && sinceMs <= plannedMs + 1000;
}

/** It is to have another revision, or may be interrupted for the one that it has. */
function isInterrupted(
  view: View,
  fleet: ObjectKey,
  entry: RosterEntry,
  next: RosterEntry | undefined,
): boolean {
  if (next?.phase !== 'wanted') return true;
  if (next.corrects !== undefined && next.corrects !== entry.corrects) return true;
  const { settled } = view.inMemory(replicaKey(fleet, entry.slot))?.derived ?? {};
  return next.revision !== entry.revision && settled !== revisionOf(view.disk, fleet, next)?.digest;
}

/**
 * What is removed or updated leaves the floor available. Those that are not available protect nothing. A correction of drift may be made in
 * one at a time, where none may be unavailable.
 */
const fi2Floor = ofSteps((view) => {
  /** Replicas that were sent something, until they are observed to be as wanted, or to wait for their turn. */
  const sent = new Set<ObjectKey>();
  return {
    saved({ key, status, generation }) {
      const isObserved = (status?.conditions ?? []).some(
        ({ type, status: is, reason }) =>
          (type === 'Synced' && is === 'True') || (type === 'Reconciling' && reason === 'AwaitsTurn'),
      );
      if (isObserved && status?.observedGeneration === generation) sent.delete(key);
    },
    sent(exchange) {
      if (exchange.object !== undefined && isMutation(exchange)) sent.add(exchange.object);
    },
    step(step) {
      const { fleet, record, before, after } = step;
      const isUsable = (entry: RosterEntry) =>
        isAvailable(view, step, entry, sent.has(replicaKey(fleet, entry.slot)));
      const interrupted = before.filter(
        (entry) => entry.phase === 'wanted' && isInterrupted(view, fleet, entry, entryOf(after, entry.slot)),
      );
      const taken = interrupted.filter(isUsable);
      const left = after.filter(({ phase, slot }) => {
        const entry = entryOf(before, slot);
        const stays = phase === 'wanted' && entry && !interrupted.includes(entry);
        return stays && (isUsable(entry) || wasReadyJustNow(view, fleet, entry));
      });
      if (taken.length === 0 || record.deletionRequestedAt !== undefined) return;
      const allowed = limits(view, step);
      const floor = Math.min(...allowed.map((each) => each.floor));
      const [one] = taken;
      const isCorrection = taken.length === 1 && one && entryOf(after, one.slot)?.phase === 'wanted';
      const mayBeOne = allowed.some(({ want, floor: least }) => least === want && left.length + 1 >= want);
      if (isCorrection && mayBeOne && entryOf(after, one.slot)?.revision === one.revision) return;
      if (left.length < floor && !taken.every((entry) => hasDocument(view, fleet, entry)))
        view.violated(
          'FI2',
          `${fleet} takes ${slotsOf(taken)}, which are available: ${left.length} are left (${slotsOf(left)}), and ${floor} have to be`,
        );
    },
  };
});

/** Replicas that are updated get the newest content. */
const fi4NewestWins = ofSteps((view) => ({
  step({ fleet, record, before, after }) {
    const { update, rollout }: Json = record.kind;
    if (rollout && rollout.phase !== 'Progressing') return;
    const older = after.filter((entry) => {
      const was = entryOf(before, entry.slot);
      if (!was || was.revision === undefined || givesWay(was, entry) || leavesAsItIs(was, entry))
        return false;
      return entry.revision !== was.revision && entry.revision !== update;
    });
    if (older.length > 0)
      view.violated(
        'FI4',
        `${fleet} updates ${slotsOf(older)} to another revision than r${update}, the newest`,
      );
  },
}));

/** Its name has become that of a document. */
function hasDocument(view: View, fleet: ObjectKey, { slot }: RosterEntry): boolean {
  const key = replicaKey(fleet, slot);
  return view.wanted.has(key) || view.wasRemoved(key) || ownerOf(view.disk, key) !== fleet;
}

/** A number is free when nothing is left of what had it. */
const fi5Slots = ofSteps((view) => {
  const left = (fleet: ObjectKey, { slot }: RosterEntry): string[] => {
    const key = replicaKey(fleet, slot);
    const isKept = view.history(key).some(({ spec }) => spec.deletionPolicy === 'Retain');
    return isKept ? [] : marked(view, key, 'alive');
  };
  return {
    step({ fleet, before, after }) {
      const freed = before.filter(({ slot }) => !entryOf(after, slot));
      for (const entry of freed) {
        const key = replicaKey(fleet, entry.slot);
        const record = view.disk.record(key);
        if (hasDocument(view, fleet, entry) && record?.derived === undefined) continue;
        const [thing] = left(fleet, entry);
        if (thing !== undefined || (record?.derived && !view.wanted.has(key)))
          view.violated('FI5', `${fleet} frees slot ${entry.slot}, and ${thing ?? 'its record'} is there`);
      }
      for (const entry of after.filter(({ slot }) => !entryOf(before, slot))) {
        const [thing] = left(fleet, entry);
        if (thing !== undefined)
          view.violated('FI5', `${fleet} uses slot ${entry.slot} again, and ${thing} is there`);
      }
    },
  };
});

/** What is done for a replica follows from a roster that is durable; a fleet that is forgotten has none. */
const fi7RosterFirst: Invariant = (view) => ({
  durable(write) {
    if (write.kind === 'remove') {
      const roster = rosterOf(view.disk, write.key) ?? [];
      if (roster.length > 0)
        view.violated('FI7', `${write.key} is forgotten, and has ${slotsOf(roster)} in its roster`);
      return;
    }
    if (write.kind !== 'save') return;
    const saved = new Map(write.records.map((record) => [record.key, record]));
    for (const { key, derived } of write.records) {
      const fleet = derived?.owner;
      const place = placeInFleet(key);
      if (fleet === undefined || !place || view.disk.record(key)) continue;
      const roster: readonly RosterEntry[] =
        (saved.get(fleet)?.kind as Json)?.roster ?? rosterOf(view.disk, fleet) ?? [];
      if (!entryOf(roster, place.slot))
        view.violated('FI7', `${key} is recorded, and is not in the roster of ${fleet}`);
    }
  },
  sent({ method, path, object }) {
    const place = object && placeInFleet(object);
    const owner = object && ownerOf(view.disk, object);
    if (!place || owner === undefined || method !== 'POST' || path !== '/api/services') return;
    const phase = entryOf(rosterInMemory(view, owner) ?? [], place.slot)?.phase;
    if (phase !== 'wanted')
      view.violated('FI7', `${object} is created, and is ${phase ?? 'not'} in the roster of ${owner}`);
  },
});

const minuteMs = 60_000;

interface Minute {
  /** Since the beginning of the run. */
  readonly atMs: number;
  /** Unix milliseconds by the clock of the process that led. */
  readonly since: number;
  readonly of: number;
  begun: number;
}

/**
 * `scaleIn.maxPerMinute`: in each minute, from the first removal on. Where the clock jumps nobody can tell. A fleet that is written
 * again after it has gone is another one.
 */
const fi12Pace = ofSteps((view) => {
  const minutes = new Map<ObjectKey, Minute>();
  return {
    lost: () => minutes.clear(),
    forgotten: (key) => minutes.delete(key),
    step({ fleet, before, after, specs }) {
      // In a cluster, a write that got no answer may have been made, and is made again.
      const durable = rosterOf(view.disk, fleet) ?? before;
      const begun = after.filter(
        ({ slot, phase }) =>
          phase === 'draining' &&
          entryOf(before, slot)?.phase === 'wanted' &&
          entryOf(durable, slot)?.phase !== 'draining',
      );
      // Nor did it come about, if the next one does not have it.
      const undone = after.filter(
        ({ slot, phase }) =>
          phase === 'wanted' &&
          entryOf(before, slot)?.phase === 'wanted' &&
          entryOf(durable, slot)?.phase === 'draining',
      );
      const known = minutes.get(fleet);
      if (known) known.begun = Math.max(0, known.begun - undone.length);
      const since = begun[0]?.since;
      if (since === undefined || view.jumpsClock) return;
      // The clocks of two operators differ, so it is over when it is by one of them, or by that of the run.
      const atMs = view.nowMs - Math.max(0, view.wallMs - since);
      const isSame = known && atMs < known.atMs + minuteMs && since < known.since + minuteMs;
      const minute = isSame ? known : { atMs, since, of: before.length, begun: 0 };
      minutes.set(fleet, minute);
      minute.begun += begun.length;
      const most = Math.max(...specs.map((spec) => paceOf(spec, minute.of)));
      if (minute.begun > most)
        view.violated(
          'FI12',
          `${fleet} begins to remove ${minute.begun} of ${minute.of} in a minute, and ${most} may be`,
        );
    },
  };
});

function newlyRetired(before: ObjectRecord | undefined, after: ObjectRecord): { readonly slot: number }[] {
  const retiredIn = (record: ObjectRecord | undefined): Json[] =>
    ((record?.kind as Json)?.volumes ?? []).filter(({ retired }: Json) => retired);
  const known = new Set(retiredIn(before).map(({ slot }) => slot));
  return retiredIn(after).filter(({ slot }) => !known.has(slot)) as { slot: number }[];
}

/** A volume of a replica is deleted only after that left for good, and where `retire` has asked for it. */
const fi13Volumes = ofSteps((view) => {
  /** Why the last replica with each number has left. */
  const causes = new Map<ObjectKey, string | undefined>();
  /** The same, of when its volume was retired: others may have the number before it is deleted. */
  const retired = new Map<ObjectKey, string | undefined>();
  return {
    forgotten: (key) => retired.delete(key),
    step(step) {
      const { fleet, record, before, after } = step;
      for (const { slot } of newlyRetired(view.disk.record(fleet), record)) {
        const key = volumeKey(fleet, slot);
        retired.set(key, entryOf(before, slot)?.cause ?? causes.get(key));
      }
      for (const entry of before)
        if (!entryOf(after, entry.slot)) causes.set(volumeKey(fleet, entry.slot), entry.cause);
      const fewer = after.filter(
        ({ slot, cause }) => cause === 'scale' && entryOf(before, slot)?.cause !== 'scale',
      );
      const wanted = before.filter(({ phase }) => phase === 'wanted').length;
      const isInExchange = before.some(
        ({ cause, slot }) => cause === 'scale' && entryOf(after, slot)?.phase === 'wanted',
      );
      const least = Math.min(...limits(view, step).map(({ want }) => want));
      if (fewer.length > 0 && wanted <= least && !isInExchange && record.deletionRequestedAt === undefined)
        view.violated(
          'FI13',
          `${fleet} has ${wanted} replicas, of which it wants ${least}, and removes ${slotsOf(fewer)} as too many`,
        );
    },
    sent({ method, path, object }) {
      const place = object && volumeInFleet(object);
      if (!place || method !== 'DELETE' || !path.startsWith('/api/volumes/')) return;
      const isAsked = view.history(object).some(({ spec }) => spec.deletionPolicy === 'Delete');
      if (!isAsked) view.violated('FI13', `${object} is deleted, and is to be kept`);
      const { deletionRequestedAt } = view.disk.record(place.fleet) ?? { deletionRequestedAt: 0 };
      const cause = retired.get(object) ?? causes.get(object);
      if (deletionRequestedAt === undefined && cause !== 'scale' && cause !== 'retire')
        view.violated('FI13', `${object} is deleted, and its replica left for ${cause ?? 'another one'}`);
    },
  };
});

export const fleetInvariants: readonly Invariant[] = [
  fi1NeverTooMany,
  fi2Floor,
  fi4NewestWins,
  fi5Slots,
  fi7RosterFirst,
  fi12Pace,
  fi13Volumes,
  ...replicaInvariants,
  ...contestInvariants,
];
