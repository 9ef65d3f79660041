/**
 * What a Notification announces, and when. Pure: each pass makes the next state of what is stored, of the problems of
 * now, and of what became of messages.
 *
 *     (none) ── has lasted for `afterSeconds`, and 30 s for others ──> Open ── `repeatHours` ──> Repeated ── `repeatHours` ──> Repeated …
 *        ^── ends before that: nothing is sent                          │                          │
 *        └────────────── absent for 30 s: one `ended`, if the sink has accepted the beginning ─────┘
 *
 * | rule                        | how                                                                                              |
 * |-----------------------------|--------------------------------------------------------------------------------------------------|
 * | AI1, restarts and takeovers | an announcement is saved before its message is sent; what is open is not announced again          |
 * | AI2                         | one message of an announcement at a time: the next one is made when the sink has accepted that, or it was given up. `ended` needs an accepted beginning |
 * | same message, same key      | the key is made of the id and the number of the message: a restart, and a second leader, send the same |
 * | grouping                    | problems of one account with one reason that are due within 30 s are one announcement, and so are their ends |
 * | flapping                    | who is absent for less than 30 s was not away                                                     |
 * | `maxPerHour`                | what would exceed it is counted, and sent as a digest each 10 minutes; a beginning in a digest has its end in a digest |
 * | more than 500               | the rest is counted, for digests only                                                             |
 * | a clock that was set back   | waits begin anew; nothing is repeated for it                                                      |
 */
import { digestOf } from '../../base/index.ts';
import type {
  AnnouncedType,
  NotificationTerms,
  StoredAnnouncement,
  StoredOccurrence,
  StoredNotification,
} from '../../resources/index.ts';
import { afterMs, type Trouble } from './trouble.ts';

/** What became of a message. */
export type DeliveryEvent =
  | { readonly kind: 'delivered'; readonly key: string; readonly at: number }
  /** An attempt; others follow. `why`: a constant, never a text of the sink. */
  | { readonly kind: 'failed'; readonly why: string; readonly at: number }
  /** It is given up. */
  | { readonly kind: 'dropped'; readonly key: string; readonly at: number };

export type AnnouncementEvent =
  | DeliveryEvent
  /** Something happened that is to be announced, besides problems. */
  | ({ readonly kind: 'happened' } & StoredOccurrence);

export interface AnnouncementInputs {
  readonly uid: string;
  readonly terms: NotificationTerms;
  /** All that it may announce, by hash. */
  readonly troubles: ReadonlyMap<string, Trouble>;
  readonly events: readonly AnnouncementEvent[];
  readonly nowMs: number;
}

export interface Announced {
  readonly state: StoredNotification;
  /** How many problems are open. */
  readonly open: number;
  /** In how many milliseconds time alone changes something. */
  readonly againAfterMs: number;
}

/** A message to be sent, by its key. */
export interface DueMessage {
  /** The Idempotency-Key. */
  readonly key: string;
  readonly id: string;
  readonly type: AnnouncedType | 'happened' | 'digest';
  readonly at: number;
}

export const groupMs = 30_000;
export const absentMs = 30_000;
const digestMs = 600_000;
const hourMs = 3_600_000;
export const openAtMost = 500;
/** Occurrences whose message is not delivered yet; further ones are counted in the digest. */
const happenedAtMost = 50;
const soonestMs = 1000;
const latestMs = hourMs;

export function nextAnnouncements(before: StoredNotification, inputs: AnnouncementInputs): Announced {
  const round = new Round(before, inputs);
  for (const event of inputs.events) round.take(event);
  const kept = (before.announcements ?? [])
    .map((each) => round.settled(each))
    .map((each) => round.ended(round.seen(each)))
    .filter(isOpen)
    .map((each) => round.reminded(each));
  const begun = round.begin(kept);
  return round.finish([...kept, ...begun]);
}

function isOpen({ open, message }: StoredAnnouncement): boolean {
  return open.length > 0 || message !== undefined;
}

