/**
 * Readiness of services that request it (`readiness: {path}`): their endpoints are probed in turn, and the last
 * result is kept.
 *
 *     (not watched) ── watch ──> unknown ── probe ──> ready | not ready ── period ──> probe …
 *          ^──── unwatch ──────────┴──── another target: unknown again
 *
 * What is Ready by its status when the watch begins counts as ready until its first probe has answered: that is after a start of the
 * process, which makes no service unready that works. A service that stopped meanwhile is not Ready by its status.
 *
 * The first probes of many services are spread over their period, so that a start is no burst. A change is reported
 * once; the listener then reads the result.
 */
import type { EndpointProbe, ProbeResult, ProbeTarget } from '../api/index.ts';
import { sameValue, type Clock, type Random, type Timer } from '../base/index.ts';

export interface ReadinessTarget extends ProbeTarget {
  readonly periodMs: number;
}

/** What a pass needs of it. */
export interface Readiness<Key extends string> {
  /** The result for `target`, which is probed from now on; undefined: none yet. `wasReady`: by its status. */
  watch(key: Key, target: ReadinessTarget, wasReady: boolean): ProbeResult | undefined;
  unwatch(key: Key): void;
}

interface Watched {
  readonly target: ReadinessTarget;
  readonly ended: AbortController;
  result: ProbeResult | undefined;
  timer: Timer | undefined;
}

export interface ReadinessWatchOptions<Key> {
  readonly probe: EndpointProbe;
  readonly clock: Clock;
  readonly random: Random;
  readonly onChange: (key: Key) => void;
  /** A process that ends as soon as all is Ready has to know it. Default: false. */
  readonly isOneShot?: boolean | undefined;
}

/** The first look comes within this time, however long the period is. */
const longestFirstMs = 2000;

/** For a preview of the fleet, in which nothing is probed. */
export const noReadiness: Readiness<string> = { watch: () => undefined, unwatch: () => undefined };

export class ReadinessWatch<Key extends string> implements Readiness<Key> {
  readonly #options: ReadinessWatchOptions<Key>;
  readonly #watched = new Map<Key, Watched>();

  constructor(options: ReadinessWatchOptions<Key>) {
    this.#options = options;
  }

  watch(key: Key, target: ReadinessTarget, wasReady: boolean): ProbeResult | undefined {
    const known = this.#watched.get(key);
    if (known && sameValue(known.target, target)) return known.result;
    const isKept = wasReady && !known && !this.#options.isOneShot;
    this.unwatch(key);
    const watched: Watched = {
      target,
      ended: new AbortController(),
      result: isKept ? { ready: true } : undefined,
      timer: undefined,
    };
    this.#watched.set(key, watched);
    const firstMs = Math.min(target.periodMs, longestFirstMs) * this.#options.random.fraction();
    this.#probeAfter(firstMs, key, watched);
    return watched.result;
  }

  unwatch(key: Key): void {
    const watched = this.#watched.get(key);
    watched?.ended.abort();
    watched?.timer?.cancel();
    this.#watched.delete(key);
  }

  async stop(): Promise<void> {
    for (const key of this.#watched.keys()) this.unwatch(key);
    await this.#options.probe.close();
  }

  #probeAfter(delayMs: number, key: Key, watched: Watched): void {
    watched.timer = this.#options.clock.after(delayMs, () => void this.#probe(key, watched));
  }

  async #probe(key: Key, watched: Watched): Promise<void> {
    const { periodMs, ...known } = watched.target;
    const target = { ...known, isFirst: watched.result === undefined };
    const result = await this.#options.probe.probe(target, watched.ended.signal);
    if (watched.ended.signal.aborted) return;
    const changed = !sameValue(watched.result, result);
    watched.result = result;
    this.#probeAfter(periodMs, key, watched);
    if (changed) this.#options.onChange(key);
  }
}
