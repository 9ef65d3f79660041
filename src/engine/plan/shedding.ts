/**
 * What is stopped for a budget with `mode: Shed`, and when it comes back. Pure. What runs counts, and not what is only reserved. Of a
 * month, what somebody observed counts: a clock that is ahead, or a process that was down, stops nothing by itself.
 *
 *     Within ── a limit is passed ──> Exceeded ── graceMinutes ──> Shedding ── within again ──> Resuming ── all is back ──> Within
 *       ^───────── within again ─────────┘            ^──────────────── a limit is passed, graceMinutes ──────┘
 *
 * | phase    | next step                                                                                          |
 * |----------|----------------------------------------------------------------------------------------------------|
 * | Exceeded | none: it is announced, with the list                                                               |
 * | Shedding | the first of the list that may be stopped; none while a read is awaited that shows the last step, or `maxPerMinute` is reached |
 * | Resuming | what was shed last, when there has been room for it for `resumeAfterMinutes`                      |
 * | any, while an account of it can't be read, or its document can't be used | none                              |
 * | any, in a process that ends as soon as all is done (`apply`) | none: nobody was asked about it                |
 *
 * The list: fleets above their least number of replicas, then services; the lowest priority first, then the largest saving. A step is
 * one replica less, or one service stopped. What can't be stopped is passed over for five minutes, and what somebody has started for
 * a grace period. So is a fleet whose replicas that drain are protected: its limit stays, and they leave once their work ends. Nothing
 * left of the list: ShedBlocked.
 *
 * | an order ends at once, when                                                                                    |
 * |----------------------------------------------------------------------------------------------------------------|
 * | the object is gone, another one, not counted any more, exempt, of the priority `never`, or to be stopped anyway |
 * | somebody has started the service                                                                               |
 * | the mode of the budget is another one, or the budget is deleted                                                 |
 *
 * Failure cases. A restart: all of it is in the record of the budget. A longer time without a read: periods begin anew, since the limit may have
 * been kept meanwhile. A lost record: nothing is shed, and what is paused is started as any drift. Time set back: periods begin anew. Time put
 * forward: what this process has not seen pass does not count (`elapsedMs`).
 */
import {
  storable,
  type BudgetTerms,
  type ShedOrder,
  type SheddingTerms,
  type SparedObject,
  type StoredShedding,
} from '../../resources/index.ts';
import { passedLimits, roomOf, sheddingLimits, type BudgetFigures } from './budget.ts';

export interface ShedReplicas {
  /** So many it is to have without an order, and at least. */
  readonly wanted: number;
  readonly least: number;
  /** So many exist, and so many cost something now. */
  readonly present: number;
  readonly now: number;
}

/** What may be stopped for a budget, or is. */
export interface ShedMember {
  readonly object: string;
  readonly uid: string;
  /** `ContainerService web`. */
  readonly text: string;
  /** 0 to 1000, or infinite: never. */
  readonly priority: number;
  /** What is saved by stopping it, or by each replica less; micro-USD per hour. */
  readonly savesMicros: bigint;
  /** Of a fleet. */
  readonly replicas: ShedReplicas | undefined;
  /** Why it must not be stopped now. */
  readonly obstacle: string | undefined;
  /** No order for it may last: the table above. */
  readonly isFree: boolean;
  /** The newest read shows that it costs nothing for compute. */
  readonly isDown: boolean;
  /** It is being started, or cannot be for a reason that it reports. */
  readonly isAwaited: boolean;
  /** A stop of it may still take effect. */
  readonly isUnderWay: boolean;
  /** A stop was requested for it, and no read shows that yet. */
  readonly isStopping: boolean;
  /** It reports that it can't be stopped. */
  readonly refusal: string | undefined;
  /** What it would cost to start it. 0: nobody knows. */
  readonly costMicros: bigint;
}

export interface SheddingInputs {
  readonly terms: BudgetTerms;
  /** Undefined: nobody knows them now. */
  readonly figures: BudgetFigures | undefined;
  readonly before: StoredShedding | undefined;
  /** By object. Needed as long as a limit is passed, or something is shed. */
  readonly members: ReadonlyMap<string, ShedMember>;
  /** Unix milliseconds. */
  readonly nowMs: number;
  /** Milliseconds since then that have certainly passed. */
  readonly elapsedMs: (since: number) => number;
  /** The process ends as soon as all is done. */
  readonly isOneShot?: boolean | undefined;
}

export type SheddingPhase = 'Within' | 'Exceeded' | 'Shedding' | 'Resuming';

