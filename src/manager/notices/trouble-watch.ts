/**
 * Which objects have trouble now. Whoever saves a record only notes its key here. Notes are taken in a second later, in slices, so no pass
 * waits for it.
 *
 *     (stopped) ── start ──> every key is noted ── all are taken in ──> complete ── a record moves ──> its key is noted ── later ──> taken in
 */
import type { Clock, Timer } from '../../base/index.ts';
import { afterMs, troubleOf, withoutAmounts, type Trouble } from '../../engine/index.ts';
import type { ObjectKey } from '../../resources/index.ts';
import type { StateStore } from '../../state/index.ts';

export interface TroubleWatchOptions {
  readonly store: StateStore;
  readonly clock: Clock;
  /** Messages have the amounts of accounts that all namespaces share (engine/problems/amounts.ts). */
  readonly showsAmounts: () => boolean;
  /** Trouble came, went, or has changed. */
  readonly onMoved: () => void;
}

/** Many objects with trouble at once, as after an outage, are taken in less often. */
const firstMs = 1000;
const perTroubleMs = 0.05;
const slice = 1000;

export class TroubleWatch {
  readonly #options: TroubleWatchOptions;
  readonly #noted = new Set<ObjectKey>();
  readonly #troubles = new Map<ObjectKey, Trouble>();
  readonly #byHash = new Map<string, Trouble>();
  #timer: Timer | undefined;
  #phase: 'stopped' | 'filling' | 'complete' = 'stopped';
  #hasMoved = false;

  constructor(options: TroubleWatchOptions) {
    this.#options = options;
    options.store.listen((key) => {
      if (this.#phase === 'stopped') return;
      this.#noted.add(key);
      this.#later(firstMs + perTroubleMs * this.#troubles.size);
    });
  }

  start(): void {
    this.#phase = 'filling';
    for (const key of this.#options.store.everyKey()) this.#noted.add(key);
    this.#takeIn();
  }

  stop(): void {
    this.#phase = 'stopped';
    this.#timer?.cancel();
  }

  /** By hash. Undefined: not all objects are known yet. */
  get troubles(): ReadonlyMap<string, Trouble> | undefined {
    return this.#phase === 'complete' ? this.#byHash : undefined;
  }

  /** Problems that are open, by severity: with or without a Notification. */
  counts(): Record<Trouble['severity'], number> {
    const nowMs = this.#options.clock.wallMs();
    const counts = { critical: 0, warning: 0, info: 0 };
    for (const { severity, sinceMs } of this.#troubles.values()) {
      if (sinceMs + afterMs[severity] <= nowMs) counts[severity] += 1;
    }
    return counts;
  }

  #later(delayMs: number): void {
    this.#timer ??= this.#options.clock.after(delayMs, () => this.#takeIn());
  }

  #takeIn(): void {
    this.#timer = undefined;
    let left = slice;
    for (const key of this.#noted) {
      this.#noted.delete(key);
      this.#take(key);
      left -= 1;
      if (left === 0) break;
    }
    if (this.#noted.size > 0) return this.#later(0);
    if (this.#phase === 'filling') {
      this.#phase = 'complete';
      this.#hasMoved = true;
    }
    if (!this.#hasMoved) return;
    this.#hasMoved = false;
    this.#options.onMoved();
  }

  #take(key: ObjectKey): void {
    const record = this.#options.store.record(key);
    const shown = record && !this.#options.showsAmounts() ? (withoutAmounts(record) ?? record) : record;
    const before = this.#troubles.get(key);
    const after = shown && troubleOf(shown);
    if (before) this.#byHash.delete(before.hash);
    if (after) {
      this.#troubles.set(key, after);
      this.#byHash.set(after.hash, after);
    } else this.#troubles.delete(key);
    const isSame = before?.hash === after?.hash && before?.sinceMs === after?.sinceMs;
    if (!isSame || before?.labels !== after?.labels) this.#hasMoved = true;
  }
}
