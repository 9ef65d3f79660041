/**
 * Keeps a copy of all objects of one resource, and reports changes in it.
 *
 *     listing ── complete ──> watching ── ended, broken, silent, refused ──> resting ──┐
 *        ^                     │   ^                                                   │
 *        │                     │   └──────── from the last version seen ───────────────┤
 *        └─── every 10 min ────┘                                                       │
 *        ^─────── version expired, error in the stream, refused 3 times, long silence ─┘
 *
 * - **listing**: page by page, as of now. The pages replace the copy when they are complete; until then the old copy stays. A failed
 *   page is requested again; if the list has expired by then (410), it starts anew. A list that is older than what was
 *   seen before comes from a stale server: it is requested again, and accepted the fifth time (somebody has restored a
 *   backup).
 * - **watching**: events change the copy. Bookmarks advance the version from which a watch continues, and are signs of life: a watch
 *   without one for 70 s is dead, although its connection may look healthy.
 * - **resting**: with backoff and jitter, and at least for `Retry-After`. Whatever fails, only `stop` ends it.
 * - Every ten minutes the list is read anew, in case an event was lost on the way.
 *
 * Listeners get changes only. They can't disturb: what they throw is logged.
 */
import { backoffMs, messageOf, sleep, type Clock, type Random } from '../base/index.ts';
import type { Logger, Metrics } from '../telemetry/index.ts';
import { KubernetesError } from './errors.ts';
import { ObjectStore, type Change, type Keep, type Replacement } from './object-store.ts';
import { resourceName } from './paths.ts';
import { newerVersion } from './resource-version.ts';
import type { KubernetesApi, KubernetesObject, ResourceType, Scope, WatchEvent } from './types.ts';

export interface ReflectorOptions {
  readonly api: Pick<KubernetesApi, 'list' | 'watch'>;
  readonly type: ResourceType;
  /** Default: all objects in all namespaces. */
  readonly scope?: Scope;
  readonly onChange: (change: Change) => void;
  /** To keep less of each object. Default: all of it. */
  readonly keep?: Keep;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

const pageSize = 500;
/** The API server sends a bookmark about every minute. */
const silenceMs = 70_000;
/** A kind that nobody changes may have no bookmarks at all: the API server is asked to end a watch, after one that it may send. */
const watchMs = 65_000;
/** Such a silence is ended by a list. */
const quietMs = 2 * silenceMs;
/** So long that it may be the version from which nothing comes. */
const longSilenceMs = 3 * silenceMs;
const relistMs = 600_000;
const backoff = { firstMs: 200, longestMs: 30_000 };
const refusalsBeforeList = 3;
const staleListsBeforeBelief = 5;

/** A list of which some pages are there. */
interface Listing {
  readonly replacement: Replacement;
  resourceVersion: string | undefined;
  continueToken: string | undefined;
}

export class Reflector {
  readonly #options: ReflectorOptions;
  readonly #store: ObjectStore;
  readonly #stop = new AbortController();
  readonly #synced = Promise.withResolvers<void>();
  /** Ends what is under way, a pause included, for a list that begins now. */
  #interrupt = new AbortController();
  #relisted: PromiseWithResolvers<void> | undefined;
  #running: Promise<void> | undefined;
  #state: 'listing' | 'watching' = 'listing';
  #hasSynced = false;
  /** The newest one seen; a watch continues from here. */
  #version: string | undefined;
  #listing: Listing | undefined;
  #pageSize = pageSize;
  #listedAtMs = 0;
  #staleLists = 0;
  #heardAtMs: number;
  /** In a row, of lists and watches together. */
  #failures = 0;
  #failure: string | undefined;

  constructor(options: ReflectorOptions) {
    this.#options = options;
    this.#store = new ObjectStore(options.keep ?? ((object) => object));
    this.#heardAtMs = options.clock.monotonicMs();
  }

  /** By `namespace/name`, as of now. */
  get items(): ReadonlyMap<string, KubernetesObject> {
    return this.#store.items;
  }