/** Those whose outcome is not known. */
export function dueMessages(state: StoredNotification): DueMessage[] {
  const { announcements = [], happened = [], digestMessage } = state;
  const messages: DueMessage[] = announcements.flatMap((each) =>
    each.message
      ? [{ key: keyOf(each), id: each.id, type: each.message.type, at: each.message.at } as const]
      : [],
  );
  messages.push(...happened.map(({ id, at }) => ({ key: id, id, type: 'happened' as const, at })));
  if (!digestMessage) return messages;
  const id = digestId(digestMessage.since);
  return [...messages, { key: id, id, type: 'digest', at: digestMessage.at }];
}

function keyOf({ id, made }: Pick<StoredAnnouncement, 'id' | 'made'>): string {
  return `${id}-${made}`;
}

function digestId(since: number): string {
  return `digest-${since}`;
}

/** One evaluation. */
class Round {
  readonly #inputs: AnnouncementInputs;
  readonly #outcomes = new Map<string, 'delivered' | 'dropped'>();
  #rest: Omit<StoredNotification, 'announcements'>;
  #nextMs = latestMs;

  constructor({ announcements: _announcements, ...rest }: StoredNotification, inputs: AnnouncementInputs) {
    this.#inputs = inputs;
    const { hour } = rest;
    const isOver = hour && this.#since(hour.at) >= hourMs;
    const now = hour && { ...hour, at: Math.min(hour.at, inputs.nowMs) };
    this.#rest = { ...rest, hour: isOver ? undefined : now };
  }

