/**
 * Writes Kubernetes Events (core v1, which every `kubectl describe` shows) beside the work, without delaying it.
 *
 * A **series** has the same object, type, reason and message: its first occurrence creates an Event, later ones
 * increase its count. A series is in the queue at most once, so that a thousand occurrences during one request cost
 * one more request. If the API can't be reached, an Event is tried again a few times. Refused Events (no right, a
 * namespace that is terminating) and too many of them are dropped and counted. The log has the first failure in a
 * row.
 */
import { backoffMs, messageOf, oneLine, rfc3339, sleep, type Clock, type Random } from '../base/index.ts';
import type { Logger, Metrics } from '../telemetry/index.ts';
import { KubernetesError } from './errors.ts';
import { TokenBucket, type Rate } from './token-bucket.ts';
import type { KubernetesApi, ResourceType } from './types.ts';

export interface EventNote {
  readonly about: ObjectReference;
  readonly type: 'Normal' | 'Warning';
  /** A constant, in UpperCamelCase. */
  readonly reason: string;
  readonly message: string;
}

export interface ObjectReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

export interface RecorderOptions {
  readonly api: Pick<KubernetesApi, 'create' | 'patch'>;
  /** Of this process, e.g. the name of its pod. */
  readonly instance: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

export const eventType: ResourceType = {
  group: '',
  version: 'v1',
  plural: 'events',
  kind: 'Event',
  namespaced: true,
};

const perObject: Rate = { burst: 25, everyMs: 60_000 };
const inTotal: Rate = { burst: 200, everyMs: 50 };
const longestQueue = 2000;
const rememberedSeries = 4096;
const attempts = 5;
const backoff = { firstMs: 500, longestMs: 30_000 };
const longestMessageBytes = 1024;

interface Series {
  readonly note: EventNote;
  /** Of the Event; chosen before it is created, so that a create whose answer was lost is not repeated under another. */
  name: string;
  written: boolean;
  count: number;
  readonly firstAtMs: number;
  lastAtMs: number;
  queued: boolean;
  attempts: number;
}

export class EventRecorder {
  readonly #options: RecorderOptions;
  readonly #series = new Map<string, Series>();
  readonly #buckets = new Map<string, TokenBucket>();
  readonly #total: TokenBucket;
  readonly #stop = new AbortController();
  readonly #abandon = new AbortController();
  #queue: Series[] = [];
  #draining: Promise<void> | undefined;
  #failures = 0;

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.#total = new TokenBucket(inTotal, options.clock);
  }

