/**
 * What others change in a replica is corrected by the replica itself. If that interrupts it, the fleet decides when: a change of
 * all replicas at once would otherwise interrupt all of them.
 *
 *     asked ── the floor allows it; or, with `maxUnavailable: 0`, no other one is interrupted ──> running ──> done
 *       ^                                                                                            │
 *       └── a minute later, after all others ── blocked: work in it, or a closed window <────────────┘
 *
 * One that is known not to work is allowed at once. A correction that is possible without an interruption asks nobody.
 */
import type { Arrange } from '../../engine/plan/index.ts';
import { windowState } from '../../resources/index.ts';
import { arrange, inPhase, slotsText, type FleetInputs } from './inputs.ts';
import { beginMs, isReliable, type Replica } from './replica.ts';
import { floorOf, type Rollout } from './rollout.ts';
import type { RosterEntry } from './state.ts';
import { updateOrder } from './victims.ts';

/** Between two attempts at a correction that is blocked. */
const againMs = 60_000;

export function correct(inputs: FleetInputs, rollout: Rollout): Arrange | undefined {
  return endCorrections(inputs) ?? beginCorrections(inputs, rollout);
}

function endCorrections(inputs: FleetInputs): Arrange | undefined {
  const { nowMs } = inputs;
  const running = inPhase(inputs.replicas, 'wanted');
  const ended = running.filter(({ correction }) => correction === 'done' || correction === 'blocked');
  if (ended.length === 0) return undefined;
  const entries = ended.map(({ entry, correction }): RosterEntry => {
    const { corrects: _corrects, blocked: _blocked, ...rest } = entry;
    return correction === 'blocked' ? { ...rest, blocked: nowMs } : rest;
  });
  const blocked = ended.some(({ correction }) => correction === 'blocked');
  const message = blocked ? `can't be corrected now: ${slotsText(ended)}` : `corrected: ${slotsText(ended)}`;
  return arrange(inputs, entries, { reason: 'Drift', message, change: undefined });
}

function beginCorrections(inputs: FleetInputs, rollout: Rollout): Arrange | undefined {
  const { nowMs, wanted, replicas } = inputs;
  const running = inPhase(replicas, 'wanted');
  const asked = updateOrder(running.filter((replica) => mayAsk(inputs, replica))).toSorted(
    ({ entry: one }, { entry: other }) => (one.blocked ?? 0) - (other.blocked ?? 0),
  );
  const allowed = rollout.withinFloor(asked);
  const isOneAtATime = floorOf(inputs) >= wanted.count;
  const isNoneMissing = running.filter(isReliable).length >= wanted.count;
  const chosen = allowed.length === 0 && isOneAtATime && isNoneMissing ? asked.slice(0, 1) : allowed;
  if (chosen.length === 0) return undefined;
  return arrange(
    inputs,
    chosen.map(({ entry }) => ({ ...entry, corrects: nowMs })),
    { reason: 'Drift', message: `may be corrected: ${slotsText(chosen)}`, change: undefined },
  );
}

function mayAsk({ object, nowMs }: FleetInputs, { correction, mayServe, entry }: Replica): boolean {
  if (correction !== 'asked') return false;
  if (!mayServe) return true;
  const { blocked = 0 } = entry;
  const isTooSoon = blocked <= nowMs && nowMs < blocked + againMs;
  return !isTooSoon && windowState(object.spec.template.spec.disruptionWindows, nowMs).open;
}

/** Replicas that wait for a correction, and when that may change by time alone (Unix milliseconds). */
export function awaitedCorrections({ replicas, object, nowMs }: FleetInputs): {
  readonly waiting: readonly Replica[];
  readonly changesAt: readonly number[];
} {
  const waiting = inPhase(replicas, 'wanted').filter(({ correction }) => correction !== 'none');
  if (waiting.length === 0) return { waiting, changesAt: [] };
  const window = windowState(object.spec.template.spec.disruptionWindows, nowMs);
  const times = waiting.flatMap(({ entry: { blocked, corrects } }) => [
    ...(blocked === undefined ? [] : [blocked + againMs]),
    ...(corrects === undefined ? [] : [corrects + beginMs]),
  ]);
  return { waiting, changesAt: window.open ? times : [...times, window.opensAt] };
}
