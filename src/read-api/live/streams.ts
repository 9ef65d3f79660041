/**
 * Event streams (server-sent events). `state` has all of a view, `change` the difference to the event before.
 *
 *     open ── Last-Event-ID of this process and view, not forgotten ──> the events since ──┐
 *       └── else ──> `state` ──────────────────────────────────────────────────────────────┴─> follows the view
 *     follows ── the reader takes nothing, and 1 MiB waits ──> closed (`slow`)
 *             ── the token is not valid any more (asked each 60 s) ──> closed (`denied`)
 *             ── the view can't be computed, by a defect ──> closed; nothing else has it
 *
 * | bound                                                      |
 * |------------------------------------------------------------|
 * | 100 streams; 503 beyond                                    |
 * | two changes of a view per second                           |
 * | the last 10,000 events, of at most 32 MiB, are kept        |
 * | 20 views without a stream are kept                         |
 *
 * An id is `PROCESS-VIEW-NUMBER`. Another process, and another view, have other first parts, so what they sent is never taken for what this
 * one has. Numbers are those of the view: they do not show what others read.
 */
import { rfc3339, sleep, type Clock, type Random, type Timer } from '../../base/index.ts';
import type { FleetIndex } from '../fleet/fleet-index.ts';
import type { StreamSink } from '../message.ts';
import { LiveView, type Members, type ViewEvent } from './live-view.ts';
import type { OpenView } from './views.ts';

export interface StreamLimits {
  readonly streams: number;
  readonly bufferBytes: number;
  readonly events: number;
  readonly eventBytes: number;
  readonly idleViews: number;
}

export const streamLimits: StreamLimits = {
  streams: 100,
  bufferBytes: 1024 * 1024,
  events: 10_000,
  eventBytes: 32 * 1024 * 1024,
  idleViews: 20,
};

const updateMs = 500;
/** A timer may be that early. */
const slackMs = 100;
const commentMs = 15_000;
const recheckMs = 60_000;
const viewIdBytes = 6;

export type ResetReason = 'slow' | 'denied' | 'forgotten';

export interface StreamsOptions {
  readonly index: FleetIndex;
  readonly clock: Clock;
  /** Another text for each process. */
  readonly process: string;
  readonly random: Random;
  readonly limits?: StreamLimits;
  readonly onCount: (open: number) => void;
  readonly onReset: (reason: ResetReason) => void;
  /** Nobody else sees it: a timer computes the views. */
  readonly onDefect: (error: unknown) => void;
}

export interface StreamRequest {
  /** Equal for those that see the same. */
  readonly view: string;
  readonly open: () => OpenView;
  readonly lastEventId: string | undefined;
  readonly isStillAllowed: () => Promise<boolean>;
}

interface Stream {
  readonly sink: StreamSink;
  readonly isStillAllowed: () => Promise<boolean>;
  commentDueMs: number;
  recheckDueMs: number;
}

interface Followed {
  /** Another text for each one. */
  readonly id: string;
  readonly live: LiveView;
  readonly opened: OpenView;
  readonly streams: Set<Stream>;
  /** When it was computed last. */
  atMs: number;
}

export class Streams {
  readonly #options: StreamsOptions;
  readonly #limits: StreamLimits;
  /** The one that was used least recently first. */
  readonly #views = new Map<string, Followed>();
  /** Of all views, the oldest one first. */
  #kept: { readonly live: LiveView; readonly number: number; readonly bytes: number }[] = [];
  #keptBytes = 0;
  #open = 0;
  #timer: Timer | undefined;
  #isStopped = false;

  constructor(options: StreamsOptions) {
    this.#options = options;
    this.#limits = options.limits ?? streamLimits;
  }

  /** Whether one more may be opened. */
  get hasRoom(): boolean {
    return this.#open < this.#limits.streams && !this.#isStopped;
  }

  /** The index has to be refreshed. */
  open(request: StreamRequest, sink: StreamSink): void {
    try {
      this.#begin(this.#follow(request.view, request.open), request, sink);
    } catch (error) {
      this.#options.onDefect(error);
      sink.close();
    }
  }