  /** Returns at once. */
  record(note: EventNote): void {
    if (this.#stop.signal.aborted || !this.#bucketOf(note.about.uid).take()) return this.#drop();
    const series = this.#seriesOf(note);
    series.count += 1;
    series.lastAtMs = this.#options.clock.wallMs();
    if (series.queued) return;
    if (this.#queue.length >= longestQueue) return this.#drop();
    series.queued = true;
    series.attempts = 0;
    this.#queue.push(series);
    this.#draining ??= this.#drain();
  }

  /** Nothing is recorded any more; what waits is written, for `longestMs` at most. */
  async stop(longestMs: number): Promise<void> {
    const { clock } = this.#options;
    this.#stop.abort();
    const timer = clock.after(longestMs, () => this.#abandon.abort());
    const abandoned = Promise.withResolvers<void>();
    this.#abandon.signal.addEventListener('abort', () => abandoned.resolve(), { once: true });
    await Promise.race([this.#draining, abandoned.promise]);
    timer.cancel();
    for (const _left of this.#queue.splice(0)) this.#drop();
  }

  async #drain(): Promise<void> {
    const { clock } = this.#options;
    // What is recorded in one turn of the event loop is one request per series.
    await Promise.resolve();
    for (let series = this.#queue.shift(); series; series = this.#queue.shift()) {
      while (!this.#total.take() && !this.#stop.signal.aborted) {
        await sleep(clock, this.#total.waitMs, this.#stop.signal);
      }
      series.queued = false;
      await this.#write(series);
    }
    this.#draining = undefined;
  }

  async #write(series: Series): Promise<void> {
    const { metrics } = this.#options;
    try {
      await this.#send(series);
      series.written = true;
      this.#failures = 0;
      metrics.kubernetesEvents.inc({ outcome: 'written' });
    } catch (error) {
      await this.#failed(series, error);
    }
  }

  async #send(series: Series): Promise<void> {
    const { api } = this.#options;
    const { namespace } = series.note.about;
    const body = { count: series.count, lastTimestamp: rfc3339(series.lastAtMs) };
    if (series.written) {
      try {
        await api.patch({ type: eventType, namespace, name: series.name }, { kind: 'merge', body });
        return;
      } catch (error) {
        if (!hasStatus(error, 404)) throw error;
        // It has expired, as Events do after an hour.
        series.name = this.#nameFor(series.note);
      }
    }
    try {
      await api.create(eventType, this.#eventOf(series));
    } catch (error) {
      // Written by this process, in an attempt whose answer was lost.
      if (!(hasStatus(error, 409) && (error as KubernetesError).reason === 'AlreadyExists')) throw error;
    }
  }

  async #failed(series: Series, error: unknown): Promise<void> {
    const { clock, logger, metrics, random } = this.#options;
    const { status, retryAfterMs = 0 } = error instanceof KubernetesError ? error : { status: undefined };
    if (this.#failures === 0) {
      logger.warn(
        { error: messageOf(error) },
        'a Kubernetes Event was not written; further failures are only counted',
      );
    }
    const pauseMs = Math.max(backoffMs(this.#failures, backoff, random), retryAfterMs);
    this.#failures += 1;
    series.attempts += 1;
    const passes = status === undefined || status === 429 || status >= 500;
    if (!passes || series.attempts >= attempts || this.#stop.signal.aborted) {
      metrics.kubernetesEvents.inc({ outcome: 'failed' });
      return;
    }
    if (!series.queued) {
      series.queued = true;
      this.#queue.push(series);
    }
    await sleep(clock, pauseMs, this.#stop.signal);
  }

  #eventOf({ note, name, count, firstAtMs, lastAtMs }: Series): object {
    const { about, type, reason, message } = note;
    return {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name, namespace: about.namespace },
      involvedObject: about,
      type,
      reason,
      message,
      count,
      firstTimestamp: rfc3339(firstAtMs),
      lastTimestamp: rfc3339(lastAtMs),
      source: { component: 'fleetkeeper' },
      reportingComponent: 'fleetkeeper',
      reportingInstance: this.#options.instance,
    };
  }

  #seriesOf(given: EventNote): Series {
    const note = { ...given, message: presentable(given.message) };
    const key = JSON.stringify([note.about.uid, note.type, note.reason, note.message]);
    const nowMs = this.#options.clock.wallMs();
    const series = this.#series.get(key) ?? {
      note,
      name: this.#nameFor(note),
      written: false,
      count: 0,
      firstAtMs: nowMs,
      lastAtMs: nowMs,
      queued: false,
      attempts: 0,
    };
    remember(this.#series, key, series);
    return series;
  }

  #bucketOf(uid: string): TokenBucket {
    const bucket = this.#buckets.get(uid) ?? new TokenBucket(perObject, this.#options.clock);
    remember(this.#buckets, uid, bucket);
    return bucket;
  }

  #nameFor({ about }: EventNote): string {
    return `${about.name.slice(0, 200)}.${this.#options.random.bytes(8).toString('hex')}`;
  }

  #drop(): void {
    this.#options.metrics.kubernetesEvents.inc({ outcome: 'dropped' });
  }
}

/** The longest unused one is forgotten. */
function remember<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > rememberedSeries && oldest !== undefined) map.delete(oldest);
}

function hasStatus(error: unknown, status: number): boolean {
  return error instanceof KubernetesError && error.status === status;
}

/** On one line, and no longer than the API takes. */
function presentable(text: string): string {
  const line = oneLine(text);
  const bytes = Buffer.from(line);
  if (bytes.length <= longestMessageBytes) return line;
  const cut = bytes.subarray(0, longestMessageBytes - 3).toString();
  return `${cut.replace(/\uFFFD+$/u, '')}…`;
}