export interface SheddingPlan {
  readonly phase: SheddingPhase;
  readonly state: StoredShedding;
  /** What is stopped next, in this order, until no limit is passed. */
  readonly list: readonly ShedMember[];
  /** With all of the list, a limit is still passed. */
  readonly isNotEnough: boolean;
  /** Members that cost something and must not be stopped, with the reasons. */
  readonly kept: readonly { readonly text: string; readonly obstacle: string }[];
  /** A limit is passed for long enough, and nothing is left that may be stopped. */
  readonly isBlocked: boolean;
  /** A limit is passed only with what was spent while nobody observed it. */
  readonly isAssumed?: boolean;
  /** A limit is passed, and only a process that lasts may stop something for it. */
  readonly isLeft?: boolean;
  /** The period of grace begins with this plan. */
  readonly isNew: boolean;
  /** Unix milliseconds: when the period of grace ends, or what was shed last may come back. */
  readonly dueAt: number | undefined;
  /** When to plan again, though nothing has changed. */
  readonly againAfterMs: number;
}

const minuteMs = 60_000;
/** For so long, what could not be stopped is passed over. */
const passedOverMs = 300_000;
/** A service that was not stopped by then is passed over. */
const patienceMs = { service: 300_000, fleet: 900_000 } as const;
/** For so long, what was let go is awaited before the next one is. */
const returnMs = 600_000;
const soonMs = 15_000;
/** More are not shed at once: they have to be stored. */
const mostOrders = 1000;
const mostSpared = 200;
export const startedByOthers = 'started';

export const nothingShed: StoredShedding = { orders: [], ended: [], spared: [] };

export function planShedding(inputs: SheddingInputs): SheddingPlan {
  const { terms, figures, before = nothingShed, isOneShot } = inputs;
  const kept = withoutEnded(inputs, before);
  if (!figures) return idle(kept, kept.orders.length > 0 ? phaseOf(kept) : 'Within', minuteMs);
  const isExceeded = sheddingLimits(terms, figures).length > 0;
  if (isOneShot) return onlyKept(inputs, kept, isExceeded);
  if (isExceeded) return exceeded(inputs, figures, kept);
  return { ...within(inputs, figures, kept), isAssumed: passedLimits(terms, figures).length > 0 };
}

/** No new order, nothing that comes back, and no period that a later process would go on with. */
function onlyKept(inputs: SheddingInputs, before: StoredShedding, isLeft: boolean): SheddingPlan {
  const { exceededSince: _, roomSince: __, ...state } = settled(inputs, before, isLeft);
  return { ...idle(state, state.orders.length > 0 ? 'Resuming' : 'Within', minuteMs), isLeft };
}

function phaseOf({ exceededSince }: StoredShedding): SheddingPhase {
  return exceededSince === undefined ? 'Resuming' : 'Shedding';
}

function idle(state: StoredShedding, phase: SheddingPhase, againAfterMs: number): SheddingPlan {
  const none = { list: [], kept: [], isNotEnough: false, isBlocked: false, isNew: false, dueAt: undefined };
  return { phase, state, againAfterMs, ...none };
}

/** A time that lies ahead was noted before the clock was set back. */
function notAhead(since: number, { nowMs }: SheddingInputs): number {
  return Math.min(since, nowMs);
}

// ---- what has ended ----------------------------------------------------------------------------------------

/** Without orders that may not last, and with what the newest read shows of the others. */
function withoutEnded(inputs: SheddingInputs, before: StoredShedding): StoredShedding {
  const { members, nowMs, elapsedMs, terms, figures } = inputs;
  const graceMs = terms.shed.graceMinutes * minuteMs;
  const lastsMs = ({ because }: SparedObject) => (because === startedByOthers ? graceMs : passedOverMs);
  const spared = before.spared.filter((each) => each.since <= nowMs && elapsedMs(each.since) < lastsMs(each));
  const orders: ShedOrder[] = [];
  const steps = [...before.ended];
  for (const order of before.orders) {
    const member = members.get(order.object);
    if (!member || member.isFree || member.uid !== order.uid) {
      if (order.phase === 'asked') steps.push(nowMs);
      continue;
    }
    const isStopped = order.phase === 'done' && order.replicas === undefined;
    if (figures && isStopped && !member.isDown && !member.isUnderWay)
      spared.push({ object: order.object, since: nowMs, because: startedByOthers });
    else orders.push(order);
  }
  const ended = steps.map((at) => notAhead(at, inputs)).filter((at) => elapsedMs(at) < minuteMs);
  const { returning, ...rest } = before;
  return {
    ...rest,
    orders,
    ended,
    spared: spared.slice(-mostSpared),
    ...(returning && isAwaited(inputs, returning) ? { returning } : {}),
  };
}

function isAwaited(
  { members, elapsedMs, nowMs }: SheddingInputs,
  { object, since }: NonNullable<StoredShedding['returning']>,
): boolean {
  return members.get(object)?.isAwaited === true && since <= nowMs && elapsedMs(since) < returnMs;
}

