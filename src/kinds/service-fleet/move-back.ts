/**
 * Replicas return to a better candidate when it is open again: an earlier one (`Ordered`), or a cheaper one (`Cheapest`).
 *
 *     settled ── one was at a worse candidate for `afterMinutes` ──> another one is added at the better one, as the probe
 *        ^                                                              │
 *        ├── it is available: the old one drains <──────────────────────┤
 *        └── it is refused, or fails, or takes too long: it leaves <────┘  the next attempt waits twice as long, up to a day
 *
 * One at a time, `maxPerHour`, in its window, and only while nothing else changes. A rollout ends it.
 */
import type { Arrange } from '../../engine/plan/index.ts';
import { windowState } from '../../resources/index.ts';
import type { Candidate } from './candidates.ts';
import { countOf } from './counts.ts';
import { arrange, inNewPhase, inPhase, scaleInPace, type FleetInputs } from './inputs.ts';
import { choose, standings } from './placement.ts';
import type { Replica } from './replica.ts';
import type { Rollout } from './rollout.ts';
import { nextSlots } from './slots.ts';
import type { FleetState } from './state.ts';
import { victims } from './victims.ts';

const minuteMs = 60_000;
const hourMs = 3_600_000;
const dayMs = 86_400_000;
/** Where `provisionTimeoutMinutes` is 0: a probe has to end. */
const longestProbeMs = hourMs;

type Move = NonNullable<FleetState['move']>;

function moveBackOf({ object }: FleetInputs) {
  const { placement, storage } = object.spec;
  // A volume can't move.
  const mayMove = placement?.moveBack.enabled && !storage?.perReplica;
  return mayMove ? { ...placement.moveBack, placement } : undefined;
}

/** Both are wanted: the old one, and the one that is to take its place. */
export function hasProbe({ replicas, state }: Pick<FleetInputs, 'replicas' | 'state'>): boolean {
  const { move } = state;
  if (!move) return false;
  const slots = new Set(inPhase(replicas, 'wanted').map(({ entry }) => entry.slot));
  return slots.has(move.from) && slots.has(move.to);
}

/** Ends a move that is under way. */
export function steerMove(inputs: FleetInputs, { withinFloor }: Rollout): Arrange | undefined {
  const { state, replicas, nowMs } = inputs;
  const { move } = state;
  if (!move) return undefined;
  const running = inPhase(replicas, 'wanted');
  const old = running.find(({ entry }) => entry.slot === move.from);
  const next = running.find(({ entry }) => entry.slot === move.to);
  if (!old || state.rollout || !moveBackOf(inputs)) {
    return arrange(inputs, [], moveChange(`replica ${move.from} moves no more`), { move: undefined });
  }
  if (!next) return failed(inputs, move, undefined);
  if (!next.isAvailable) return hasFailed(inputs, move, next) ? failed(inputs, move, next) : undefined;
  const pace = scaleInPace(inputs);
  // Others may have been added since, or have failed.
  if (pace.left === 0 || withinFloor([old]).length === 0) return undefined;
  return arrange(
    inputs,
    inNewPhase([old], 'draining', nowMs, 'placement'),
    moveChange(`replica ${move.to} is available at ${next.candidate ?? ''}; draining: replica ${move.from}`),
    { move: undefined, moveRest: undefined, pace: pace.begin(1) },
  );
}

function moveChange(message: string) {
  return { reason: 'MovingBack', message, change: undefined } as const;
}

function hasFailed(inputs: FleetInputs, { since }: Move, next: Replica): boolean {
  const { provisionTimeoutMinutes: minutes = 0 } = inputs.object.spec.placement ?? {};
  const isLate = inputs.nowMs >= since + (minutes === 0 ? longestProbeMs : minutes * minuteMs);
  const isRefused = next.waitsForCapacity && !next.isMade;
  return isLate || isRefused || next.givenUp !== undefined || next.rejection !== undefined;
}

function failed(inputs: FleetInputs, { from, to }: Move, next: Replica | undefined): Arrange | undefined {
  const { state, nowMs } = inputs;
  const failures = (state.moveRest?.failures ?? 0) + 1;
  const { afterMinutes = 60 } = moveBackOf(inputs) ?? {};
  const pace = scaleInPace(inputs);
  if (next && pace.left === 0) return undefined;
  const pauseMs = Math.min(afterMinutes * minuteMs * 2 ** Math.min(failures - 1, 30), dayMs);
  return arrange(
    inputs,
    next ? inNewPhase([next], 'draining', nowMs, 'placement') : [],
    moveChange(`replica ${from} stays: replica ${to} did not become available`),
    {
      move: undefined,
      moveRest: { failures, since: nowMs, until: nowMs + pauseMs },
      ...(next ? { pace: pace.begin(1) } : {}),
    },
  );
}

