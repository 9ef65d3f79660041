/**
 * Replicas that have to be somewhere else. Only what was never made moves as it is; all others are replaced.
 *
 * | replica                                                     | what becomes of it                                       |
 * |-------------------------------------------------------------|----------------------------------------------------------|
 * | waits for capacity, with no id and no open request          | gets the next candidate; with a volume that is made, one where that is |
 * | provisions for `provisionTimeoutMinutes`, and never ran     | drains, if another candidate can be used; this one rests |
 * | shows a price above the highest one, or another GPU model   | drains; the candidate rests, or is known to be too dear  |
 *
 * One that is available is rejected only as the floor allows: another one comes first (rollout.ts).
 */
import type { Arrange } from '../../engine/plan/index.ts';
import { arrange, inNewPhase, inPhase, scaleInPace, slotsText, type FleetInputs } from './inputs.ts';
import { choose, chooseFor } from './placement.ts';
import type { Replica } from './replica.ts';
import type { FleetState, RosterEntry } from './state.ts';

const minuteMs = 60_000;
const hourMs = 3_600_000;
/** So many GPUs of other models within an hour, and the candidate rests. */
const mostModels = 3;

export function relocate(inputs: FleetInputs): Arrange | undefined {
  if (!inputs.object.spec.placement) return undefined;
  return moveRefused(inputs) ?? reject(inputs) ?? giveUpSlow(inputs);
}

function moveRefused(inputs: FleetInputs): Arrange | undefined {
  const { replicas, nowMs, state } = inputs;
  const refused = inPhase(replicas, 'wanted').filter(
    ({ entry, waitsForCapacity, isMade }) =>
      // A probe of a move stays where it is to be.
      waitsForCapacity && !isMade && entry.slot !== state.move?.to,
  );
  const moved: RosterEntry[] = [];
  for (const replica of refused) {
    const [next] = chooseFor(withMoved(inputs, moved), [replica.entry.slot], [replica]).map(
      ({ candidate }) => candidate,
    );
    if (!next || next.name === replica.candidate) continue;
    moved.push({ ...replica.entry, since: nowMs, candidate: next.name, place: next.place });
  }
  if (moved.length === 0) return undefined;
  const texts = moved.map(({ slot, candidate }) => `replica ${slot} to ${candidate ?? ''}`);
  return arrange(inputs, moved, {
    reason: 'ScalingOut',
    message: `no capacity for what was not made yet: ${texts.join(', ')}`,
    change: undefined,
  });
}

function withMoved(inputs: FleetInputs, moved: readonly RosterEntry[]): FleetInputs {
  const bySlot = new Map(moved.map((entry) => [entry.slot, entry]));
  const replicas = inputs.replicas.map((replica) => {
    const entry = bySlot.get(replica.entry.slot);
    return entry ? Object.assign({}, replica, { entry, candidate: entry.candidate }) : replica;
  });
  return { ...inputs, replicas };
}

/** What is known of its candidate by now is recorded once. If it was never available, nothing relies on it, and it drains. */
function reject(inputs: FleetInputs): Arrange | undefined {
  const { replicas, nowMs, state } = inputs;
  const rejected = inPhase(replicas, 'wanted').filter(({ rejection }) => rejection !== undefined);
  const news = rejected.filter(({ entry }) => !entry.rejected);
  const leaving = rejected.filter(isNew).slice(0, scaleInPace(inputs).left);
  if (news.length + leaving.length === 0) return undefined;
  const staying = news.filter((replica) => !leaving.includes(replica));
  const shown = leaving.length > 0 ? leaving : news;
  const texts = shown.map(
    ({ entry: { slot }, rejection }) => `replica ${slot} (${rejection?.message ?? ''})`,
  );
  return arrange(
    inputs,
    [
      ...inNewPhase(leaving, 'draining', nowMs, 'placement'),
      ...staying.map(({ entry }) => Object.assign({}, entry, { rejected: true })),
    ],
    { reason: 'Relocating', message: `to be replaced elsewhere: ${texts.join(', ')}`, change: undefined },
    {
      ...(leaving.length > 0 ? { pace: scaleInPace(inputs).begin(leaving.length) } : {}),
      ...afterRejections(state, news, nowMs),
    },
  );
}

function isNew({ isAvailable, content }: Replica): boolean {
  return !isAvailable && content === 'updating';
}

/** What is remembered of the candidates of rejected replicas. */
function afterRejections(
  { rests = [], models = [] }: FleetState,
  rejected: readonly Replica[],
  nowMs: number,
): Pick<FleetState, 'rests' | 'models'> {
  const recent = models.filter(({ at }) => at <= nowMs && nowMs < at + hourMs);
  const shown = [...recent];
  const next = rests.filter(({ until }) => until > nowMs);
  for (const { candidate, rejection } of rejected) {
    if (candidate === undefined || !rejection) continue;
    const rest = { candidate, since: nowMs, until: nowMs + hourMs };
    if (rejection.state === 'PriceTooHigh') next.push({ ...rest, state: 'PriceTooHigh' });
    else shown.push({ candidate, at: nowMs });
    const count = shown.filter((each) => each.candidate === candidate).length;
    if (count >= mostModels) next.push({ ...rest, state: 'ModelNotAccepted' });
  }
  return { rests: next, models: shown };
}

function giveUpSlow(inputs: FleetInputs): Arrange | undefined {
  const { nowMs, state } = inputs;
  const slow = inPhase(inputs.replicas, 'wanted').filter((replica) => isSlow(inputs, replica));
  const [first] = slow;
  const candidate = first?.candidate;
  if (!first || candidate === undefined) return undefined;
  const rest = { candidate, state: 'Scarce', since: nowMs, until: nowMs + restMs } as const;
  const rests = [...(state.rests ?? []).filter(({ until }) => until > nowMs), rest];
  const there = slow.filter((each) => each.candidate === candidate);
  const isPossible = choose({ ...inputs, state: { ...state, rests } }, 1, there).length > 0;
  const leaving = isPossible ? there.slice(0, scaleInPace(inputs).left) : [];
  if (leaving.length === 0) return undefined;
  const { provisionTimeoutMinutes: minutes } = inputs.object.spec.placement ?? {};
  return arrange(
    inputs,
    inNewPhase(leaving, 'draining', nowMs, 'placement'),
    {
      reason: 'Relocating',
      message: `did not provision in ${minutes ?? 0} min at ${candidate}: ${slotsText(leaving)}`,
      change: undefined,
    },
    { pace: scaleInPace(inputs).begin(leaving.length), rests },
  );
}

/** As long as the longest pause for capacity. */
const restMs = 30 * minuteMs;

/** Unix milliseconds at which it counts as slow; undefined: it is not provisioning, or may take any time. */
function slowAt({ object }: FleetInputs, { provisioningSince, content, entry }: Replica): number | undefined {
  const { provisionTimeoutMinutes: minutes = 0 } = object.spec.placement ?? {};
  // With a volume it could be nowhere else.
  const mayTakeLong = minutes === 0 || content !== 'updating' || entry.place.volume === true;
  return mayTakeLong || provisioningSince === undefined ? undefined : provisioningSince + minutes * minuteMs;
}

function isSlow(inputs: FleetInputs, replica: Replica): boolean {
  const at = slowAt(inputs, replica);
  return at !== undefined && at <= inputs.nowMs;
}

/** When a replica counts as slow that does not yet. */
export function slowTimes(inputs: FleetInputs): number[] {
  return inPhase(inputs.replicas, 'wanted').flatMap((replica) => slowAt(inputs, replica) ?? []);
}
