/**
 * One read of the account serves the whole fleet (§4 rule 1). The informer reads it every `pollMs`, sooner
 * while somebody waits for progress, and keeps the newest snapshot; a failed read leaves the old one in
 * place and says so, so that nothing is ever concluded from a failure.
 *
 *     reading ── ok ──> resting (pollMs, or progressMs while wanted) ──> reading
 *        └── failed ──> backing off (up to 60 s; 5 min for a rejected credential) ──> reading
 */
import type { ControlApi, Outcome, wire } from '../api/index.ts';
import { describeOutcome } from '../api/index.ts';
import { backoffMs, sameValue, type Clock, type Random, type Timer } from '../base/index.ts';
import type { Logger } from '../telemetry/index.ts';

export interface AccountSnapshot {
  /** Grows by one with every successful read of this process. */
  readonly sequence: number;
  /** Monotonic milliseconds: what happened before this is in the snapshot, what happened after may not be. */
  readonly startedAtMs: number;
  /** Unix milliseconds of the answer. */
  readonly receivedAt: number;
  readonly balanceMicros: number;
  readonly currency: string;
  readonly services: ReadonlyMap<string, wire.Service>;
  readonly volumes: ReadonlyMap<string, wire.Volume>;
}

/** The newest read failed; `outcome` says how. */
export interface ReadFailure {
  readonly outcome: Exclude<Outcome<never>, { kind: 'applied' }>;
  readonly message: string;
  /** Monotonic milliseconds of the first failure in a row. */
  readonly sinceMs: number;
}

export interface SnapshotChange {
  readonly snapshot: AccountSnapshot;
  /** Ids that are new, gone, or different from the snapshot before. */
  readonly changedIds: ReadonlySet<string>;
}

export interface AccountInformerOptions {
  readonly api: ControlApi;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly pollMs: number;
  readonly onSnapshot: (change: SnapshotChange) => void;
  readonly onFailure: (failure: ReadFailure) => void;
}

/** While somebody waits for something to change, but never more often than the normal poll. */
const progressMs = 1000;
/** So many reads in which nothing changes are made at that pace; then each waits twice as long as the one before. */
const eagerReads = 10;
const failureBackoff = { firstMs: 500, longestMs: 60_000 };
const credentialBackoff = { firstMs: 5000, longestMs: 300_000 };

export class AccountInformer {
  readonly #options: AccountInformerOptions;
  readonly #stopping = new AbortController();
  #current: AccountSnapshot | undefined;
  #failure: ReadFailure | undefined;
  #failures = 0;
  #timer: Timer | undefined;
  #dueAtMs = 0;
  #lastStartMs = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;
  #wanted = false;
  /** Reads in a row in which nothing had changed. */
  #unchanged = 0;
  /** `retryNow` was called during a read that may still have used the old credential. */
  #retry = false;

  constructor(options: AccountInformerOptions) {
    this.#options = options;
  }

  /** The newest successful read, however old. */
  get current(): AccountSnapshot | undefined {
    return this.#current;
  }

  /** Set while the newest read is a failed one. */
  get failure(): ReadFailure | undefined {
    return this.#failure;
  }

  start(): void {
    this.#schedule(0);
  }