/** The order whose step no read has shown yet. */
function settled(inputs: SheddingInputs, state: StoredShedding, isExceeded: boolean): StoredShedding {
  const { members, elapsedMs, nowMs } = inputs;
  let { ended, spared } = state;
  const orders = state.orders.flatMap((order): ShedOrder[] => {
    const member = members.get(order.object);
    if (order.phase === 'done' || !member) return [order];
    const { replicas } = order;
    const isShown = replicas === undefined ? member.isDown : (member.replicas?.now ?? 0) <= replicas;
    if (isShown) {
      ended = [...ended, nowMs];
      return [{ ...order, phase: 'done' }];
    }
    const isLate =
      elapsedMs(notAhead(order.askedAt, inputs)) >= patienceMs[replicas === undefined ? 'service' : 'fleet'];
    const { refusal } = member;
    const isAsked = (isExceeded || member.isStopping) && refusal === undefined && !isLate;
    if (member.isUnderWay || isAsked) return [order];
    ended = [...ended, nowMs];
    if (isExceeded) {
      const because = refusal ?? 'it did not stop within some minutes';
      spared = [...spared, { object: order.object, since: nowMs, because }];
    }
    // Replicas that drain may still go.
    return replicas === undefined ? [] : [{ ...order, phase: 'done' }];
  });
  return { ...state, orders, ended, spared };
}

// ---- a limit is passed ---------------------------------------------------------------------------------------

function exceeded(inputs: SheddingInputs, figures: BudgetFigures, before: StoredShedding): SheddingPlan {
  const { nowMs, elapsedMs, terms } = inputs;
  const { shed } = terms;
  const { roomSince: _, returning: __, exceededSince: first, ...rest } = settled(inputs, before, true);
  const since = notAhead(first ?? nowMs, inputs);
  const state: StoredShedding = { ...rest, exceededSince: since };
  const graceMs = shed.graceMinutes * minuteMs;
  const leftMs = graceMs - elapsedMs(since);
  const { candidates, kept } = judged(inputs, state);
  const { list, isNotEnough } = enough(terms, figures, candidates);
  const about = { list, isNotEnough, kept, isNew: first === undefined, isBlocked: false, dueAt: undefined };
  if (leftMs > 0) {
    const againAfterMs = Math.min(minuteMs, leftMs);
    return { ...about, phase: 'Exceeded', state, dueAt: since + graceMs, againAfterMs };
  }
  const isPending = state.orders.some(({ phase }) => phase === 'asked');
  const [next] = candidates;
  const shedding = { ...about, phase: 'Shedding', state } as const;
  if (isPending) return { ...shedding, againAfterMs: soonMs };
  if (!next || state.orders.length >= mostOrders)
    return { ...shedding, isBlocked: true, againAfterMs: minuteMs / 2 };
  const paceMs = paceLeftMs(state, shed, inputs);
  if (paceMs > 0) return { ...shedding, againAfterMs: paceMs };
  return { ...shedding, state: ordered(state, next, nowMs), againAfterMs: soonMs };
}

/** Until another step may be made. A step lies between its order and its end, so no more than that many lie in any minute. */
function paceLeftMs(
  { ended }: StoredShedding,
  { maxPerMinute }: SheddingTerms,
  inputs: SheddingInputs,
): number {
  const earliest = ended.at(-maxPerMinute);
  return earliest === undefined ? 0 : minuteMs - inputs.elapsedMs(earliest);
}

function ordered(state: StoredShedding, member: ShedMember, nowMs: number): StoredShedding {
  const { object, uid, savesMicros, replicas } = member;
  const earlier = state.orders.find((order) => order.object === object);
  const since = earlier?.since ?? nowMs;
  const micros = String(storable(savesMicros));
  const order: ShedOrder = {
    object,
    uid,
    since,
    askedAt: nowMs,
    phase: 'asked',
    micros,
    ...(replicas ? { replicas: capNow(replicas, earlier) - 1 } : {}),
  };
  return { ...state, orders: [...state.orders.filter((each) => each !== earlier), order] };
}

/** A step takes one that exists: those that still wait for their turn cost nothing. */
function capNow({ wanted, present }: ShedReplicas, order: ShedOrder | undefined): number {
  return Math.min(wanted, present, order?.replicas ?? wanted);
}

interface Judged {
  readonly candidates: readonly ShedMember[];
  readonly kept: SheddingPlan['kept'];
}

