/**
 * One read of the account serves the whole fleet (§4 rule 1). The informer reads it every `pollMs`, sooner while
 * somebody waits for progress, and keeps the newest snapshot. A failed read leaves the old one in place and is
 * reported, so that nothing is ever concluded from a failure. Lists that the account read does not show are read
 * beside it, in the same poll, for fleets that use them.
 *
 * An account in which nothing has changed, failed or been under way for ten minutes is read ever more seldom: each further quiet read doubles the
 * interval, up to `quietPollMs`. The first change, failure or piece of work returns to `pollMs`.
 *
 * The account's identity is checked before the first read, after a change of the credential, after a 401, and before
 * a read counts in which something has vanished: a key that suddenly belongs to another account makes everything look
 * deleted.
 *
 *     reading ── ok ──> resting (pollMs; up to quietPollMs while quiet; progressMs while wanted) ──> reading
 *        └── failed ──> backing off (up to 60 s; 5 min for a rejected credential) ──> reading
 */
import type { ControlApi, Outcome, wire } from '../api/index.ts';
import { describeOutcome, longPauseMs } from '../api/index.ts';
import { backoffMs, rfc3339, SharedValues, type Clock, type Random, type Timer } from '../base/index.ts';
import { entryOf, type BlockingReason, type ReasonOf, type ReasonWith } from '../reasons/index.ts';
import type { Logger } from '../telemetry/index.ts';
import { changedIds, hasVanished } from './account-changes.ts';
import { keepUnchanged, nextListing, type Listing } from './listing.ts';
import { ReadPace, type ReadPaceOptions } from './read-pace.ts';
import { UnreadableLog } from './unreadable-log.ts';

export interface AccountSnapshot {
  /** Grows by one with every successful read of this process. */
  readonly sequence: number;
  /** Monotonic milliseconds: what happened before this is in the snapshot, what happened after may not be. */
  readonly startedAtMs: number;
  /** Unix milliseconds of the answer. */
  readonly receivedAt: number;
  /** Undefined when it can't be read. */
  readonly balanceMicros: number | undefined;
  readonly currency: string;
  readonly ledger: readonly wire.LedgerEntry[];
  readonly services: ReadonlyMap<string, wire.Service>;
  readonly volumes: ReadonlyMap<string, wire.Volume>;
  /** Entries without an id that can be read: what is not among the others may be one of them. */
  readonly unidentified?: wire.Account['unidentified'];
  readonly templates: Listing<wire.Template>;
  readonly registries: Listing<wire.Registry>;
}

/** What is to be read beside the account. */
export interface Lists {
  readonly templates: boolean;
  readonly registries: boolean;
}

/** What only a person ends: the key is of another account, or may not be sent where it is to be sent. */
/** No key of the account is used until a person accepts it. */
export type KeyHold = ReasonWith<'accountUnread'> & ReasonOf<'held'>;

export interface ReadProblem {
  /** `CredentialMissing`: there is no key to ask with. */
  readonly reason: ReasonWith<'accountUnread'>;
  readonly outcome: Exclude<Outcome<never>, { kind: 'applied' }>;
  readonly message: string;
}

/** The newest read failed; `outcome` has the cause. */
export interface ReadFailure extends ReadProblem {
  /** Monotonic milliseconds of the first failure in a row. */
  readonly sinceMs: number;
}

export interface SnapshotChange {
  readonly snapshot: AccountSnapshot;
  /** Ids that are new, gone, or different from the snapshot before. */
  readonly changedIds: ReadonlySet<string>;
}

/** Whose account it is. */
export interface IdentityCheck {
  /** That of the credential in use is known. */
  readonly current: boolean;
  recheck(): void;
  /** Asks the API. Any identity but the pinned one is a failure to read the account. */
  check(signal: AbortSignal): Promise<ReadProblem | undefined>;
}

export interface AccountInformerOptions extends ReadPaceOptions {
  readonly api: ControlApi;
  readonly identity: IdentityCheck;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Asked before every read. */
  readonly lists: () => Lists;
  /** Tasks are held in the account: their heartbeats wait until it is known again whose key it is. */
  readonly heartbeatsWait: () => boolean;
  readonly onSnapshot: (change: SnapshotChange) => void;
  readonly onFailure: (failure: ReadFailure) => void;
}

/** While somebody waits for something to change, but never more often than the normal poll. */
const progressMs = 1000;
/** The same while requests wait for their turn, which every read puts off. */
const crowdedProgressMs = 5000;
/** So many reads in which nothing changes are made at that pace; then each waits twice as long as the one before. */
const eagerReads = 10;
const failureBackoff = { firstMs: 500, longestMs: 60_000 };
const credentialBackoff = { firstMs: 5000, longestMs: 300_000 };
/** The period of heartbeats. */
const longestWithHeartbeatsMs = 30_000;