  /** One list was complete. */
  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  /** Resolves with the first complete list, after its changes were reported; or when stopped (see `hasSynced`). */
  whenSynced(): Promise<void> {
    return this.#synced.promise;
  }

  /** The newest request has failed. */
  get isFailing(): boolean {
    return this.#failure !== undefined;
  }

  /** Undefined: all. */
  get namespace(): string | undefined {
    return this.#options.scope?.namespace;
  }

  get plural(): string {
    return this.#options.type.plural;
  }

  get resource(): string {
    return resourceName(this.#options.type);
  }

  /** Since the API last showed something of this resource, bookmarks included. */
  get silentMs(): number {
    return this.#options.clock.monotonicMs() - this.#heardAtMs;
  }

  /**
   * What is wrong with it for a person; undefined while all is well. A break of the API is no reason to start the process anew: it is
   * of use without.
   */
  get problem(): string | undefined {
    if (this.silentMs < longSilenceMs) return this.#hasSynced ? undefined : this.#failure;
    const seconds = Math.round(this.silentMs / 1000);
    return `${resourceName(this.#options.type)}: nothing was heard for ${seconds} s: ${this.#failure ?? 'no answer'}`;
  }

  start(): void {
    this.#heardAtMs = this.#options.clock.monotonicMs();
    this.#running ??= this.#run();
  }

  /** Resolves when a list that began after the call is complete, and its changes were reported; or when stopped. */
  relist(): Promise<void> {
    this.#state = 'listing';
    this.#listing = undefined;
    this.#relisted ??= Promise.withResolvers();
    const { promise } = this.#relisted;
    this.#interrupt.abort();
    this.#interrupt = new AbortController();
    return promise;
  }

  /** No change is reported any more. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    this.#synced.resolve();
    this.#relisted?.resolve();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const either = AbortSignal.any([signal, this.#interrupt.signal]);
      const pauseMs = await this.#turn(either);
      if (pauseMs > 0) await sleep(this.#options.clock, pauseMs, either);
    }
  }

  /** Lists, or watches until that ends; gives the time to rest. */
  async #turn(signal: AbortSignal): Promise<number> {
    try {
      if (this.#state === 'watching') return await this.#watch(signal);
      await this.#list(signal);
      return 0;
    } catch (error) {
      return signal.aborted ? 0 : this.#failed(error);
    }
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { api, type, scope, clock } = this.#options;
    this.#listing ??= {
      replacement: this.#store.replacement(),
      resourceVersion: undefined,
      continueToken: undefined,
    };
    const listedAtMs = clock.monotonicMs();
    const listing = this.#listing;
    do {
      const { continueToken } = listing;
      const page = await api.list(type, { ...scope, limit: this.#pageSize, continueToken }, signal);
      if (signal.aborted) return;
      this.#heard();
      listing.replacement.add(page.items);
      // A watch from the first page's version misses nothing.
      listing.resourceVersion ??= page.resourceVersion;
      listing.continueToken = page.continueToken;
    } while (listing.continueToken !== undefined);
    this.#listing = undefined;
    this.#accept(listing);
    this.#listedAtMs = listedAtMs;
  }

  #accept({ replacement, resourceVersion = '' }: Listing): void {
    const { logger, type } = this.#options;
    if (this.#isOlder(resourceVersion)) {
      this.#staleLists += 1;
      if (this.#staleLists < staleListsBeforeBelief) {
        throw new Error(
          `the list is older (${resourceVersion}) than what was seen before (${this.#version})`,
        );
      }
      logger.warn(
        { resource: resourceName(type) },
        'the Kubernetes API has gone back in time, and its state is accepted',
      );
    }
    this.#staleLists = 0;
    this.#version = resourceVersion;
    this.#state = 'watching';
    for (const change of replacement.commit()) this.#announce(change);
    this.#hasSynced = true;
    this.#synced.resolve();
    this.#relisted?.resolve();
    this.#relisted = undefined;
  }

  #isOlder(resourceVersion: string): boolean {
    const seen = this.#version;
    return seen !== undefined && seen !== resourceVersion && !newerVersion(resourceVersion, seen);
  }

