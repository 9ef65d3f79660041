/**
 * Sends the messages of all Notifications, without a pass that waits for it.
 *
 *     queued ── its turn ──> under way ── 2xx ──> delivered
 *        ^                      │── anything else: again after a pause that grows ──┐
 *        └──────────────────────┴── an hour after it was made ──> dropped           │
 *        ^──────────────────────────────────────────────────────────────────────────┘
 *
 * | failure                                 | what follows                                                                           |
 * |-----------------------------------------|----------------------------------------------------------------------------------------|
 * | a sink hangs                            | 10 s for each attempt; others have the three other places                               |
 * | it answers with `Retry-After`           | no attempt before, but one each 5 min at least                                         |
 * | it sends a byte each second             | its status counts; 1 s after it, the connection is ended                               |
 * | it answers 500 for a day, or redirects  | each message is repeated for an hour, and dropped; the status shows what it answers     |
 * | its name leads to a private address     | nothing is sent; that is checked for each attempt (api/sink.ts)                         |
 * | a signing key or an address is rotated  | read for each attempt; a new one is tried at once                                       |
 * | the answer is lost, the process killed  | the message is sent again with the same Idempotency-Key, because it was saved before    |
 * | a Notification is deleted               | what waits for it is dropped                                                            |
 * | more than 1,000 wait                    | the oldest is dropped, reported and counted                                             |
 * | two leaders for a moment                | both send the same key; a process that may not act sends nothing                        |
 *
 * One message of a Notification is under way at a time, so their order is kept.
 */
import { backoffMs, type Clock, type Random, type Timer } from '../../base/index.ts';
import { sinkProblem, type SinkReply, type SinkTerms, type SinkTransport } from '../../api/index.ts';
import type { DeliveryEvent, DueMessage, Sink, SinkProblem } from '../../engine/index.ts';
import type { ObjectKey } from '../../resources/index.ts';
import type { Logger, Metrics } from '../../telemetry/index.ts';
import { signature, slackBody, type Message } from './messages.ts';

export interface DeliveryOptions {
  readonly transport: SinkTransport;
  readonly terms: SinkTerms;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Pick<Logger, 'warn'>;
  readonly metrics: Pick<Metrics, 'notifications' | 'notificationQueue'>;
  /** As Secrets have it now. */
  readonly sinkOf: (key: ObjectKey) => Sink | SinkProblem | undefined;
  readonly mayAct: () => boolean;
  /** Something became of a message. */
  readonly onEvent: (key: ObjectKey) => void;
}

interface Waiting {
  readonly due: DueMessage;
  readonly message: Message;
}

/** Of one Notification. */
interface Lane {
  readonly waiting: Waiting[];
  events: DeliveryEvent[];
  failures: number;
  isSending: boolean;
  /** Nothing is sent before; monotonic milliseconds. */
  notBeforeMs: number;
  addressProblem: string | undefined;
  lastSink: string | undefined;
}

const atOnce = 4;
const queuedAtMost = 1000;
const giveUpMs = 3_600_000;
const pauses = { firstMs: 1000, longestMs: 300_000 };
/** Between two questions whether this process may act. */
const standbyMs = 1000;

export class Deliveries {
  readonly #options: DeliveryOptions;
  readonly #lanes = new Map<ObjectKey, Lane>();
  readonly #stopped = new AbortController();
  readonly #underWay = new Set<Promise<void>>();
  #timer: Timer | undefined;
  #queued = 0;

  constructor(options: DeliveryOptions) {
    this.#options = options;
  }

  /** What became of messages since `taken`. */
  events(key: ObjectKey): readonly DeliveryEvent[] {
    return this.#lanes.get(key)?.events ?? [];
  }

  /** The first `count` events are saved. */
  taken(key: ObjectKey, count: number): void {
    const lane = this.#lanes.get(key);
    if (lane) lane.events = lane.events.slice(count);
  }