export class AccountInformer {
  readonly #options: AccountInformerOptions;
  readonly #stopping = new AbortController();
  #current: AccountSnapshot | undefined;
  #previous: AccountSnapshot | undefined;
  /** Of the read that is under way, once the account has been answered. */
  #answered: Pick<wire.Account, 'balanceMicros'> | undefined;
  #failure: ReadFailure | undefined;
  #failures = 0;
  #timer: Timer | undefined;
  #dueAtMs = 0;
  #lastStartMs = Number.NEGATIVE_INFINITY;
  readonly #pace: ReadPace;
  #reading: Promise<void> | undefined;
  /** Since the last read began. */
  #rejected = false;
  #wanted = false;
  readonly #unreadable: UnreadableLog;
  /** Reads in a row in which nothing had changed. */
  #unchanged = 0;
  /** The read that is under way is followed by another one at once. */
  #again = false;
  /** Who waits for a successful read that begins later than this, in monotonic milliseconds. */
  #waiters: { readonly afterMs: number; readonly resolve: () => void }[] = [];

  constructor(options: AccountInformerOptions) {
    this.#options = options;
    this.#pace = new ReadPace(options, options.clock.monotonicMs());
    this.#unreadable = new UnreadableLog(options.logger);
  }

  /** The newest successful read, however old. */
  get current(): AccountSnapshot | undefined {
    return this.#current;
  }

