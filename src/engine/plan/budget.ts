/**
 * How much more a budget allows, and who may have it first. Pure.
 *
 * | limit     | refused                                                                                  |
 * |-----------|------------------------------------------------------------------------------------------|
 * | hourly    | burn + reserved + increase > limit                                                       |
 * | monthly   | spent + (burn + reserved + increase) × min(horizon, hours left in the month) > limit     |
 * | runway    | balance < (burn + reserved + increase of the account) × hours                            |
 * | per object | what one service or volume costs afterwards > limit                                     |
 *
 * Amounts are micro-USD per hour, BigInt. What makes things cheaper is never refused: it has no increase.
 *
 * When not everything fits, what existed before comes first, then what has a higher priority, then what waits for longer. One
 * that is too large lets others pass for ten minutes. After that, what becomes free is kept for it.
 */
import { annotations, type BudgetTerms } from '../../resources/index.ts';
import { usdOf } from './money.ts';

export interface BudgetFigures {
  readonly burnMicros: bigint;
  /** Of requests that no read shows with a price yet, and of what is kept for things that are lost. */
  readonly reservedMicros: bigint;
  /** In this month, in whole micro-USD. */
  readonly spentMicros: bigint;
  /** The part of it that somebody observed. Absent: all of it. */
  readonly observedMicros?: bigint;
  /** Milliseconds until the month ends. */
  readonly monthLeftMs: number;
  /** Of the account, for a budget of one. Undefined if it can't be read. */
  readonly balanceMicros: bigint | undefined;
}

export type LimitName = 'hourly' | 'monthly' | 'runway' | 'perObject';

/** How much the burn may grow until the limit is reached; negative beyond it. */
export interface Room {
  readonly limit: LimitName;
  readonly micros: bigint;
}

const hourMs = 3_600_000n;

/** Of the limits that all members share, the one with the least room. Undefined: there is none. */
export function roomOf(terms: BudgetTerms, figures: BudgetFigures): Room | undefined {
  const { hourlyMicros, monthlyMicros, runwayHours } = terms.limits;
  const now = figures.burnMicros + figures.reservedMicros;
  const rooms: Room[] = [];
  if (hourlyMicros !== undefined) rooms.push({ limit: 'hourly', micros: BigInt(hourlyMicros) - now });
  if (monthlyMicros !== undefined) {
    const ms = horizonMs(terms, figures);
    const left = BigInt(monthlyMicros) - figures.spentMicros;
    rooms.push({ limit: 'monthly', micros: floorOf(left * hourMs, ms) - now });
  }
  if (runwayHours !== undefined && figures.balanceMicros !== undefined)
    rooms.push({ limit: 'runway', micros: floorOf(figures.balanceMicros, BigInt(runwayHours)) - now });
  return rooms.reduce<Room | undefined>(
    (least, room) => (least === undefined || room.micros < least.micros ? room : least),
    undefined,
  );
}

/** Not less than a millisecond, as the month ends. */
function horizonMs({ horizonHours }: BudgetTerms, { monthLeftMs }: BudgetFigures): bigint {
  return BigInt(Math.max(1, Math.min(horizonHours * Number(hourMs), Math.floor(monthLeftMs))));
}

/** Division that rounds down, below zero too. */
function floorOf(amount: bigint, by: bigint): bigint {
  const quotient = amount / by;
  return amount < 0n && quotient * by !== amount ? quotient - 1n : quotient;
}

/** Which limits are passed by what is there now, without what is only reserved. */
export function passedLimits(terms: BudgetTerms, figures: BudgetFigures): LimitName[] {
  const { hourlyMicros, monthlyMicros, runwayHours } = terms.limits;
  const { burnMicros, spentMicros, balanceMicros } = figures;
  const passed: LimitName[] = [];
  if (hourlyMicros !== undefined && burnMicros > BigInt(hourlyMicros)) passed.push('hourly');
  if (monthlyMicros !== undefined && spentMicros > BigInt(monthlyMicros)) passed.push('monthly');
  if (
    runwayHours !== undefined &&
    balanceMicros !== undefined &&
    balanceMicros < burnMicros * BigInt(runwayHours)
  )
    passed.push('runway');
  return passed;
}