  addressProblem(key: ObjectKey): string | undefined {
    const lane = this.#lanes.get(key);
    const sink = this.#options.sinkOf(key);
    const found = sink && !('reason' in sink) ? sinkProblem(urlOf(sink), this.#options.terms) : undefined;
    return found ?? lane?.addressProblem;
  }

  /** Those that it has already are left out. `make`: undefined if nobody knows any more what it was. */
  offer(key: ObjectKey, due: readonly DueMessage[], make: (due: DueMessage) => Message | undefined): void {
    const lane = this.#lane(key);
    this.#noteSink(key, lane);
    const known = new Set([
      ...lane.waiting.map((each) => each.due.key),
      ...lane.events.flatMap((event) => ('key' in event ? [event.key] : [])),
    ]);
    for (const each of due) {
      if (known.has(each.key)) continue;
      const message = make(each);
      if (message) this.#enqueue(lane, { due: each, message });
      else this.#drop(key, lane, each);
    }
    this.#pump();
  }

  /** The Notification is gone. */
  forget(key: ObjectKey): void {
    const lane = this.#lanes.get(key);
    if (!lane) return;
    this.#lanes.delete(key);
    this.#count(-lane.waiting.length);
    lane.waiting.length = 0;
  }

  async stop(): Promise<void> {
    this.#timer?.cancel();
    this.#stopped.abort();
    await Promise.all(this.#underWay);
    await this.#options.transport.close();
  }

  #lane(key: ObjectKey): Lane {
    const known = this.#lanes.get(key);
    if (known) return known;
    const lane: Lane = {
      waiting: [],
      events: [],
      failures: 0,
      isSending: false,
      notBeforeMs: 0,
      addressProblem: undefined,
      lastSink: undefined,
    };
    this.#lanes.set(key, lane);
    return lane;
  }

  /** Another address or key is tried at once. */
  #noteSink(key: ObjectKey, lane: Lane): void {
    const sink = this.#options.sinkOf(key);
    const now = sink && !('reason' in sink) ? `${urlOf(sink)} ${sink.signingKey?.reveal() ?? ''}` : undefined;
    if (now === lane.lastSink) return;
    lane.lastSink = now;
    lane.notBeforeMs = 0;
    lane.failures = 0;
    lane.addressProblem = undefined;
  }

  #enqueue(lane: Lane, waiting: Waiting): void {
    lane.waiting.push(waiting);
    this.#count(1);
    if (this.#queued > queuedAtMost) this.#dropOldest();
  }

