/**
 * What an account has learned of the provider's capacity for a demand, and who may ask next. Pure.
 *
 *     Unknown ── accepted, or seen running ──> Granted ── refused ──> Scarce ── its pause is over ──> one probe
 *        └── refused ──> Scarce                  ▲                      ▲                                 │
 *                                                └────── accepted ──────┼─────────────────────────────────┤
 *                                                                       ├── refused: a longer pause ──────┤
 *                                                                       └── not sent: the next may ask ───┘
 *
 * A demand is a size at a place, which is a region and a geography as it is asked for. `auto` is a place of its own: a
 * provider may choose a geography by itself, so its refusal there shows nothing about a geography by name.
 *
 * | state   | how many requests may be under way                                                                  |
 * |---------|-----------------------------------------------------------------------------------------------------|
 * | Unknown | any number                                                                                          |
 * | Scarce  | none until `retryAt`; then one, the probe, also for all larger demands at the place                  |
 * | Granted | after a probe 1, and one more with each grant: 1, 2, 4, … in rounds; any number if never refused     |
 *
 * - Pause: 10 s × 2^(failures − 1) ± 20 %, at most 30 min; longer only if the provider asks for it (`Retry-After`).
 *   Requests that were under way together are one failure.
 * - A demand without an entry of its own is scarce if a smaller one at the place is. One that was granted since is not. One
 *   that was granted before is asked for without a pause, but by one at a time.
 * - A grant makes smaller scarce demands at the place due. It does not make them granted: some providers refuse sizes.
 * - Storage alone and compute are not compared.
 * - Whoever waits longest asks first, and is last in line after a refusal. So an object whose own request is always refused
 *   keeps others waiting for one pause. If the first in line does not ask within 5 s (it was deleted, paused, edited, or
 *   its pass is late), anybody may.
 * - A probe whose outcome is unknown is under way until it is settled, at most 30 min: an operator may have to settle it.
 * - If the wall clock was set back since a refusal, its age is unknown. Then its pause is over.
 * - Only refusals for capacity are evidence. A refusal for funds, a limit or anything else changes nothing here, and neither
 *   does a service that is seen running while its demand is scarce: it may run since before.
 * - A restart forgets the line and how many requests a grant allows. Pauses and open requests are stored.
 */
import type { Random } from '../../base/index.ts';
import { parseObjectKey, type ObjectKey } from '../../resources/index.ts';
import type { CapacityDemand, CapacityEntry, CapacityRefusal } from '../../state/index.ts';

export type { CapacityDemand } from '../../state/index.ts';

const firstPauseMs = 10_000;
export const longestPauseMs = 1_800_000;
const jitter = 0.2;
/** How long the first in line has to ask before anybody may. */
export const turnMs = 5000;
/** How long an unknown outcome keeps others waiting. */
const longestProbeMs = 1_800_000;

/** A request that is under way. */
export interface Asking {
  readonly key: ObjectKey;
  readonly demand: CapacityDemand;
  /** It was asked for while the demand was scarce. */
  readonly isProbe: boolean;
  /** Unix milliseconds. */
  readonly at: number;
  readonly monotonicMs: number;
}

/** An object that waits for capacity. Who has asked least recently comes first, then who waits longest. */
export interface Waiting {
  readonly key: ObjectKey;
  readonly demand: CapacityDemand;
  /** Numbers that grow. 0: it has not asked. */
  readonly asked: number;
  readonly since: number;
}

export interface Capacity {
  /** By `demandKey`. */
  readonly entries: ReadonlyMap<string, CapacityEntry>;
  /** By `demandKey`: how many requests may be under way after a grant. */
  readonly windows: ReadonlyMap<string, number>;
  readonly asking: readonly Asking[];
  readonly line: readonly Waiting[];
}

export interface Times {
  readonly wallMs: number;
  readonly monotonicMs: number;
}

export type Turn =
  /** `failures`: refusals in a row before. */
  | { readonly kind: 'ask'; readonly isProbe: boolean; readonly failures: number }
  | {
      readonly kind: 'wait';
      /** What it waits for: of the demand itself, or of a smaller one. */
      readonly entry: CapacityEntry;
      /** Who asks now, or next. */
      readonly by: ObjectKey;
      readonly isAsking: boolean;
      readonly leftMs: number;
    };

export function demandKey(demand: CapacityDemand): string {
  const { region, geography, gpuCount, cpu, memoryGb, storageGb } = demand;
  return JSON.stringify([region, geography, gpuCount, cpu, memoryGb, storageGb]);
}

function isEqual(one: CapacityDemand, other: CapacityDemand): boolean {
  return covers(one, other) && covers(other, one);
}

/** Whether `large` is at the place of `small`, and at least as large in every part. */
export function covers(large: CapacityDemand, small: CapacityDemand): boolean {
  return (
    large.region === small.region &&
    large.geography === small.geography &&
    isStorage(large) === isStorage(small) &&
    large.gpuCount >= small.gpuCount &&
    large.cpu >= small.cpu &&
    large.memoryGb >= small.memoryGb &&
    large.storageGb >= small.storageGb
  );
}