function judged({ members }: SheddingInputs, { orders, spared }: StoredShedding): Judged {
  const byObject = new Map(orders.map((order) => [order.object, order]));
  const passedOver = new Map(spared.map(({ object, because }) => [object, because]));
  const candidates: ShedMember[] = [];
  const kept: { text: string; obstacle: string }[] = [];
  for (const member of members.values()) {
    const { object, text, replicas, savesMicros, isFree, priority } = member;
    const order = byObject.get(object);
    const isLeast = replicas && capNow(replicas, order) <= replicas.least;
    if (savesMicros <= 0n || (order && (!replicas || isLeast))) continue;
    const spare = passedOver.get(object);
    const obstacle = isLeast
      ? 'it has no more replicas than `minReplicas`'
      : (member.obstacle ??
        (Number.isFinite(priority) ? undefined : '`shed-priority: never`') ??
        (isFree ? 'it is exempt' : undefined) ??
        (spare === startedByOthers ? 'somebody has started it' : spare));
    if (obstacle === undefined) candidates.push(member);
    else kept.push({ text, obstacle });
  }
  return { candidates: candidates.toSorted(byTurn), kept };
}

/** Fleets, then services; the lowest priority, then the largest saving. */
function byTurn(left: ShedMember, right: ShedMember): number {
  const saving = right.savesMicros - left.savesMicros;
  return (
    Number(left.replicas === undefined) - Number(right.replicas === undefined) ||
    left.priority - right.priority ||
    (saving === 0n ? 0 : saving > 0n ? 1 : -1) ||
    (left.object < right.object ? -1 : 1)
  );
}

/** As many of them as are needed, by what they cost now. */
function enough(
  terms: BudgetTerms,
  figures: BudgetFigures,
  candidates: readonly ShedMember[],
): Pick<SheddingPlan, 'list' | 'isNotEnough'> {
  let burnMicros = figures.burnMicros;
  const list: ShedMember[] = [];
  const isPassed = () => sheddingLimits(terms, { ...figures, burnMicros }).length > 0;
  for (const member of candidates) {
    if (!isPassed()) break;
    list.push(member);
    const { replicas, savesMicros } = member;
    const times = replicas ? Math.max(0, capNow(replicas, undefined) - replicas.least) : 1;
    burnMicros -= savesMicros * BigInt(times);
  }
  return { list, isNotEnough: isPassed() };
}

// ---- no limit is passed --------------------------------------------------------------------------------------

function within(inputs: SheddingInputs, figures: BudgetFigures, before: StoredShedding): SheddingPlan {
  const { nowMs, elapsedMs, terms, members } = inputs;
  const { exceededSince: _, roomSince: first, ...state } = settled(inputs, before, false);
  const last = state.orders.at(-1);
  const member = last && members.get(last.object);
  if (!last || !member) return idle(state, 'Within', minuteMs);
  const isPending = last.phase === 'asked' || state.returning !== undefined;
  const known = member.costMicros > 0n ? member.costMicros : BigInt(last.micros);
  if (!fits(terms, figures, known)) return idle(state, 'Resuming', minuteMs);
  const roomSince = notAhead(first ?? nowMs, inputs);
  const waiting = { ...state, roomSince };
  const afterMs = terms.shed.resumeAfterMinutes * minuteMs;
  const leftMs = afterMs - elapsedMs(roomSince);
  const about = idle(waiting, 'Resuming', Math.min(minuteMs, Math.max(leftMs, soonMs)));
  if (leftMs > 0 || isPending) return { ...about, dueAt: roomSince + afterMs };
  return { ...about, state: letGo(waiting, last, member, nowMs), againAfterMs: soonMs };
}

/** A service, or one more replica. */
function letGo(
  state: StoredShedding,
  order: ShedOrder,
  { replicas }: ShedMember,
  nowMs: number,
): StoredShedding {
  const others = state.orders.filter((each) => each !== order);
  const returning = { object: order.object, since: nowMs };
  if (order.replicas === undefined || !replicas) return { ...state, orders: others, returning };
  const cap = order.replicas + 1;
  const orders = cap < replicas.wanted ? [...others, { ...order, replicas: cap }] : others;
  return { ...state, orders, returning };
}

/** Whether it may cost so much more without more than `resumeBelowPercent` of a limit. */
function fits(terms: BudgetTerms, figures: BudgetFigures, micros: bigint): boolean {
  const percent = BigInt(terms.shed.resumeBelowPercent);
  const part = (amount: number | undefined) =>
    amount === undefined ? undefined : Number((BigInt(amount) * percent) / 100n);
  const { balanceMicros } = figures;
  const { hourlyMicros, monthlyMicros } = terms.limits;
  const limits = { ...terms.limits, hourlyMicros: part(hourlyMicros), monthlyMicros: part(monthlyMicros) };
  const balance = balanceMicros === undefined ? undefined : (balanceMicros * percent) / 100n;
  const room = roomOf({ ...terms, limits }, { ...figures, balanceMicros: balance });
  return room === undefined || room.micros >= micros;
}
