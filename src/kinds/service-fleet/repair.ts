/**
 * Replicas that stay broken are replaced. A replica is broken when it was not Ready for `repair.afterSeconds`, and its own
 * planner does nothing more about that (`givenUp`). A wait, such as for capacity, funds or a task, is never a reason.
 *
 *     broken ── room, and not too many ──> draining ──> retiring ──> its replacement is added, and becomes available
 *        └── more than twice as many as may be repaired at once ──> MassFailure: nothing is repaired
 *
 * | case | |
 * |---|---|
 * | it is protected | it drains until its tasks are released. No other one leaves in its place |
 * | it becomes Ready while it drains | it is taken back, if the fleet has too few |
 * | no replica has ever run with its content | the template is at fault, and another replica would fail as well: it is left, unless its volume is gone |
 * | many fail at once | the provider, or what they all use, is at fault. New replicas would fail as well |
 *
 * Replacements count as repairs that are under way until they are available, so one repair follows the other.
 */
import type { Arrange, Difference } from '../../engine/plan/index.ts';
import { countOf } from './counts.ts';
import { hasOnlyFailed } from './failure.ts';
import { arrange, inNewPhase, inPhase, scaleInPace, slotsText, type FleetInputs } from './inputs.ts';
import type { Replica } from './replica.ts';
import { victims } from './victims.ts';

export interface Repairs {
  /** Those that are to leave now. */
  readonly now: readonly Replica[];
  /** Why nothing is repaired. */
  readonly massFailure: string | undefined;
  /** Unix milliseconds at which a replica counts as broken that does not yet; infinite without one. */
  readonly nextAt: number;
}

export function repairsOf(inputs: FleetInputs): Repairs {
  const { replicas, nowMs } = inputs;
  const running = inPhase(replicas, 'wanted');
  const failing = running.filter(isFailing);
  const nextAt = Math.min(
    Number.POSITIVE_INFINITY,
    ...failing.map((replica) => brokenAt(inputs, replica)).filter((time) => time > nowMs),
  );
  const broken = failing.filter((replica) => brokenAt(inputs, replica) <= nowMs);
  const most = mostAtOnce(inputs);
  if (broken.length > 0 && failing.length > 2 * most) {
    const message = `${failing.length} of ${running.length} replicas fail, and no more than ${2 * most} may for a repair: ${failuresText(failing)}`;
    return { now: [], massFailure: message, nextAt };
  }
  const room = Math.min(most - underWay(inputs), scaleInPace(inputs).left);
  return {
    now: victims(repairable(inputs, broken)).slice(0, Math.max(0, room)),
    massFailure: undefined,
    nextAt,
  };
}

/** Those that are repaired now, or that will be, one after the other, if nobody mends them. */
export function comingRepairs(inputs: FleetInputs): readonly Replica[] {
  const { replicas, nowMs, state } = inputs;
  const failing = inPhase(replicas, 'wanted').filter(isFailing);
  if (failing.length > 2 * mostAtOnce(inputs)) return [];
  const broken = failing.filter((replica) => {
    const { content, givenUp } = replica;
    // What a rollout changes may be well then, and what fails in one decides about it.
    const stays = content === 'updated' || (content === 'updating' && !state.rollout);
    return givenUp !== undefined && (stays || brokenAt(inputs, replica) <= nowMs);
  });
  return repairable(inputs, broken);
}

function repairable(inputs: FleetInputs, broken: readonly Replica[]): readonly Replica[] {
  const { object, replicas } = inputs;
  if (object.spec.repair.mode !== 'Replace' || hasOnlyFailed(inputs)) return [];
  const isProven = inPhase(replicas, 'wanted').some(({ content }) => content === 'updated');
  return broken.filter(
    ({ content, givenUp }) => isProven || content !== 'updating' || givenUp?.reason === 'DataLost',
  );
}

/** Unix milliseconds; infinite: it has not given up. */
function brokenAt({ object }: FleetInputs, { givenUp }: Replica): number {
  return givenUp ? givenUp.since + object.spec.repair.afterSeconds * 1000 : Number.POSITIVE_INFINITY;
}

function mostAtOnce({ object, wanted }: FleetInputs): number {
  return Math.max(1, countOf(`${object.spec.repair.maxPercent}%`, wanted.count, 'down'));
}

/** Also one that has run, and does not now. One that is being made or updated is on its way. */
function isFailing({ givenUp, isReady, content }: Replica): boolean {
  return givenUp !== undefined || (!isReady && content !== 'updating');
}

/** Replicas that leave for a repair, and those added since the last one that have not become available. */
function underWay({ replicas, state: { repairedAt } }: FleetInputs): number {
  return replicas.filter(({ entry, content, isAvailable, givenUp }) => {
    if (entry.phase !== 'wanted') return entry.cause === 'repair';
    const isNew = repairedAt !== undefined && entry.since >= repairedAt;
    return isNew && content === 'updating' && !isAvailable && givenUp === undefined;
  }).length;
}

export function repair(inputs: FleetInputs): Arrange | undefined {
  const { now } = repairsOf(inputs);
  if (now.length === 0) return undefined;
  const { nowMs } = inputs;
  return arrange(
    inputs,
    inNewPhase(now, 'draining', nowMs, 'repair'),
    { ...repairText(now), change: 'update', differences: repairDifferences(now) },
    { pace: scaleInPace(inputs).begin(now.length), repairedAt: nowMs },
  );
}

/** As if broken replicas were only shown. */
export function withoutRepair(inputs: FleetInputs): FleetInputs {
  const { object } = inputs;
  const { spec } = object;
  return {
    ...inputs,
    object: { ...object, spec: { ...spec, repair: { ...spec.repair, mode: 'Report' } } },
  };
}

export function repairText(replicas: readonly Replica[]) {
  return { reason: 'Repairing', message: `to be replaced: ${failuresText(replicas)}` } as const;
}

export const replaced = '(replaced)';

export function repairDifferences(replicas: readonly Replica[]): Difference[] {
  return replicas.map(({ entry, givenUp }) => {
    return { path: `replica ${entry.slot}`, desired: replaced, observed: givenUp?.reason, drift: false };
  });
}

/** It is shown as one that is repaired. */
export function isShownRepaired(
  { differences }: Pick<Arrange, 'differences'>,
  { entry }: Pick<Replica, 'entry'>,
): boolean {
  return differences.some(({ path, desired }) => path === `replica ${entry.slot}` && desired === replaced);
}

/** Another one can't leave instead: a person has ordered it, it is where it can't stay, or it is broken, and still is. */
export function isToLeave({ entry, isReady }: Replica): boolean {
  const isForGood = entry.cause === 'retire' || entry.cause === 'placement';
  return isForGood || (entry.cause === 'repair' && !isReady);
}

/** The replicas that have given up, for messages. */
export function failuresText(replicas: readonly Replica[]): string {
  const byReason = new Map<string, Replica[]>();
  for (const replica of replicas) {
    const { reason } = replica.givenUp ?? {};
    if (reason !== undefined) byReason.set(reason, [...(byReason.get(reason) ?? []), replica]);
  }
  return [...byReason].map(([reason, those]) => `${slotsText(those)} (${reason})`).join(', ');
}
