/**
 * What a budget has spent in a month: burn over time, from one read to the next. Pure.
 *
 * | between two reads                         | counts as                                                    |
 * |-------------------------------------------|--------------------------------------------------------------|
 * | up to ten minutes                         | spent, at the burn of the first of them                      |
 * | longer: a process was down, a clock jumped | the same, and also as estimated                              |
 * | time went back                            | nothing                                                      |
 * | it went back by more than a day           | nothing, and what was counted of a time that lies ahead now is taken back |
 * | a month ends                              | what is before counts in that month; the next begins at zero |
 *
 * What is taken back, when a clock was ahead by more than a day and is set back:
 *
 * | the clock is now                          | what counts                                                  |
 * |-------------------------------------------|--------------------------------------------------------------|
 * | within the last jump of more than a day   | what counted before the jump, and the time since then as estimated, at the burn before it |
 * | elsewhere in the same month               | the days until today; of today, less its rest at the burn of the last read |
 * | in an earlier month                       | the same days of that month; `since` is now                  |
 *
 * A process that was down for days looks like a jump. While the clock is not set back into that time, all of it counts.
 *
 * Amounts are micro-USD times milliseconds, so nothing is lost to rounding. None is larger than what can be stored and read again (`storable`).
 *
 * Stored each minute, at once when the burn changes, and at the end of a process. So a kill -9 forgets at most 60 s and the time between two
 * reads (90 s with `pollSeconds: 30`). The next process counts these anew, at the stored burn: nothing is missing unless the burn had changed
 * in the very last read.
 */
import { dayAt } from '../../base/index.ts';
import { storable, type StoredTally } from '../../resources/index.ts';

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
  /** The last time of more than a day between two reads. */
  readonly jump: Jump | undefined;
}

