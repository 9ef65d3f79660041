/**
 * What a budget has spent in a month: burn over time, from one read to the next. Pure.
 *
 * | between two reads                         | counts as                                                    |
 * |-------------------------------------------|--------------------------------------------------------------|
 * | up to ten minutes                         | spent, at the burn of the first of them                      |
 * | longer: a process was down, a clock jumped | the same, and also as estimated                              |
 * | time went back                            | nothing; by more than a day into an earlier month: that one continues |
 * | a month ends                              | what is before counts in that month; the next begins at zero |
 *
 * Amounts are micro-USD times milliseconds, so nothing is lost to rounding.
 *
 * Stored each minute, at once when the burn changes, and at the end of a process. So a kill -9 forgets at most 60 s and the time between two
 * reads (90 s with `pollSeconds: 30`). The next process counts these anew, at the stored burn: nothing is missing unless the burn had changed
 * in the very last read.
 */
import { dayAt } from '../../base/index.ts';
import type { StoredTally } from '../../resources/index.ts';

export interface Tally {
  /** As `2026-11`. */
  readonly month: string;
  /** Unix milliseconds since when it is counted: the begin of the month, or later if it was not counted from there. */
  readonly since: number;
  readonly spent: bigint;
  /** The part of `spent` that nobody observed. */
  readonly estimated: bigint;
  /** What the balance of the account lost in addition, of a budget for an account. Negative if it lost less. */
  readonly unattributed: bigint;
  /** Unix milliseconds of the last read. */
  readonly at: number;
  /** Micro-USD per hour, at that read. */
  readonly burnMicros: bigint;
  /** Of the account, at that read. Undefined if it can't be read. */
  readonly balanceMicros: bigint | undefined;
  /** By date, oldest first. */
  readonly days: ReadonlyMap<string, bigint>;
}

export interface TallyRead {
  /** Unix milliseconds. */
  readonly at: number;
  readonly burnMicros: bigint;
  readonly balanceMicros: bigint | undefined;
}

export interface TallyRules {
  readonly timeZone: string;
  /** A longer time between two reads is a gap. */
  readonly gapMs: number;
  readonly mostDays: number;
}

/**
 * After so long, what was counted is stored anew. Less than a minute, the time between two passes: with a whole one, each second pass
 * would come a moment too early.
 */
export const storedAfterMs = 50_000;
const hourMs = 3_600_000n;
const shortestGapMs = 600_000;
const daysKept = { folder: 400, cluster: 62 } as const;
/** A clock that is corrected is set back by less. */
const dayMs = 86_400_000;

/** Of an account that is read so often at least. A cluster keeps the days in the object's status. */
export function countingRules(
  longestPollSeconds: number,
  isInCluster: boolean,
): Omit<TallyRules, 'timeZone'> {
  const gapMs = Math.max(shortestGapMs, 2000 * longestPollSeconds);
  return { gapMs, mostDays: isInCluster ? daysKept.cluster : daysKept.folder };
}

export function firstTally({ at, burnMicros, balanceMicros }: TallyRead, timeZone: string): Tally {
  const { date } = dayAt(at, timeZone);
  const none = { spent: 0n, estimated: 0n, unattributed: 0n, days: new Map<string, bigint>() };
  return { month: monthOf(date), since: at, at, burnMicros, balanceMicros, ...none };
}

/** With the time until the read. */
export function tallied(before: Tally, read: TallyRead, { timeZone, gapMs, mostDays }: TallyRules): Tally {
  const passedMs = read.at - before.at;
  if (passedMs <= 0) return setBack(before, read, timeZone);
  const isGap = passedMs > gapMs;
  let tally = before;
  let from = before.at;
  const days = new Map(before.days);
  while (from < read.at) {
    const { date, until } = dayAt(from, timeZone);
    const to = Math.min(until, read.at);
    const amount = before.burnMicros * BigInt(to - from);
    days.set(date, (days.get(date) ?? 0n) + amount);
    // With a clock that was set back, the month before may come again. It stays in this one.
    if (monthOf(date) > tally.month) tally = nextMonth(tally, monthOf(date), from);
    const estimated = tally.estimated + (isGap ? amount : 0n);
    tally = { ...tally, spent: tally.spent + amount, estimated };
    from = to;
  }
  const { date } = dayAt(read.at, timeZone);
  if (monthOf(date) > tally.month) tally = nextMonth(tally, monthOf(date), read.at);
  for (const day of [...days.keys()].slice(0, Math.max(0, days.size - mostDays))) days.delete(day);
  const unattributed = tally.unattributed + notShown(before, read, BigInt(passedMs));
  return { ...tally, ...read, days, unattributed };
}

/** A clock that was far ahead for a while: what follows counts in the month of now, with what its days have. */
function setBack(before: Tally, read: TallyRead, timeZone: string): Tally {
  const { date } = dayAt(read.at, timeZone);
  const month = monthOf(date);
  if (before.at - read.at <= dayMs || month >= before.month) return { ...before, ...read };
  const days = new Map([...before.days].filter(([each]) => each <= date));
  const spent = [...days].reduce((sum, [each, amount]) => (monthOf(each) === month ? sum + amount : sum), 0n);
  return { ...before, ...read, month, since: read.at, spent, estimated: 0n, unattributed: 0n, days };
}

function nextMonth(tally: Tally, month: string, since: number): Tally {
  return { ...tally, month, since, spent: 0n, estimated: 0n, unattributed: 0n };
}

/** A balance that rose was topped up, so it shows no cost. */
function notShown({ balanceMicros, burnMicros }: Tally, now: TallyRead, passedMs: bigint): bigint {
  if (balanceMicros === undefined || now.balanceMicros === undefined) return 0n;
  const fall = balanceMicros - now.balanceMicros;
  return fall < 0n ? 0n : fall * hourMs - burnMicros * passedMs;
}

function monthOf(date: string): string {
  return date.slice(0, -3);
}

/** In whole micro-USD, towards zero. */
export function microsOf(amount: bigint): bigint {
  return amount / hourMs;
}

export function storedTally(tally: Tally): StoredTally {
  const { month, since, at, spent, estimated, unattributed, burnMicros, balanceMicros, days } = tally;
  return {
    month,
    since,
    at,
    spent: String(spent),
    estimated: String(estimated),
    unattributed: String(unattributed),
    burnMicros: String(burnMicros),
    ...(balanceMicros === undefined ? {} : { balanceMicros: String(balanceMicros) }),
    days: Object.fromEntries([...days].map(([date, amount]) => [date, String(amount)])),
  };
}

export function readTally(stored: StoredTally): Tally {
  const { balanceMicros: balance, days } = stored;
  return {
    month: stored.month,
    since: stored.since,
    at: stored.at,
    spent: BigInt(stored.spent),
    estimated: BigInt(stored.estimated),
    unattributed: BigInt(stored.unattributed),
    burnMicros: BigInt(stored.burnMicros),
    balanceMicros: balance === undefined ? undefined : BigInt(balance),
    days: new Map(
      Object.entries(days)
        .toSorted(([left], [right]) => (left < right ? -1 : 1))
        .map(([date, amount]) => [date, BigInt(amount)]),
    ),
  };
}