/** Of these, those for which something may be stopped: time that nobody observed stops nothing. */
export function sheddingLimits(terms: BudgetTerms, figures: BudgetFigures): LimitName[] {
  const { spentMicros, observedMicros = spentMicros } = figures;
  return passedLimits(terms, { ...figures, spentMicros: observedMicros });
}

/** The highest of the warning thresholds (per cent) that is reached. */
export function reached(warnAt: readonly number[], micros: bigint, limitMicros: bigint): number | undefined {
  return warnAt.findLast((percent) => micros * 100n >= limitMicros * BigInt(percent));
}

// ---- who comes first ------------------------------------------------------------------------------------

export interface Claim {
  readonly key: string;
  /** It existed before, and is made or started again. */
  readonly isRepair: boolean;
  /** 0 to 1000, or infinite. */
  readonly priority: number;
  /** Monotonic milliseconds since when it has waited. */
  readonly sinceMs: number;
  readonly micros: bigint;
  /** What owns it: it does not wait for what that wants. */
  readonly owner?: string | undefined;
}

const patienceMs = 600_000;
const usualPriority = 500;

/** Of an object with these annotations; infinite: `never`. */
export function priorityOf(given: Readonly<Record<string, string>>): number {
  const text = given[annotations.shedPriority];
  if (text === undefined) return usualPriority;
  return text === 'never' ? Number.POSITIVE_INFINITY : Number(text);
}

/** Negative: `left` comes first. */
export function byRank(left: Claim, right: Claim): number {
  return (
    Number(right.isRepair) - Number(left.isRepair) ||
    compare(right.priority, left.priority) ||
    left.sinceMs - right.sinceMs ||
    (left.key < right.key ? -1 : Number(left.key > right.key))
  );
}

function compare(left: number, right: number): number {
  return left === right ? 0 : left - right;
}

/** One that comes before `claim`, and that `claim` would leave no room for. `others`: in the order of their rank. Undefined: it may have the room. */
export function givesWayTo(
  claim: Claim,
  others: Iterable<Claim>,
  room: bigint,
  nowMs: number,
): Claim | undefined {
  let left = room;
  for (const other of others) {
    if (other.key === claim.key || other.key === claim.owner) continue;
    if (byRank(other, claim) > 0) return undefined;
    if (other.micros > left && nowMs - other.sinceMs < patienceMs) continue;
    left -= other.micros;
    if (claim.micros > left) return other;
  }
  return undefined;
}

// ---- messages ----------------------------------------------------------------------------------------------

/** Of so many things. */
export function unknownPrices(count: number): string {
  return `the price of ${count} of its objects is not known`;
}

/** What the limit is, and how much of it is used. */
export function limitText(
  limit: LimitName,
  { limits, horizonHours }: BudgetTerms,
  figures: BudgetFigures,
): string {
  const { burnMicros, reservedMicros, spentMicros, balanceMicros = 0n } = figures;
  const now = `${usdOf(burnMicros)}/h${reservedMicros === 0n ? '' : ` and ${usdOf(reservedMicros)}/h under way`}`;
  switch (limit) {
    case 'hourly':
      return `hourlyMicros allows ${usdOf(BigInt(limits.hourlyMicros ?? 0))}/h, and there is ${now}`;
    case 'monthly':
      return `monthlyMicros allows ${usdOf(BigInt(limits.monthlyMicros ?? 0))} a month, of which ${usdOf(spentMicros)} is spent; there is ${now}, and it has to last for the next ${horizonHours} h or until the month ends`;
    case 'runway':
      return `the balance ${usdOf(balanceMicros)} has to last for ${limits.runwayHours ?? 0} h (runwayHours), and there is ${now}`;
    case 'perObject':
      return `perObjectHourlyMicros allows ${usdOf(BigInt(limits.perObjectHourlyMicros ?? 0))}/h for each`;
  }
}