  #begin(followed: Followed, { view, lastEventId, isStillAllowed }: StreamRequest, sink: StreamSink): void {
    const nowMs = this.#options.clock.monotonicMs();
    const stream = {
      sink,
      isStillAllowed,
      commentDueMs: nowMs + commentMs,
      recheckDueMs: nowMs + recheckMs,
    };
    const missed = lastEventId === undefined ? undefined : this.#missed(followed, lastEventId);
    if (lastEventId !== undefined && !missed) this.#options.onReset('forgotten');
    this.#open += 1;
    this.#options.onCount(this.#open);
    followed.streams.add(stream);
    sink.onClosed(() => this.#left(view, followed, stream));
    const texts = missed ? missed.map((event) => this.#sent(followed, event)) : [this.#stateOf(followed)];
    this.#write(stream, `retry: 1000\n\n${texts.join('')}`);
    this.#schedule();
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
    for (const { streams } of this.#views.values()) for (const { sink } of streams) sink.close();
    for (const { opened } of this.#views.values()) opened.close();
    this.#views.clear();
  }

  #follow(view: string, open: () => OpenView): Followed {
    const known = this.#views.get(view);
    if (known) {
      this.#views.delete(view);
      this.#views.set(view, known);
      if (known.streams.size === 0) this.#update(known);
      return known;
    }
    const opened = open();
    const live = new LiveView(() => opened.render());
    live.update();
    const { clock, random } = this.#options;
    const id = random.bytes(viewIdBytes).toString('hex');
    const made: Followed = { id, live, opened, streams: new Set(), atMs: clock.monotonicMs() };
    this.#views.set(view, made);
    this.#dropIdle();
    return made;
  }

  #dropIdle(): void {
    const idle = [...this.#views].filter(([, { streams }]) => streams.size === 0);
    // The newest one is that of the stream that is being opened.
    for (const [view, { opened }] of idle.slice(0, Math.max(0, idle.length - 1 - this.#limits.idleViews))) {
      opened.close();
      this.#views.delete(view);
    }
  }

  #missed({ id, live }: Followed, last: string): readonly ViewEvent[] | undefined {
    const [process, view, number] = last.split('-');
    return process === this.#options.process && view === id ? live.since(Number(number)) : undefined;
  }

  #idOf({ id }: Followed, number: number): string {
    return `id: ${this.#options.process}-${id}-${number}\n`;
  }

  #stateOf(followed: Followed): string {
    const { live } = followed;
    return `${this.#idOf(followed, live.number)}${this.#textOf('state', live.state())}`;
  }

  #textOf(event: 'state' | 'change', members: Members): string {
    return `event: ${event}\ndata: {"at":"${this.#now()}",${members}}\n\n`;
  }

  #sent(followed: Followed, { number, text }: ViewEvent): string {
    return `${this.#idOf(followed, number)}${text}`;
  }

  /** RFC 3339: ages are counted from this time, and not by the clock of the reader. */
  #now(): string {
    return rfc3339(this.#options.clock.wallMs());
  }

  #schedule(): void {
    if (this.#timer || this.#open === 0 || this.#isStopped) return;
    this.#timer = this.#options.clock.after(updateMs, () => void this.#updateAll());
  }

  async #updateAll(): Promise<void> {
    const { index, clock } = this.#options;
    try {
      await index.refresh();
      for (const [view, followed] of this.#views) {
        const sinceMs = clock.monotonicMs() - followed.atMs;
        const { streams, opened } = followed;
        if (streams.size === 0 || sinceMs < opened.everyMs - slackMs || !opened.isDue(sinceMs)) continue;
        this.#updateOrEnd(view, followed);
        // oxlint-disable-next-line no-await-in-loop -- others have their turn between two views
        await sleep(clock, 0);
      }
      for (const { streams } of this.#views.values()) for (const stream of streams) this.#keepUp(stream);
    } catch (error) {
      this.#options.onDefect(error);
    } finally {
      this.#timer = undefined;
      this.#schedule();
    }
  }

  /** A defect of one view ends its streams. Whoever comes back gets all of it, or the same defect. */
  #updateOrEnd(view: string, followed: Followed): void {
    try {
      this.#update(followed);
    } catch (error) {
      this.#options.onDefect(error);
      this.#views.delete(view);
      followed.opened.close();
      for (const { sink } of followed.streams) sink.close();
    }
  }

  #update(followed: Followed): void {
    const { live, streams } = followed;
    followed.atMs = this.#options.clock.monotonicMs();
    const change = live.update();
    if (!change) return;
    const event = { number: live.number + 1, text: this.#textOf('change', change) };
    live.record(event);
    this.#keep(live, event);
    for (const stream of streams) this.#write(stream, this.#sent(followed, event));
  }

  #keep(live: LiveView, { number, text }: ViewEvent): void {
    this.#kept.push({ live, number, bytes: text.length });
    this.#keptBytes += text.length;
    let forgotten = 0;
    while (this.#keptBytes > this.#limits.eventBytes || this.#kept.length - forgotten > this.#limits.events) {
      const oldest = this.#kept[forgotten];
      if (!oldest) break;
      oldest.live.forget(oldest.number);
      this.#keptBytes -= oldest.bytes;
      forgotten += 1;
    }
    if (forgotten > 0) this.#kept = this.#kept.slice(forgotten);
  }

  #keepUp(stream: Stream): void {
    const nowMs = this.#options.clock.monotonicMs();
    if (nowMs >= stream.commentDueMs) {
      stream.commentDueMs = nowMs + commentMs;
      this.#write(stream, `: ${this.#now()}\n\n`);
    }
    if (nowMs < stream.recheckDueMs) return;
    stream.recheckDueMs = nowMs + recheckMs;
    void this.#recheck(stream);
  }

  async #recheck({ isStillAllowed, sink }: Stream): Promise<void> {
    const isAllowed = await isStillAllowed().catch(() => false);
    if (isAllowed) return;
    this.#options.onReset('denied');
    sink.close();
  }

  #write({ sink }: Stream, text: string): void {
    if (sink.write(text) <= this.#limits.bufferBytes) return;
    this.#options.onReset('slow');
    sink.close();
  }

  #left(view: string, followed: Followed, stream: Stream): void {
    if (!followed.streams.delete(stream)) return;
    this.#open -= 1;
    this.#options.onCount(this.#open);
    if (this.#views.get(view) === followed) this.#dropIdle();
  }
}