function isStorage({ gpuCount, cpu, memoryGb }: CapacityDemand): boolean {
  return gpuCount === 0 && cpu === 0 && memoryGb === 0;
}

/** Whether the object may send its request now. `hasAsked`: it was allowed to, and its request has not been sent yet. */
export function turnOf(
  capacity: Capacity,
  { key, demand }: Pick<Waiting, 'key' | 'demand'>,
  now: Times,
  hasAsked = false,
): Turn {
  const own = capacity.entries.get(demandKey(demand));
  const others = () => capacity.asking.filter((each) => each.key !== key && isUnderWay(each, now));
  if (own?.state === 'Granted') return turnIfGranted(capacity, demand, own, others, now);
  const scarce = scarceFor(capacity, demand);
  const [entry] = scarce;
  if (!entry) return { kind: 'ask', isProbe: false, failures: 0 };
  const first = capacity.line
    .filter((each) => scarce.some((one) => covers(each.demand, one.demand)))
    .reduce<Waiting | undefined>(earlier, undefined);
  const next = first?.key ?? key;
  const pauseMs = Math.max(...scarce.map((one) => pauseLeftMs(one, now.wallMs)));
  const isFirst = next === key || hasAsked;
  if (pauseMs > 0) {
    return { kind: 'wait', entry, by: next, isAsking: false, leftMs: pauseMs + (isFirst ? 0 : turnMs) };
  }
  const probe = others().find((each) => scarce.some((one) => covers(each.demand, one.demand)));
  if (probe) {
    const leftMs = probe.monotonicMs + longestProbeMs - now.monotonicMs;
    return { kind: 'wait', entry, by: probe.key, isAsking: true, leftMs };
  }
  if (!isFirst && -pauseMs < turnMs) {
    return { kind: 'wait', entry, by: next, isAsking: false, leftMs: pauseMs + turnMs };
  }
  return { kind: 'ask', isProbe: true, failures: own?.failures ?? 0 };
}

function turnIfGranted(
  { entries, windows }: Capacity,
  demand: CapacityDemand,
  own: CapacityEntry,
  others: () => readonly Asking[],
  { wallMs }: Times,
): Turn {
  // If the clock was set back, nobody knows which came first.
  const since = [...entries.values()].filter(
    (one) => (one.at > own.at || own.at > wallMs) && isSmallerAndScarce(one, demand),
  );
  const most = since.length > 0 ? 1 : (windows.get(demandKey(demand)) ?? Number.POSITIVE_INFINITY);
  if (most === Number.POSITIVE_INFINITY) return { kind: 'ask', isProbe: false, failures: 0 };
  const rivals = others().filter(
    (each) => isEqual(each.demand, demand) || since.some((one) => covers(each.demand, one.demand)),
  );
  const [rival] = rivals;
  if (!rival || rivals.length < most) return { kind: 'ask', isProbe: false, failures: 0 };
  return { kind: 'wait', entry: own, by: rival.key, isAsking: true, leftMs: turnMs };
}

/** What makes a demand scarce that was not granted itself: the longest pause first. */
function scarceFor({ entries }: Pick<Capacity, 'entries'>, demand: CapacityDemand): CapacityEntry[] {
  return [...entries.values()]
    .filter((one) => isSmallerAndScarce(one, demand))
    .toSorted((left, right) => (right.retryAt ?? 0) - (left.retryAt ?? 0));
}

function isSmallerAndScarce(entry: CapacityEntry, demand: CapacityDemand): boolean {
  return entry.state === 'Scarce' && covers(demand, entry.demand);
}

function isUnderWay({ monotonicMs }: Asking, now: Times): boolean {
  return now.monotonicMs - monotonicMs < longestProbeMs;
}

/** Not above 0: for how long it is over. */
function pauseLeftMs({ at, retryAt = at }: CapacityEntry, wallMs: number): number {
  return wallMs < at ? Number.NEGATIVE_INFINITY : retryAt - wallMs;
}

function earlier(first: Waiting | undefined, other: Waiting): Waiting {
  if (!first) return other;
  const isEarlier = other.asked === first.asked ? other.since < first.since : other.asked < first.asked;
  return isEarlier ? other : first;
}

/** Those in line that may ask at once, in their order, at most `most`. */
export function nextInLine(capacity: Capacity, now: Times, most: number): ObjectKey[] {
  const found: ObjectKey[] = [];
  const asking = [...capacity.asking];
  let line = capacity.line;
  while (found.length < most) {
    const first = firstsOf(line).find(
      (each) => turnOf({ ...capacity, asking, line }, each, now).kind === 'ask',
    );
    if (!first) return found;
    found.push(first.key);
    asking.push({ ...first, isProbe: false, at: now.wallMs, monotonicMs: now.monotonicMs });
    line = line.filter((each) => each !== first);
  }
  return found;
}

/** The first in line of each demand: who asks next for it. */
export function firstsOf(line: readonly Waiting[]): Waiting[] {
  const firsts = new Map<string, Waiting>();
  for (const each of line) {
    const key = demandKey(each.demand);
    firsts.set(key, earlier(firsts.get(key), each));
  }
  return [...firsts.values()].toSorted((left, right) => left.asked - right.asked || left.since - right.since);
}