  take(event: AnnouncementEvent): void {
    const { failures = 0, failingSince, dropped = 0 } = this.#rest;
    if (event.kind === 'delivered' || event.kind === 'dropped') this.#forget(event.key);
    switch (event.kind) {
      case 'delivered':
        this.#outcomes.set(event.key, 'delivered');
        this.#change({
          lastDeliveredAt: event.at,
          failures: undefined,
          failingSince: undefined,
          failure: undefined,
        });
        return;
      case 'failed':
        this.#change({
          failures: failures + 1,
          failingSince: failingSince ?? event.at,
          failure: event.why,
        });
        return;
      case 'dropped':
        this.#outcomes.set(event.key, 'dropped');
        this.#change({ dropped: dropped + 1 });
        return;
      case 'happened':
        this.#happened(event);
    }
  }

  #happened({ id, at, reason, account, hash }: StoredOccurrence): void {
    const { happened = [] } = this.#rest;
    if (happened.some((each) => each.id === id)) return;
    if (!this.#mayMake() || happened.length >= happenedAtMost) return this.#count('happened', 1);
    this.#makeOne();
    this.#change({ happened: [...happened, { id, at, reason, account, hash }] });
  }

  #forget(key: string): void {
    const left = this.#rest.happened?.filter(({ id }) => id !== key) ?? [];
    this.#change({ happened: left.length === 0 ? undefined : left });
  }

  /** The outcome of its message is known. */
  settled(each: StoredAnnouncement): StoredAnnouncement {
    const outcome = each.message && this.#outcomes.get(keyOf(each));
    if (outcome === undefined) return each;
    return { ...each, begun: each.begun || outcome === 'delivered', message: undefined };
  }

  /** Notes which of its problems are absent, and since when. */
  seen(each: StoredAnnouncement): StoredAnnouncement {
    const { troubles, nowMs } = this.#inputs;
    const gone = each.open.filter((hash) => !troubles.has(hash));
    const absent = Object.fromEntries(
      gone.map((hash) => [hash, Math.min(each.absent[hash] ?? nowMs, nowMs)]),
    );
    return { ...each, at: Math.min(each.at, nowMs), absent };
  }

  /** Ends what has been absent for long enough. */
  ended(each: StoredAnnouncement): StoredAnnouncement {
    const { open, absent, message, begun } = each;
    const times = Object.values(absent);
    if (message || times.length === 0) return each;
    const over = open.filter((hash) => absent[hash] !== undefined && this.#since(absent[hash]) >= absentMs);
    const longest = this.#since(Math.min(...times));
    const isWhole = over.length === open.length;
    if (over.length === 0 || (!isWhole && longest < absentMs + groupMs)) {
      const last = this.#since(Math.max(...times));
      const whole = times.length === open.length ? absentMs - last : Infinity;
      this.#again(Math.min(whole, absentMs + groupMs - longest));
      return each;
    }
    const gone = new Set(over);
    const left = {
      ...each,
      open: open.filter((hash) => !gone.has(hash)),
      absent: Object.fromEntries(Object.entries(absent).filter(([hash]) => !gone.has(hash))),
    };
    // Nobody was sent its beginning. If that was counted in a digest, so is its end.
    if (!begun) return this.#uncounted(left, over.length);
    if (!this.#mayMake()) {
      this.#count('ended', over.length);
      return left;
    }
    return this.#make(left, { type: 'ended', count: over.length, hashes: over });
  }

  #uncounted(left: StoredAnnouncement, count: number): StoredAnnouncement {
    if (left.made === 0) this.#count('ended', count);
    return left;
  }

  reminded(each: StoredAnnouncement): StoredAnnouncement {
    const { terms, nowMs } = this.#inputs;
    const repeatMs = terms.repeatHours * hourMs;
    const count = each.open.length - Object.keys(each.absent).length;
    if (each.message || repeatMs === 0 || count === 0) return each;
    const leftMs = repeatMs - this.#since(each.at);
    if (leftMs > 0) {
      this.#again(leftMs);
      return each;
    }
    const again = { ...each, at: nowMs };
    if (this.#mayMake()) return this.#make(again, { type: 'reminder', count });
    this.#count('reminders', count);
    return again;
  }

  /** New announcements, the worst first. */
  begin(kept: readonly StoredAnnouncement[]): StoredAnnouncement[] {
    const known = new Set(kept.flatMap(({ open }) => open));
    const groups = this.#dueGroups(known);
    let room = openAtMost - known.size;
    let beyond = 0;
    const made: StoredAnnouncement[] = [];
    for (const group of groups) {
      const members = group.slice(0, Math.max(0, room));
      room -= members.length;
      beyond += group.length - members.length;
      const [first] = members;
      if (first) made.push(this.#announce(first, members));
    }
    this.#beyond(beyond);
    return made;
  }

  /** Groups whose 30 s are over. */
  #dueGroups(known: ReadonlySet<string>): Trouble[][] {
    const groups = new Map<string, { members: Trouble[]; firstMs: number }>();
    for (const trouble of this.#inputs.troubles.values()) {
      if (known.has(trouble.hash)) continue;
      const dueInMs = this.#dueInMs(trouble);
      if (dueInMs > 0) {
        this.#again(dueInMs + groupMs);
        continue;
      }
      const id = `${trouble.reason} ${trouble.account ?? ''}`;
      const group = groups.get(id) ?? { members: [], firstMs: 0 };
      group.members.push(trouble);
      group.firstMs = Math.min(group.firstMs, dueInMs);
      groups.set(id, group);
    }
    const ready: Trouble[][] = [];
    for (const { members, firstMs } of groups.values()) {
      if (-firstMs >= groupMs) ready.push(members.sort(longestFirst));
      else this.#again(groupMs + firstMs);
    }
    return ready.sort(worstFirst);
  }

  /** 0 or less: it is due since then. */
  #dueInMs({ severity, sinceMs }: Trouble): number {
    const { terms, nowMs } = this.#inputs;
    const after = terms.afterSeconds === undefined ? afterMs[severity] : terms.afterSeconds * 1000;
    return sinceMs + after - nowMs;
  }

  #announce(first: Trouble, members: readonly Trouble[]): StoredAnnouncement {
    const { uid, nowMs } = this.#inputs;
    const { reason, severity, account, sinceMs, hash } = first;
    const announcement: StoredAnnouncement = {
      // Of what is durable elsewhere, too: a second leader makes the same.
      id: digestOf([uid, reason, account, sinceMs, hash]).slice(0, 32),
      reason,
      severity,
      ...(account === undefined ? {} : { account }),
      since: sinceMs,
      at: nowMs,
      made: 0,
      begun: false,
      open: members.map((each) => each.hash),
      absent: {},
    };
    if (this.#mayMake()) return this.#make(announcement, { type: 'opened', count: members.length });
    this.#count('opened', members.length);
    return announcement;
  }

  finish(announcements: readonly StoredAnnouncement[]): Announced {
    this.#makeDigest();
    const { beyond = 0 } = this.#rest;
    const state = { ...this.#rest, announcements };
    const open = announcements.reduce((sum, each) => sum + each.open.length, 0) + beyond;
    const againAfterMs = Math.min(latestMs, Math.max(soonestMs, this.#nextMs));
    return { state, open, againAfterMs };
  }

  #makeDigest(): void {
    const { nowMs } = this.#inputs;
    const { digestMessage, digest } = this.#rest;
    if (digestMessage && this.#outcomes.has(digestId(digestMessage.since)))
      this.#change({ digestMessage: undefined });
    if (!digest) return;
    const leftMs = digestMs - this.#since(digest.since);
    if (leftMs > 0 || this.#rest.digestMessage) return this.#again(Math.max(0, leftMs));
    this.#change({ digest: undefined, digestMessage: { ...digest, at: nowMs } });
  }

  #make(
    each: StoredAnnouncement,
    message: Omit<NonNullable<StoredAnnouncement['message']>, 'at'>,
  ): StoredAnnouncement {
    this.#makeOne();
    return { ...each, made: each.made + 1, message: { ...message, at: this.#inputs.nowMs } };
  }

  #makeOne(): void {
    const { hour = { at: this.#inputs.nowMs, made: 0 } } = this.#rest;
    this.#change({ hour: { ...hour, made: hour.made + 1 } });
  }

  #mayMake(): boolean {
    return (this.#rest.hour?.made ?? 0) < this.#inputs.terms.maxPerHour;
  }

  #beyond(beyond: number): void {
    if (beyond === (this.#rest.beyond ?? 0)) return;
    this.#count('opened', 0);
    const { digest } = this.#rest;
    this.#change({ beyond, digest: digest && { ...digest, beyond } });
  }

  #count(what: 'opened' | 'ended' | 'reminders' | 'happened', count: number): void {
    const { nowMs } = this.#inputs;
    const { beyond = 0 } = this.#rest;
    const empty = { since: nowMs, opened: 0, ended: 0, reminders: 0, happened: 0, beyond };
    const { digest = empty } = this.#rest;
    this.#change({ digest: { ...digest, [what]: digest[what] + count } });
  }

  #change(change: Partial<StoredNotification>): void {
    this.#rest = { ...this.#rest, ...change };
  }

  /** A clock that was set back: no time has passed. */
  #since(atMs: number): number {
    return Math.max(0, this.#inputs.nowMs - atMs);
  }

  #again(inMs: number): void {
    this.#nextMs = Math.min(this.#nextMs, inMs);
  }
}

function longestFirst(left: Trouble, right: Trouble): number {
  return left.sinceMs - right.sinceMs || (left.hash < right.hash ? -1 : 1);
}

function worstFirst(left: readonly Trouble[], right: readonly Trouble[]): number {
  return rankOf(left) - rankOf(right) || (left[0]?.sinceMs ?? 0) - (right[0]?.sinceMs ?? 0);
}

const ranks = { critical: 0, warning: 1, info: 2 } as const;

function rankOf([first]: readonly Trouble[]): number {
  return ranks[first?.severity ?? 'info'];
}