export function beginMove(inputs: FleetInputs): Arrange | undefined {
  const { nowMs, target } = inputs;
  const settings = moveBackOf(inputs);
  if (!settings || !isSettled(inputs) || timesOfPauses(inputs).some((time) => time > nowMs)) return undefined;
  const [next] = choose(inputs, 1);
  if (!next) return undefined;
  const movable = inPhase(inputs.replicas, 'wanted').filter(
    (replica) =>
      replica.protection !== 'yes' &&
      nowMs >= replica.entry.since + settings.afterMinutes * minuteMs &&
      isBetter(inputs, next, replica),
  );
  const [old] = victims(movable);
  const [slot] = nextSlots(inputs, 1);
  if (!old || slot === undefined) return undefined;
  const { place, name: candidate } = next;
  const revision = target === undefined ? {} : { revision: target.number };
  const from = old.entry.slot;
  return arrange(
    inputs,
    [{ slot, phase: 'wanted', since: nowMs, ...revision, place, candidate }],
    moveChange(`replica ${from} moves from ${old.candidate ?? ''} to ${candidate}; added: replica ${slot}`),
    { move: { from, to: slot, since: nowMs }, moves: [...recentMoves(inputs), nowMs] },
  );
}

function isWell({ entry, isAvailable, content, correction }: Replica): boolean {
  return entry.phase === 'wanted' && isAvailable && content === 'updated' && correction === 'none';
}

/** Nothing else changes, and there is room for one more. */
function isSettled({ replicas, wanted, state, object, nowMs }: FleetInputs): boolean {
  const { update, template } = object.spec;
  return (
    state.rollout === undefined &&
    state.move === undefined &&
    replicas.length === wanted.count &&
    replicas.every(isWell) &&
    countOf(update.maxSurge, wanted.count, 'up') > 0 &&
    windowState(template.spec.disruptionWindows, nowMs).open
  );
}

function isBetter(inputs: FleetInputs, next: Candidate, { candidate, rank, hourlyMicros }: Replica): boolean {
  const settings = moveBackOf(inputs);
  if (settings?.placement.strategy === 'Ordered') return next.rank < rank;
  if (settings?.placement.strategy !== 'Cheapest' || next.name === candidate) return false;
  const priceAt = (name: string | undefined) =>
    inputs.markets.find((market) => market.candidate.name === name)?.price?.micros;
  const [now, then] = [hourlyMicros ?? priceAt(candidate), priceAt(next.name)];
  if (now === undefined || then === undefined || then >= now) return false;
  return (now - then) * 100 >= now * settings.minSavingPercent;
}

function recentMoves({ state, nowMs }: FleetInputs): number[] {
  return (state.moves ?? []).filter((at) => at <= nowMs && nowMs < at + hourMs);
}

/** When a move may begin again. */
function timesOfPauses(inputs: FleetInputs): number[] {
  const { moveRest } = inputs.state;
  const recent = recentMoves(inputs);
  const { maxPerHour = 1 } = moveBackOf(inputs) ?? {};
  const isResting = moveRest !== undefined && moveRest.since <= inputs.nowMs;
  const [first] = recent.slice(-maxPerHour);
  return [
    ...(isResting ? [moveRest.until] : []),
    ...(first !== undefined && recent.length >= maxPerHour ? [first + hourMs] : []),
  ];
}

/** When time alone may begin or end a move. */
export function moveTimes(inputs: FleetInputs): number[] {
  const settings = moveBackOf(inputs);
  if (!settings) return [];
  const { state, replicas, object, nowMs } = inputs;
  const minutes = settings.placement.provisionTimeoutMinutes;
  const endsMs = minutes === 0 ? longestProbeMs : minutes * minuteMs;
  const window = windowState(object.spec.template.spec.disruptionWindows, nowMs);
  return [
    ...(state.move ? [state.move.since + endsMs] : []),
    ...timesOfPauses(inputs),
    ...replicas.map(({ entry }) => entry.since + settings.afterMinutes * minuteMs),
    ...standings(inputs).flatMap(({ retryAt }) => retryAt ?? []),
    ...(window.open ? [] : [window.opensAt]),
  ];
}