  /**
   * Asks for a snapshot that begins after now. Many requests are served by one read; reads that are asked for
   * are at least a second apart (or `pollMs`, if that is shorter).
   */
  want(cause: 'mutation' | 'progress' = 'progress'): void {
    this.#wanted = true;
    if (cause === 'mutation') this.#unchanged = 0;
    if (this.#reading || this.#failure) return;
    const patience = 2 ** Math.max(0, this.#unchanged - eagerReads);
    const gapMs = Math.min(progressMs * patience, this.#options.pollMs);
    this.#schedule(Math.max(0, this.#lastStartMs + gapMs - this.#options.clock.monotonicMs()));
  }

  /** Reads now, or right after the read that is under way, whatever the backoff: the credential has changed. */
  retryNow(): void {
    this.#failures = 0;
    if (this.#reading) this.#retry = true;
    else this.#schedule(0, true);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#timer?.cancel();
    await this.#reading;
  }

  #schedule(delayMs: number, replace = false): void {
    if (this.#stopping.signal.aborted) return;
    const dueAtMs = this.#options.clock.monotonicMs() + delayMs;
    if (this.#timer && !replace && this.#dueAtMs <= dueAtMs) return;
    this.#timer?.cancel();
    this.#dueAtMs = dueAtMs;
    this.#timer = this.#options.clock.after(delayMs, () => {
      this.#timer = undefined;
      this.#reading = this.#read().finally(() => {
        this.#reading = undefined;
        this.#rest();
      });
    });
  }

  #rest(): void {
    const { pollMs, random } = this.#options;
    if (this.#retry) {
      this.#retry = false;
      this.#schedule(0);
      return;
    }
    if (this.#failure) {
      const { outcome } = this.#failure;
      const rejected = outcome.kind === 'refused' && (outcome.status === 401 || outcome.status === 403);
      const limits = rejected ? credentialBackoff : failureBackoff;
      this.#schedule(backoffMs(this.#failures - 1, limits, random));
      return;
    }
    this.#schedule(Math.max(0, this.#lastStartMs + pollMs - this.#options.clock.monotonicMs()));
    if (this.#wanted) this.want();
  }

  async #read(): Promise<void> {
    const { api, clock, logger, onSnapshot, onFailure } = this.#options;
    this.#wanted = false;
    this.#lastStartMs = clock.monotonicMs();
    // The request may wait at the limiter, which only makes what it shows newer than `startedAtMs` promises.
    const startedAtMs = this.#lastStartMs;
    const outcome = await api.account(this.#stopping.signal);
    if (this.#stopping.signal.aborted) return;
    if (outcome.kind !== 'applied') {
      this.#failures += 1;
      const message = describeOutcome(outcome);
      this.#failure = { outcome, message, sinceMs: this.#failure?.sinceMs ?? clock.monotonicMs() };
      logger.warn({ outcome: outcome.kind, note: message }, 'account read failed');
      onFailure(this.#failure);
      return;
    }
    this.#failures = 0;
    this.#failure = undefined;
    const previous = this.#current;
    this.#current = {
      sequence: (previous?.sequence ?? 0) + 1,
      startedAtMs,
      receivedAt: clock.wallMs(),
      balanceMicros: outcome.value.balanceMicros,
      currency: outcome.value.currency,
      services: keepUnchanged(outcome.value.services, previous?.services),
      volumes: keepUnchanged(outcome.value.volumes, previous?.volumes),
    };
    const changed = changedIds(previous, this.#current);
    this.#unchanged = changed.size > 0 ? 0 : this.#unchanged + 1;
    onSnapshot({ snapshot: this.#current, changedIds: changed });
  }
}

/** An object that did not change stays the same one, so that "changed?" is a comparison of references. */
function keepUnchanged<Item extends { id: string }>(
  items: readonly Item[],
  previous: ReadonlyMap<string, Item> | undefined,
): Map<string, Item> {
  return new Map(
    items.map((item) => {
      const before = previous?.get(item.id);
      return [item.id, before !== undefined && sameValue(before, item) ? before : item];
    }),
  );
}

function changedIds(before: AccountSnapshot | undefined, after: AccountSnapshot): Set<string> {
  const changed = new Set<string>();
  for (const kind of ['services', 'volumes'] as const) {
    const old: ReadonlyMap<string, unknown> = before?.[kind] ?? new Map<string, unknown>();
    for (const [id, item] of after[kind]) if (old.get(id) !== item) changed.add(id);
    for (const id of old.keys()) if (!after[kind].has(id)) changed.add(id);
  }
  return changed;
}