  /**
   * What can be counted on, in micro-USD; undefined when it can't be read. A balance that was answered does not wait for the lists that are read
   * beside it; until it is known whose account was read it can only lower what the newest snapshot shows.
   */
  get balanceMicros(): number | undefined {
    const known = this.#current?.balanceMicros;
    if (!this.#answered || known === undefined) return known;
    const { balanceMicros } = this.#answered;
    return balanceMicros === undefined ? undefined : Math.min(known, balanceMicros);
  }

  /** The successful read before that. */
  get previous(): AccountSnapshot | undefined {
    return this.#previous;
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
   * are at least a second apart (or `pollMs`, if that is shorter), and five while requests wait for their turn.
   */
  want(cause: 'mutation' | 'progress' = 'progress'): void {
    this.#wanted = true;
    this.#pace.busy(this.#options.clock.monotonicMs());
    if (cause === 'mutation') this.#unchanged = 0;
    if (this.#reading || this.#failure) return;
    const patience = 2 ** Math.max(0, this.#unchanged - eagerReads);
    const eagerMs = this.#options.api.requestsWait() ? crowdedProgressMs : progressMs;
    const gapMs = Math.min(eagerMs * patience, this.#options.pollMs);
    this.#schedule(Math.max(0, this.#lastStartMs + gapMs - this.#options.clock.monotonicMs()));
  }

  /** Something in the account is under way, or waits: it is read at its usual pace. */
  attend(): void {
    const { isQuiet } = this.#pace;
    this.#pace.busy(this.#options.clock.monotonicMs());
    if (isQuiet && !this.#reading && !this.#failure) this.#rest();
  }

  /** Resolves with the next successful read that begins after now, and never if there is none. */
  fresh(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiters.push({ afterMs: this.#options.clock.monotonicMs(), resolve });
    this.want('mutation');
    return promise;
  }

  /** Reads now, or right after the read that is under way, whatever the backoff: the credential has changed. */
  retryNow(): void {
    this.#failures = 0;
    this.#options.identity.recheck();
    this.#readNext();
  }

  /** Another request found that the key is not valid. Its account is checked soon, when heartbeats wait for that. */
  rejected(): void {
    this.#rejected = this.#options.heartbeatsWait();
    if (this.#rejected && !this.#reading && !this.#failure) this.#schedule(credentialBackoff.firstMs);
  }

  /** The second read of all follows the first one at once: what is new is made only when two reads don't show it. */
  wantSecond(): void {
    if (this.#current?.sequence === 1 && !this.#failure) this.#readNext();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#timer?.cancel();
    await this.#reading;
  }

  /** What is under way may still use an old credential, or have begun too early. */
  #readNext(): void {
    if (this.#reading) this.#again = true;
    else this.#schedule(0, true);
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
    const { random } = this.#options;
    if (this.#again) {
      this.#again = false;
      this.#schedule(0);
      return;
    }
    if (this.#failure) {
      const { outcome, reason } = this.#failure;
      const forbidden = outcome.kind === 'refused' && outcome.status === 403;
      const isRefused = reason === 'CredentialRejected' || isKeyHold(reason);
      const limits = forbidden || isRefused ? credentialBackoff : failureBackoff;
      const { identity, heartbeatsWait } = this.#options;
      const isUrgent = heartbeatsWait() && !identity.current;
      const longestMs = isUrgent ? longestWithHeartbeatsMs : limits.longestMs;
      this.#schedule(backoffMs(this.#failures - 1, { ...limits, longestMs }, random));
      return;
    }
    this.#schedule(
      Math.max(0, this.#lastStartMs + this.#pace.intervalMs - this.#options.clock.monotonicMs()),
    );
    if (this.#rejected) this.#schedule(credentialBackoff.firstMs);
    if (this.#wanted || this.#waiters.length > 0) this.want();
  }

  async #read(): Promise<void> {
    const { clock, logger, onSnapshot, onFailure } = this.#options;
    this.#wanted = false;
    this.#rejected = false;
    this.#lastStartMs = clock.monotonicMs();
    const read = await this.#readVouched();
    this.#answered = undefined;
    if (this.#stopping.signal.aborted) return;
    if ('reason' in read) {
      const { reason, outcome, message } = withPause(read, clock.wallMs());
      this.#pace.busy(clock.monotonicMs());
      this.#failures += 1;
      const sinceMs = this.#failure?.sinceMs ?? clock.monotonicMs();
      this.#failure = { reason, outcome, message, sinceMs };
      logger.warn({ outcome: outcome.kind, reason, note: message }, 'account read failed');
      onFailure(this.#failure);
      return;
    }
    this.#failures = 0;
    this.#failure = undefined;
    this.#previous = this.#current;
    this.#current = read;
    const changed = changedIds(this.#previous, read);
    this.#unchanged = changed.size > 0 ? 0 : this.#unchanged + 1;
    if (changed.size > 0) this.#pace.busy(clock.monotonicMs());
    else this.#pace.unchanged(clock.monotonicMs());
    onSnapshot({ snapshot: read, changedIds: changed });
    const served = this.#waiters.filter(({ afterMs }) => afterMs <= read.startedAtMs);
    this.#waiters = this.#waiters.filter((waiter) => !served.includes(waiter));
    for (const { resolve } of served) resolve();
  }

  /** A snapshot of which it is known whose account it shows. */
  async #readVouched(): Promise<AccountSnapshot | ReadProblem> {
    const { api, clock, identity, lists } = this.#options;
    const { signal } = this.#stopping;
    const problem = identity.current ? undefined : await identity.check(signal);
    if (problem) return problem;
    // The request may wait at the limiter, which only makes what it shows newer than `startedAtMs` promises.
    const startedAtMs = clock.monotonicMs();
    const wanted = lists();
    const [outcome, templates, registries] = await Promise.all([
      this.#readAccount(signal),
      wanted.templates ? api.templates(signal) : undefined,
      wanted.registries ? api.registries(signal) : undefined,
    ]);
    if (outcome.kind !== 'applied') return readProblem(outcome);
    this.#note(outcome.value, templates, registries);
    const previous = this.#current;
    const shared = new SharedValues();
    const snapshot: AccountSnapshot = {
      sequence: (previous?.sequence ?? 0) + 1,
      startedAtMs,
      receivedAt: clock.wallMs(),
      balanceMicros: outcome.value.balanceMicros,
      currency: outcome.value.currency,
      ledger: outcome.value.ledger,
      services: keepUnchanged(outcome.value.services, previous?.services, shared),
      volumes: keepUnchanged(outcome.value.volumes, previous?.volumes, shared),
      unidentified: outcome.value.unidentified,
      templates: nextListing('templates', previous?.templates, templates),
      registries: nextListing('registries', previous?.registries, registries),
    };
    if (!previous || !hasVanished(previous, snapshot)) return snapshot;
    return (await identity.check(signal)) ?? snapshot;
  }

  async #readAccount(signal: AbortSignal): Promise<Outcome<wire.Account>> {
    const outcome = await this.#options.api.account(signal);
    if (outcome.kind === 'applied') this.#answered = outcome.value;
    return outcome;
  }

  #note(
    account: wire.Account,
    templates: Outcome<wire.Shown<wire.Template>> | undefined,
    registries: Outcome<wire.Shown<wire.Registry>> | undefined,
  ): void {
    const log = this.#unreadable;
    const { services, volumes, unidentified, ledger } = account;
    log.add('account', [account]);
    log.add('service', services);
    log.add('service', unidentified.services);
    log.add('volume', volumes);
    log.add('volume', unidentified.volumes);
    log.add('ledger', ledger);
    for (const [resource, list] of [
      ['template', templates],
      ['registry', registries],
    ] as const) {
      if (list?.kind !== 'applied') continue;
      log.add(resource, list.value.items);
      log.add(resource, list.value.unidentified);
    }
  }
}

export function isKeyHold(reason: BlockingReason): reason is KeyHold {
  const { accountUnread, kind } = entryOf(reason);
  return accountUnread === true && kind === 'held';
}

/** A pause that lasts is no fault of the network, and has an end. `nowMs`: Unix milliseconds, at which it was asked for. */
function withPause(problem: ReadProblem, nowMs: number): ReadProblem {
  const { outcome } = problem;
  const pauseMs = 'retryAfterMs' in outcome && outcome.status === 429 ? (outcome.retryAfterMs ?? 0) : 0;
  if (pauseMs < longPauseMs) return problem;
  const message = `the API has asked to send nothing before ${rfc3339(nowMs + pauseMs)} (429 with Retry-After); the account can't be read until then`;
  return { reason: 'ReadsRateLimited', outcome, message };
}

/** What a failed request to the account means for everything in it. */
export function readProblem(outcome: ReadProblem['outcome']): ReadProblem {
  const rejected = outcome.kind === 'refused' && outcome.status === 401;
  return {
    reason: rejected ? 'CredentialRejected' : 'ApiUnreachable',
    outcome,
    message: describeOutcome(outcome),
  };
}