/** After so many refusals in a row. */
export function capacityPauseMs(failures: number, random: Pick<Random, 'fraction'>): number {
  const plainMs = Math.min(firstPauseMs * 2 ** Math.min(failures - 1, 30), longestPauseMs);
  return Math.min(Math.round(plainMs * (1 - jitter + 2 * jitter * random.fraction())), longestPauseMs);
}

/** `failures`: in a row, with this one. */
export function afterRefusal(
  before: CapacityEntry | undefined,
  demand: CapacityDemand,
  refusal: CapacityRefusal,
  { failures, pauseMs, at }: { readonly failures: number; readonly pauseMs: number; readonly at: number },
): CapacityEntry {
  const isAgain = before?.state === 'Scarce';
  // One of several that were under way together: it is no further failure.
  const isSameRound = isAgain && before.failures >= failures && at >= before.at;
  const retryAt = at + pauseMs;
  return {
    demand,
    state: 'Scarce',
    since: isAgain && before.since <= at ? before.since : at,
    at,
    grantedAt: before?.grantedAt,
    failures: isSameRound ? before.failures : failures,
    retryAt: isSameRound ? Math.max(before.retryAt ?? retryAt, retryAt) : retryAt,
    refusal,
  };
}

/**
 * The entries that change, and the new window of the demand. `sentAt`: what was refused after that is still refused. Times
 * are Unix milliseconds.
 */
export function afterGrant(
  { entries, windows }: Pick<Capacity, 'entries' | 'windows'>,
  demand: CapacityDemand,
  { sentAt, at }: { readonly sentAt: number; readonly at: number },
): { readonly changed: readonly CapacityEntry[]; readonly window: number | undefined } {
  const key = demandKey(demand);
  const own = entries.get(key);
  const wasScarce = scarceFor({ entries }, demand).length > 0;
  if (own?.state === 'Scarce' && own.at > sentAt) return { changed: [], window: undefined };
  const due = [...entries.values()].filter(
    (one) => one !== own && isSmallerAndScarce(one, demand) && one.at <= sentAt && (one.retryAt ?? at) > at,
  );
  const isSame = own?.state === 'Granted';
  const granted: CapacityEntry = {
    demand,
    state: 'Granted',
    since: isSame ? own.since : at,
    at,
    grantedAt: at,
    failures: 0,
    retryAt: undefined,
    refusal: undefined,
  };
  const known = windows.get(key);
  const window = isSame ? known && known + 1 : wasScarce ? 1 : undefined;
  return { changed: [granted, ...due.map((one) => dueAt(one, at))], window };
}

function dueAt(entry: CapacityEntry, at: number): CapacityEntry {
  return { ...entry, retryAt: at };
}

/** Something with this demand was seen running. Undefined if that shows nothing. */
export function afterSighting(
  capacity: Capacity,
  demand: CapacityDemand,
  at: number,
): CapacityEntry | undefined {
  const isKnown = capacity.entries.has(demandKey(demand)) || scarceFor(capacity, demand).length > 0;
  return isKnown
    ? undefined
    : afterGrant({ entries: new Map(), windows: new Map() }, demand, { sentAt: at, at }).changed[0];
}

/** For people. Objects and messages of other namespaces are not shown where an account serves several. */
export function turnText(
  { entry, by, isAsking }: Extract<Turn, { kind: 'wait' }>,
  { key, demand }: Pick<Waiting, 'key' | 'demand'>,
  isShared: boolean,
  timeText: (wallMs: number) => string,
): string {
  const isOwn = demandKey(entry.demand) === demandKey(demand);
  const needs = isOwn ? '' : `, and this needs at least as much (${capacityText(demand)})`;
  const isNear = !isShared || parseObjectKey(by).namespace === parseObjectKey(key).namespace;
  const who = isNear ? by : 'another object';
  const asks = isAsking
    ? `${who} is asking for all`
    : `${who} asks next for all, at ${timeText(Math.max(entry.retryAt ?? 0, entry.at))}`;
  const what = `${capacityText(entry.demand)} was`;
  if (!entry.refusal) return `${what} granted again${needs}, and requests follow each other; ${asks}`;
  const { status, code, message } = entry.refusal;
  const reported = isShared ? '' : `: ${message}`;
  const times = entry.failures === 1 ? '' : ` (${entry.failures} times since ${timeText(entry.since)})`;
  return `${what} refused with ${status} ${code}${reported}${times}${needs}; ${asks}`;
}

export function capacityText(demand: CapacityDemand): string {
  const { region, geography, gpuCount, cpu, memoryGb, storageGb } = demand;
  const compute = isStorage(demand) ? [] : [`${gpuCount} GPU`, `${cpu} CPU`, `${memoryGb} GB of memory`];
  const storage = storageGb > 0 ? [`${storageGb} GB of storage`] : [];
  return `${[...compute, ...storage].join(', ')} in ${region}/${geography}`;
}
