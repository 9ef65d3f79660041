/**
 * FI18 of fleets: while neither capacity nor prices nor documents change, a replica moves at most once. A move is a replica that was Ready, and leaves for one
 * elsewhere, which takes its place. Where nobody can tell which one that is, there are no more moves than replicas.
 *
 *     stays ── another one takes its place ──> has moved ── leaves for a place ──> violated
 *       ^── capacity, a price or a document changes; a price is shown for the first time; another number is wanted
 */
import type { ObjectKey } from '../../../src/resources/index.ts';
import { replicaKey, type RosterEntry } from '../fleets.ts';
import type { Invariant, Json, View } from '../watch.ts';
import { entryOf, limits, ofSteps, slotsOf, type Step } from './steps.ts';

/** A process may go on for so long by what there was before. */
const unheardMs = 60_000;

interface Period {
  readonly want: number;
  moves: number;
  /** Slots of replicas that have taken the place of others. */
  readonly moved: Set<number>;
}

const isMoving = (entry: RosterEntry | undefined) =>
  entry !== undefined && entry.phase !== 'wanted' && entry.cause === 'placement';

const fi18Moves: Invariant = (view) => {
  const periods = new Map<ObjectKey, Period>();
  const ready = new Set<ObjectKey>();
  const shown = new Map<string, number>();
  let newsAtMs = 0;
  const steps = ofSteps(() => ({
    saved({ key, status }) {
      if (status?.conditions.some(({ type, status: is }) => type === 'Ready' && is === 'True'))
        ready.add(key);
    },
    forgotten: (key) => void ready.delete(key),
    step(step) {
      const changedAtMs = lastChange(view, step.fleet, newsAtMs);
      if (changedAtMs === undefined) return;
      if (view.nowMs < changedAtMs + unheardMs) return void periods.delete(step.fleet);
      count(view, step, periods, ready);
    },
  }))(view);
  return {
    ...steps,
    lost: () => periods.clear(),
    received({ method, path }, { verdict, body }) {
      if (method !== 'GET' || path !== '/api/account' || verdict !== 'done') return;
      for (const { state, region, geography, resources, hourlyMicros } of body?.services ?? []) {
        if (state !== 'running') continue;
        const key = JSON.stringify([region, geography, resources]);
        if (shown.get(key) !== hourlyMicros) newsAtMs = view.nowMs;
        shown.set(key, hourlyMicros);
      }
    },
  };
};

function lastChange(view: View, fleet: ObjectKey, newsAtMs: number): number | undefined {
  const changedAtMs = view.changedAtMs();
  if (changedAtMs === undefined) return undefined;
  return Math.max(changedAtMs, newsAtMs, view.history(fleet).at(-1)?.atMs ?? 0);
}

function count(view: View, step: Step, periods: Map<ObjectKey, Period>, ready: Set<ObjectKey>): void {
  const { fleet, before, after } = step;
  const want = Math.max(...limits(view, step).map((each) => each.want));
  const known = periods.get(fleet);
  const period: Period = known?.want === want ? known : { want, moves: 0, moved: new Set() };
  periods.set(fleet, period);
  const was = (entry: RosterEntry) => entryOf(before, entry.slot);
  for (const entry of after.filter((each) => !was(each))) {
    ready.delete(replicaKey(fleet, entry.slot));
    period.moved.delete(entry.slot);
  }
  const left = after.filter(
    (entry) => isMoving(entry) && was(entry)?.phase === 'wanted' && ready.has(replicaKey(fleet, entry.slot)),
  );
  const back = after.filter((entry) => entry.phase === 'wanted' && isMoving(was(entry)));
  period.moves = Math.max(0, period.moves + left.length - back.length);
  const again = left.filter(({ slot }) => period.moved.has(slot));
  const { move }: Json = view.inMemory(fleet)?.kind ?? {};
  if (left.some(({ slot }) => slot === move?.from)) period.moved.add(move.to);
  const which = again.length > 0 ? slotsOf(again) : `${period.moves} of ${want} replicas`;
  if (again.length > 0 || (left.length > 0 && period.moves > want))
    view.violated('FI18', `${fleet} moves ${which} once more, and nothing has changed`);
}

export const moveInvariants: readonly Invariant[] = [fi18Moves];