/** What was counted before it. */
export interface Jump extends Omit<Tally, 'days' | 'jump'> {
  /** Of its first day, as far as that was counted. */
  readonly today: bigint;
  /** Unix milliseconds of the read after it. */
  readonly until: number;
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

export function firstTally(read: TallyRead, timeZone: string): Tally {
  const { date } = dayAt(read.at, timeZone);
  const none = {
    spent: 0n,
    estimated: 0n,
    unattributed: 0n,
    days: new Map<string, bigint>(),
    jump: undefined,
  };
  return { month: monthOf(date), since: read.at, ...storableRead(read), ...none };
}

function storableRead({ at, burnMicros, balanceMicros }: TallyRead): TallyRead {
  const balance = balanceMicros === undefined ? undefined : storable(balanceMicros);
  return { at, burnMicros: storable(burnMicros), balanceMicros: balance };
}

/** With the time until the read. */
export function tallied(before: Tally, found: TallyRead, rules: TallyRules): Tally {
  const { timeZone, gapMs, mostDays } = rules;
  const read = storableRead(found);
  const passedMs = read.at - before.at;
  if (passedMs <= 0) return setBack(before, read, rules);
  const isGap = passedMs > gapMs;
  let tally = before;
  let from = before.at;
  const days = new Map(before.days);
  while (from < read.at) {
    const { date, until } = dayAt(from, timeZone);
    const to = Math.min(until, read.at);
    const amount = before.burnMicros * BigInt(to - from);
    days.set(date, storable((days.get(date) ?? 0n) + amount));
    // With a clock that was set back, the month before may come again. It stays in this one.
    if (monthOf(date) > tally.month) tally = nextMonth(tally, monthOf(date), from);
    const estimated = storable(tally.estimated + (isGap ? amount : 0n));
    tally = { ...tally, spent: storable(tally.spent + amount), estimated };
    from = to;
  }
  const { date } = dayAt(read.at, timeZone);
  if (monthOf(date) > tally.month) tally = nextMonth(tally, monthOf(date), read.at);
  for (const day of [...days.keys()].slice(0, Math.max(0, days.size - mostDays))) days.delete(day);
  const unattributed = storable(tally.unattributed + notShown(before, read, BigInt(passedMs)));
  const jump = passedMs > dayMs ? jumpFrom(before, read.at, timeZone) : before.jump;
  return { ...tally, ...read, days, unattributed, jump };
}

function jumpFrom(before: Tally, until: number, timeZone: string): Jump {
  const { days, month, since, spent, estimated, unattributed, at, burnMicros, balanceMicros } = before;
  const counted = { month, since, spent, estimated, unattributed, at, burnMicros, balanceMicros };
  return { ...counted, until, today: days.get(dayAt(at, timeZone).date) ?? 0n };
}

/** After more than a day, nothing remains of a time that is ahead now: the table above. */
function setBack(before: Tally, read: TallyRead, rules: TallyRules): Tally {
  const { jump } = before;
  if (before.at - read.at <= dayMs) return { ...before, ...read };
  const isWithin = jump && read.at < jump.until && read.at >= jump.at - dayMs;
  return isWithin ? backInJump(before, jump, read, rules) : untilNow(before, read, rules.timeZone);
}

function backInJump({ days: all }: Tally, jump: Jump, read: TallyRead, rules: TallyRules): Tally {
  const { today, until: _, ...counted } = jump;
  const { date } = dayAt(jump.at, rules.timeZone);
  const days = new Map([...all].filter(([each]) => each < date));
  if (today > 0n) days.set(date, today);
  // What nobody observed at this time is a gap, however short it is.
  return tallied({ ...counted, days, jump: undefined }, read, { ...rules, gapMs: 0 });
}

function untilNow(before: Tally, read: TallyRead, timeZone: string): Tally {
  const { date, until } = dayAt(read.at, timeZone);
  const month = monthOf(date);
  const days = new Map([...before.days].filter(([each]) => each <= date));
  const today = days.get(date);
  if (today !== undefined) {
    const rest = before.burnMicros * BigInt(until - read.at);
    days.set(date, today > rest ? storable(today - rest) : 0n);
  }
  const spent = [...days].reduce((sum, [each, amount]) => (monthOf(each) === month ? sum + amount : sum), 0n);
  const kept = { ...before, ...read, month, spent: storable(spent), days, jump: undefined };
  if (month < before.month) return { ...kept, since: read.at, estimated: 0n, unattributed: 0n };
  const taken = before.spent > spent ? before.spent - spent : 0n;
  const estimated = before.estimated > taken ? storable(before.estimated - taken) : 0n;
  const unattributed = before.balanceMicros === undefined ? 0n : storable(before.unattributed + taken);
  return { ...kept, since: Math.min(before.since, read.at), estimated, unattributed };
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

export function amountOf(micros: bigint): bigint {
  return micros * hourMs;
}

/**
 * The part of `spent` that somebody observed: without what is estimated. Of that, what the balance of an account has lost as well is
 * observed. In whole micro-USD.
 */
export function observedMicros({ spent, estimated, unattributed, balanceMicros }: Tally): bigint {
  if (balanceMicros === undefined) return microsOf(spent - estimated);
  const unseen = unattributed < 0n ? -unattributed : 0n;
  return microsOf(spent - (unseen < estimated ? unseen : estimated));
}

export function storedTally({ days, jump, ...counted }: Tally): StoredTally {
  return {
    ...storedCount(counted),
    days: Object.fromEntries([...days].map(([date, amount]) => [date, String(amount)])),
    ...(jump ? { jump: { ...storedCount(jump), today: String(jump.today), until: jump.until } } : {}),
  };
}

type Counted = Omit<Tally, 'days' | 'jump'>;

function storedCount(counted: Counted): Omit<StoredTally, 'days' | 'jump'> {
  const { month, since, at, spent, estimated, unattributed, burnMicros, balanceMicros } = counted;
  return {
    month,
    since,
    at,
    spent: String(spent),
    estimated: String(estimated),
    unattributed: String(unattributed),
    burnMicros: String(burnMicros),
    ...(balanceMicros === undefined ? {} : { balanceMicros: String(balanceMicros) }),
  };
}

export function readTally({ days, jump, ...counted }: StoredTally): Tally {
  return {
    ...readCount(counted),
    days: new Map(
      Object.entries(days)
        .toSorted(([left], [right]) => (left < right ? -1 : 1))
        .map(([date, amount]) => [date, BigInt(amount)]),
    ),
    jump: jump && { ...readCount(jump), today: BigInt(jump.today), until: jump.until },
  };
}

function readCount(stored: Omit<StoredTally, 'days' | 'jump'>): Counted {
  const { month, since, at, balanceMicros: balance } = stored;
  return {
    month,
    since,
    at,
    spent: BigInt(stored.spent),
    estimated: BigInt(stored.estimated),
    unattributed: BigInt(stored.unattributed),
    burnMicros: BigInt(stored.burnMicros),
    balanceMicros: balance === undefined ? undefined : BigInt(balance),
  };
}