  async #watch(signal: AbortSignal): Promise<number> {
    const { api, type, scope, clock, random } = this.#options;
    const startedAtMs = clock.monotonicMs();
    const relist = new AbortController();
    const relistAtMs = this.#listedAtMs + relistMs * (0.9 + 0.2 * random.fraction());
    const timer = clock.after(relistAtMs - startedAtMs, () => relist.abort());
    const from = { ...scope, resourceVersion: this.#version ?? '', silenceMs, endMs: watchMs };
    let lively = false;
    try {
      for await (const event of api.watch(type, from, AbortSignal.any([signal, relist.signal]))) {
        if (signal.aborted) return 0;
        lively = true;
        this.#take(event);
      }
    } finally {
      timer.cancel();
    }
    if (relist.signal.aborted || this.silentMs >= quietMs) {
      this.#state = 'listing';
      return 0;
    }
    // That the server ends a watch now and then is usual; at once and again and again, it is not.
    if (!lively && clock.monotonicMs() - startedAtMs < backoff.longestMs) this.#failures += 1;
    else this.#failures = 0;
    return backoffMs(this.#failures, backoff, random);
  }

  #take(event: WatchEvent): void {
    if (event.type === 'ERROR') {
      this.#state = 'listing';
      throw new KubernetesError(`the watch has failed: ${event.status} ${event.message}`, {
        status: event.status,
      });
    }
    this.#heard();
    this.#failures = 0;
    const version = event.type === 'BOOKMARK' ? event.resourceVersion : event.object.metadata.resourceVersion;
    if (event.type !== 'BOOKMARK') {
      for (const change of this.#store.apply(event.type, event.object)) this.#announce(change);
    }
    if (this.#version === undefined || newerVersion(version, this.#version)) this.#version = version;
  }

  #heard(): void {
    this.#heardAtMs = this.#options.clock.monotonicMs();
    if (this.#failure === undefined) return;
    this.#failure = undefined;
    this.#options.logger.info(
      { resource: resourceName(this.#options.type) },
      'the Kubernetes API is heard again',
    );
  }

  /** Returns where to continue, and after how long. */
  #failed(error: unknown): number {
    const { logger, metrics, random, type } = this.#options;
    const {
      status,
      reason,
      retryAfterMs = 0,
    } = error instanceof KubernetesError ? error : new KubernetesError('', { cause: error });
    const resource = resourceName(type);
    const pauseMs = Math.max(backoffMs(this.#failures, backoff, random), retryAfterMs);
    this.#failures += 1;
    metrics.watchFailures.inc({ resource });
    const level = this.#failure === undefined ? 'warn' : 'debug';
    logger[level](
      { resource, state: this.#state, pauseMs, error: messageOf(error) },
      'the Kubernetes API fails',
    );
    this.#failure = messageOf(error);
    if (reason === 'TooLarge') this.#pageSize = Math.max(1, Math.floor(this.#pageSize / 4));
    const refused = status !== undefined && status !== 429 && this.#failures >= refusalsBeforeList;
    const anew = status === 410 || refused || this.silentMs >= longSilenceMs;
    if (anew) {
      this.#listing = undefined;
      this.#state = 'listing';
    }
    return pauseMs;
  }

  #announce(change: Change): void {
    try {
      this.#options.onChange(change);
    } catch (error) {
      const { logger, type } = this.#options;
      logger.error({ resource: resourceName(type), error }, 'a change of an object was not handled');
    }
  }
}

/** Sets the gauge of silence: of each resource in each namespace that is watched, the longest one. */
export function setWatchSilence(
  { watchSilenceSeconds }: Pick<Metrics, 'watchSilenceSeconds'>,
  reflectors: readonly Pick<Reflector, 'resource' | 'namespace' | 'silentMs'>[],
): void {
  const places = Map.groupBy(reflectors, ({ resource, namespace = '' }) => `${resource} ${namespace}`);
  for (const same of places.values()) {
    const longest = Math.max(...same.map(({ silentMs }) => silentMs));
    for (const { resource, namespace: watched = '' } of same.slice(0, 1))
      watchSilenceSeconds.set({ resource, watched }, longest / 1000);
  }
}