  #dropOldest(): void {
    let oldest: { key: ObjectKey; lane: Lane; at: number; index: number } | undefined;
    for (const [key, lane] of this.#lanes) {
      // What is under way may arrive.
      const index = lane.isSending ? 1 : 0;
      const at = lane.waiting[index]?.due.at;
      if (at !== undefined && (!oldest || at < oldest.at)) oldest = { key, lane, at, index };
    }
    if (!oldest) return;
    const [dropped] = oldest.lane.waiting.splice(oldest.index, 1);
    this.#count(-1);
    if (dropped) this.#drop(oldest.key, oldest.lane, dropped.due);
  }

  #drop(key: ObjectKey, lane: Lane, due: DueMessage): void {
    const { clock, logger, metrics } = this.#options;
    metrics.notifications.inc({ outcome: 'dropped' });
    logger.warn({ object: key, message: due.type, id: due.id }, 'a message of a Notification was given up');
    lane.events.push({ kind: 'dropped', key: due.key, at: clock.wallMs() });
    this.#options.onEvent(key);
  }

  #pump(): void {
    if (this.#stopped.signal.aborted) return;
    const { clock } = this.#options;
    const nowMs = clock.monotonicMs();
    let soonestMs = Infinity;
    for (const [key, lane] of this.#lanes) {
      const [first] = lane.waiting;
      if (!first || lane.isSending) continue;
      if (lane.notBeforeMs > nowMs) soonestMs = Math.min(soonestMs, lane.notBeforeMs);
      else if (this.#underWay.size < atOnce) this.#begin(key, lane, first);
    }
    this.#timer?.cancel();
    this.#timer = soonestMs === Infinity ? undefined : clock.after(soonestMs - nowMs, () => this.#pump());
  }

  #begin(key: ObjectKey, lane: Lane, first: Waiting): void {
    if (!this.#options.mayAct()) {
      lane.notBeforeMs = this.#options.clock.monotonicMs() + standbyMs;
      this.#options.clock.after(standbyMs, () => this.#pump());
      return;
    }
    lane.isSending = true;
    const sending = this.#send(key, lane, first).finally(() => {
      this.#underWay.delete(sending);
      lane.isSending = false;
      // Others were served meanwhile: this one is behind them.
      if (this.#lanes.get(key) === lane) {
        this.#lanes.delete(key);
        this.#lanes.set(key, lane);
      }
      this.#pump();
    });
    this.#underWay.add(sending);
  }

  async #send(key: ObjectKey, lane: Lane, { due, message }: Waiting): Promise<void> {
    const { clock, metrics } = this.#options;
    const reply = await this.#attempt(key, due, message);
    if (this.#stopped.signal.aborted || this.#lanes.get(key) !== lane) return;
    lane.addressProblem = reply.kind === 'forbidden' ? forbiddenText : undefined;
    if (reply.kind === 'answered' && reply.status >= 200 && reply.status < 300) {
      metrics.notifications.inc({ outcome: 'delivered' });
      lane.failures = 0;
      lane.notBeforeMs = 0;
      this.#remove(lane, due);
      lane.events.push({ kind: 'delivered', key: due.key, at: clock.wallMs() });
    } else {
      metrics.notifications.inc({ outcome: 'failed' });
      this.#failed(key, lane, reply);
    }
    this.#options.onEvent(key);
  }

  #failed(key: ObjectKey, lane: Lane, reply: SinkReply | Unread): void {
    const { clock, random } = this.#options;
    lane.notBeforeMs = clock.monotonicMs() + pauseMs(reply, backoffMs(lane.failures, pauses, random));
    lane.failures += 1;
    lane.events.push({ kind: 'failed', why: whyOf(reply), at: clock.wallMs() });
    const over = lane.waiting.filter(({ due }) => clock.wallMs() - due.at >= giveUpMs);
    for (const { due } of over) {
      this.#remove(lane, due);
      this.#drop(key, lane, due);
    }
  }

  #remove(lane: Lane, due: DueMessage): void {
    const at = lane.waiting.findIndex((each) => each.due.key === due.key);
    if (at === -1) return;
    lane.waiting.splice(at, 1);
    this.#count(-1);
  }

  async #attempt(key: ObjectKey, due: DueMessage, message: Message): Promise<SinkReply | Unread> {
    const { transport, clock, sinkOf, terms } = this.#options;
    const sink = sinkOf(key);
    if (!sink || 'reason' in sink) return { kind: 'unread' };
    const url = urlOf(sink);
    if (sinkProblem(url, terms) !== undefined) return { kind: 'forbidden' };
    const body = sink.form === 'slack' ? slackBody(message) : JSON.stringify(message);
    const headers = {
      'content-type': 'application/json',
      'user-agent': 'fleetkeeper',
      'idempotency-key': due.key,
      ...(sink.signingKey
        ? { 'x-fleetkeeper-signature': signature(sink.signingKey, clock.wallMs(), body) }
        : {}),
    };
    return transport.post({ url, headers, body }, this.#stopped.signal);
  }

  #count(change: number): void {
    this.#queued += change;
    this.#options.metrics.notificationQueue.set(this.#queued);
  }
}

/** `Retry-After` counts, as far as attempts are left within the hour. */
function pauseMs(reply: SinkReply | Unread, backoff: number): number {
  const wanted = reply.kind === 'answered' ? (reply.retryAfterMs ?? 0) : 0;
  return Math.max(backoff, Math.min(wanted, pauses.longestMs));
}

/** The address or the key of the sink could not be read. */
interface Unread {
  readonly kind: 'unread';
}

const forbiddenText = 'the name in it leads to an address that is not public';

/** Of status and events: constants, and never a text of the sink. */
function whyOf(reply: SinkReply | Unread): string {
  switch (reply.kind) {
    case 'unread':
      return 'its Secret has no address or key';
    case 'forbidden':
      return 'its address is forbidden';
    case 'failed':
      return reply.isTimeout ? 'no answer within 10 s' : 'no connection, or no complete answer';
    case 'answered':
      return reply.status >= 300 && reply.status < 400
        ? `it answers ${reply.status}, and redirects are not followed`
        : `it answers ${reply.status}`;
  }
}

function urlOf({ url }: Sink): string {
  return url.reveal().trim();
}
