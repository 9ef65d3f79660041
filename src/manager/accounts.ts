/**
 * The accounts of the fleet. Each has one client, limiter and informer. They are created from the Account documents; the account `default`
 * may come from flags and environment instead. A changed document replaces the handle. A changed credential is used from the next request on.
 */
import { Limiter, type Transport } from '../api/index.ts';
import { messageOf, sameValue, type Clock, type Random, type Sensitive, type Timer } from '../base/index.ts';
import type { DesiredSnapshot } from '../desired/index.ts';
import {
  AccountInformer,
  CatalogCache,
  ledgerHasGap,
  type AccountSnapshot,
  type Lists,
  type ReadFailure,
  type SnapshotChange,
} from '../observed/index.ts';
import { FundsMemory, type AccountHandle, type Accounts, type ResolvedAccount } from '../engine/index.ts';
import {
  annotations,
  accountKey,
  defaultAccount,
  longestPollSeconds,
  originOf,
  type AccountSpec,
} from '../resources/index.ts';
import type { OriginHold } from '../engine/plan/index.ts';
import type { StateStore } from '../state/index.ts';
import type { Logger, Metrics } from '../telemetry/index.ts';
import { AccountKeys, derivedKey, type AccountOrigin, type EnvironmentAccount } from './account-keys.ts';
import { accountApi } from './account-api.ts';
import { SharedTransports } from './transports.ts';
import { accountNotFound, accountSpecs, environmentKey, movedAccounts } from './account-specs.ts';
import { mayBeDeclared, type WantedAccount } from './account-specs.ts';
import { IdentityWatch } from './identity-watch.ts';

export interface AccountRegistryOptions {
  readonly environment: EnvironmentAccount;
  readonly store: StateStore;
  /** The name of an identity that the operator has confirmed, for any account. */
  readonly acceptedIdentity: string | undefined;
  /** Whether this process may send changes. Undefined: always. */
  readonly mayAct: (() => boolean) | undefined;
  readonly createTransport: (clock: Clock) => Transport;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Whether the account (`namespace/name`) is used at all. Nothing is sent to any other. */
  readonly isNeeded: (account: string) => boolean;
  /** What to read of an account besides itself. */
  readonly lists: (account: AccountHandle) => Lists;
  readonly hasOpenWork: (account: AccountHandle) => boolean;
  /** Whether tasks in the account need heartbeats. */
  readonly hasHeartbeats: (account: string) => boolean;
  readonly onSnapshot: (handle: AccountHandle, change: SnapshotChange) => void;
  readonly onFailure: (handle: AccountHandle, failure: ReadFailure) => void;
  readonly onReplaced: (handle: AccountHandle) => void;
  /** The handle is no longer in use. */
  readonly onLost: (handle: AccountHandle) => void;
}

type Readable = WantedAccount & { readonly retired?: boolean };

/** Interval of the check for a new key in the environment. */
const keyCheckMs = 2000;
/** Interval of identity checks while heartbeats wait for one. */
const identityRetryMs = 30_000;

interface Entry {
  readonly handle: AccountHandle;
  readonly identity: IdentityWatch;
  readonly transport: Transport;
  /** The key of its limiter. */
  readonly limiterKey: string;
  /** Where it came from when it was created. Its key may come from nowhere else. */
  readonly origin: AccountOrigin;
  /** The current document. While it is held, `handle.spec` is the spec that was in use before. */
  readonly declared: { account: WantedAccount };
  /** The credential in use, the accepted identity, and why the account is held, so that a change is noticed. */
  seen: Seen;
}

interface Seen {
  readonly credential: string | undefined;
  readonly accepted: string | undefined;
  readonly held: string | undefined;
}

export class AccountRegistry implements Accounts {
  readonly #options: AccountRegistryOptions;
  readonly #entries = new Map<string, Entry>();
  /** Their documents are gone (perhaps with a mount) while tasks in them still had activities. */
  readonly #retired = new Map<string, Entry>();
  /** By account and address. They outlive their documents, so an edit does not forget Retry-After. */
  readonly #limiters = new Map<string, Limiter>();
  readonly #closing = new Set<Promise<void>>();
  readonly #stopping = new AbortController();
  /** Timers for identity checks that heartbeats wait for, by account. */
  readonly #questions = new Map<string, Timer>();
  readonly #keys: AccountKeys;
  readonly #transports: SharedTransports;
  #snapshot: DesiredSnapshot | undefined;
  #keyTimer: Timer | undefined;

  constructor(options: AccountRegistryOptions) {
    this.#options = options;
    this.#keys = new AccountKeys(options.environment);
    this.#transports = new SharedTransports(options.createTransport, options.clock);
  }

  handles(): Iterable<AccountHandle> {
    return [...this.#entries.values()].map((entry) => entry.handle);
  }

  handle(name: string): AccountHandle | undefined {
    return this.#entries.get(name)?.handle;
  }

  resolve(namespace: string, name: string): ResolvedAccount {
    const own = this.#entries.get(`${namespace}/${name}`);
    if (own?.origin.kind === 'document') return { kind: 'usable', handle: own.handle };
    if (this.#snapshot?.unusable.has(accountKey(`${namespace}/${name}`))) {
      const message = `the document of Account ${name} can't be used; correct it first`;
      return { kind: 'problem', reason: 'AccountInvalid', message };
    }
    const shared = name === defaultAccount ? this.#entries.get(environmentKey) : undefined;
    if (shared?.origin.kind === 'environment') return { kind: 'usable', handle: shared.handle };
    return accountNotFound(this.#snapshot, namespace, name);
  }

  /** Creates, replaces and closes handles so that they match the snapshot. */
  update(snapshot: DesiredSnapshot): void {
    // A folder without any document is usually the wrong one. Activities are kept fresh meanwhile.
    if (snapshot.empty && !snapshot.cluster && this.#snapshot) return;
    const moved = movedAccounts(snapshot, this.#snapshot);
    this.#snapshot = snapshot;
    const wanted = accountSpecs(snapshot, this.#options.environment, moved);
    for (const name of moved === 'all' ? [...this.#entries.keys()] : moved) {
      const entry = this.#entries.get(name);
      if (!entry) continue;
      const next = wanted.get(name)?.origin.kind;
      if (next === entry.origin.kind) continue;
      // The environment replaces no such document.
      if (next !== 'document' && mayBeDeclared(name, snapshot)) {
        wanted.delete(name);
        continue;
      }
      this.#retire(name, entry);
      this.#entries.delete(name);
      this.#forgetIdentity(name);
      this.#options.onLost(entry.handle);
    }
    for (const [name, account] of wanted) {
      if (this.#options.isNeeded(name) && !this.#isKept(name, account)) this.#put(name, account);
    }
    this.#checkKeys();
  }

  /** No event reports a changed key in the environment, or in the file that holds it. */
  #checkKeys(): void {
    this.#keyTimer?.cancel();
    this.#keyTimer = undefined;
    const ofEnvironment = this.#entries.get(environmentKey);
    if (ofEnvironment?.origin.kind !== 'environment') return;
    this.#put(environmentKey, ofEnvironment.declared.account);
    this.#keyTimer = this.#options.clock.after(keyCheckMs, () => this.#checkKeys());
  }

  /** Sends nothing from now on. Mutations under way are finished; a read that is given up for it has not failed. */
  closeClients(): void {
    const entries = [...this.#entries.values(), ...this.#retired.values()];
    for (const { handle } of entries) void handle.informer.stop();
    for (const { handle } of entries) handle.api.close();
  }

  /** Ends reads of accounts at once. Mutations under way are awaited by their senders. */
  async stop(): Promise<void> {
    for (const entry of [...this.#entries.values(), ...this.#retired.values()]) this.#end(entry);
    this.#entries.clear();
    this.#retired.clear();
    this.#stopping.abort();
    this.#keyTimer?.cancel();
    for (const question of this.#questions.values()) question.cancel();
    await Promise.all(this.#closing);
  }

  /** While tasks of a document's account have activities, the environment does not replace that account. */
  #isKept(name: string, { origin }: WantedAccount): boolean {
    return origin.kind === 'environment' && this.#retired.has(name) && this.#options.hasHeartbeats(name);
  }

  #put(name: string, wanted: WantedAccount): void {
    const current = this.#entries.get(name);
    const before = current ?? this.#retired.get(name);
    const spec = this.#specInUse(name, wanted, before);
    if (current && sameValue(current.origin, wanted.origin) && sameValue(current.handle.spec, spec)) {
      current.declared.account = wanted;
      const seen = this.#seen(name, spec, wanted);
      if (!sameValue(seen, current.seen)) {
        current.seen = seen;
        // Whatever was refused with the old key is rechecked.
        this.#options.onReplaced(current.handle);
        current.handle.informer.retryNow();
        this.#identifyForHeartbeats(name, current.identity, 0);
      }
      return;
    }
    if (current) this.#end(current);
    const entry = this.#make(name, spec, wanted, before);
    this.#entries.set(name, entry);
    this.#options.onReplaced(entry.handle);
    entry.handle.informer.start();
  }

  /** The spec of the document. While that is held, the previous one: heartbeats continue with it. */
  #specInUse(name: string, wanted: WantedAccount, before: Entry | undefined): AccountSpec {
    const isSameOwner = before?.origin.kind === wanted.origin.kind;
    const continues =
      isSameOwner &&
      originOf(before.handle.spec.url) === this.#pinned(name) &&
      this.#holdOf(name, before.handle.spec, wanted)?.heartbeats === true;
    return continues ? before.handle.spec : wanted.spec;
  }

  #limiterOf(account: string, { requests, url }: AccountSpec): [key: string, limiter: Limiter] {
    const limiterKey = `${account} ${url}`;
    const { clock, metrics } = this.#options;
    const { perSecond, burst, concurrency } = requests;
    const limits = { account, perSecond, burst, concurrency };
    const limiter = this.#limiters.get(limiterKey) ?? new Limiter(limits, clock, metrics);
    this.#limiters.set(limiterKey, limiter);
    limiter.configure(limits);
    return [limiterKey, limiter];
  }

  #make(name: string, spec: AccountSpec, wanted: WantedAccount, before: Entry | undefined): Entry {
    const { origin } = wanted;
    const { clock, random, logger, metrics, onSnapshot, onFailure } = this.#options;
    const transport = this.#transports.open(originOf(spec.url));
    const [limiterKey, limiter] = this.#limiterOf(name, spec);
    const isSameApi = before?.origin.kind === origin.kind && before.handle.spec.url === spec.url;
    const known = isSameApi ? before : undefined;
    const account = () => ({ spec, origin, retired: this.#retired.get(name)?.identity === identity });
    const declared = { account: wanted };
    const hold = () => this.#holdOf(name, spec, declared.account);
    const credential = () => (hold() ? undefined : this.#credential(name, account()));
    const identity: IdentityWatch = new IdentityWatch({
      account: name,
      store: this.#options.store,
      credential,
      origin: originOf(spec.url),
      hold,
      missingKey: () => this.#missingKey(name, account()),
      me: (...asked) => api.me(...asked),
      heartbeatsWait: () => this.#options.hasHeartbeats(name),
      lastKnown: known?.identity.lastKnown,
      onRejected: () => this.#rejected(name, identity),
      accepted: () =>
        [this.#accepted(name), this.#options.acceptedIdentity].filter((text) => text !== undefined),
      isDocument: origin.kind === 'document',
      logger,
    });
    const api = accountApi(this.#options, spec, { credential, transport, limiter, trust: identity });
    let ledger: AccountSnapshot['ledger'] = [];
    const own = { clock, logger: logger.child({ account: name }) };
    const handle: AccountHandle = {
      name,
      isShared: origin.kind === 'environment',
      spec,
      api,
      pace: () => limiter.pace,
      time: () => transport.time.now(),
      identity,
      funds: new FundsMemory(clock),
      keyDigest: () => {
        const key = credential();
        return key && this.#options.store.digestKey.digest({ key: key.reveal() });
      },
      derivedKey: (purpose) => derivedKey(credential(), purpose),
      catalog: new CatalogCache({
        ...own,
        regions: known?.handle.catalog.regions,
        read: (...asked) => api.catalog(...asked),
      }),
      informer: new AccountInformer({
        api,
        identity,
        ...own,
        random,
        pollMs: spec.pollSeconds * 1000,
        quietPollMs: longestPollSeconds(spec) * 1000,
        hasOpenWork: () => this.#options.hasOpenWork(handle),
        lists: () => this.#options.lists(handle),
        heartbeatsWait: () => this.#options.hasHeartbeats(name),
        onSnapshot: (change) => {
          if (ledgerHasGap(ledger, change.snapshot.ledger)) metrics.ledgerGaps.inc({ account: name });
          ledger = change.snapshot.ledger;
          onSnapshot(handle, change);
        },
        onFailure: (failure) => onFailure(handle, failure),
      }),
    };
    const seen = this.#seen(name, spec, wanted);
    return { handle, identity, transport, limiterKey, origin, declared, seen };
  }

  #pinned(name: string): string | undefined {
    return this.#options.store.identityPin(name)?.origin;
  }

  /** Why no key may be sent there. If the Secret forbids the previous origin (`spec`), heartbeats stop, too. */
  #holdOf(name: string, spec: AccountSpec, { origin, spec: said }: WantedAccount): OriginHold | undefined {
    const pinned = this.#pinned(name);
    const hold = this.#keys.holdOf({ name, spec: said, origin }, pinned, this.#snapshot);
    const isForbidden = () => this.#keys.holdOf({ name, spec, origin }, pinned, this.#snapshot) !== undefined;
    return hold && { ...hold, heartbeats: hold.heartbeats && !isForbidden() };
  }

  #seen(name: string, spec: AccountSpec, wanted: WantedAccount): Seen {
    const held = this.#holdOf(name, spec, wanted)?.message;
    const credential = held === undefined ? this.#credential(name, wanted)?.reveal() : undefined;
    return { credential, accepted: this.#accepted(name), held };
  }

  /** The API rejected the key. Before heartbeats continue, its identity has to be checked again. */
  #rejected(name: string, identity: IdentityWatch): void {
    const entry = this.#entries.get(name);
    if (entry?.identity === identity) entry.handle.informer.rejected();
    this.#identifyForHeartbeats(name, identity, identityRetryMs);
  }

  /** Repeats identity checks while heartbeats wait. A retired account has no reads; others may wait for Retry-After. */
  #identifyForHeartbeats(name: string, identity: IdentityWatch, delayMs: number): void {
    const isCurrent = () =>
      [this.#entries.get(name), this.#retired.get(name)].some((entry) => entry?.identity === identity);
    const isOver = () => !isCurrent() || !this.#options.hasHeartbeats(name);
    const ask = async () => {
      if (isOver() || identity.letsHeartbeats) return;
      await identity.check(this.#stopping.signal);
      if (!identity.letsHeartbeats) this.#identifyForHeartbeats(name, identity, identityRetryMs);
    };
    this.#questions.get(name)?.cancel();
    this.#questions.set(
      name,
      this.#options.clock.after(delayMs, () => void ask()),
    );
  }

  /** The identity that the document of the account accepts. */
  #accepted(name: string): string | undefined {
    const document = this.#snapshot?.objects.get(accountKey(name));
    return document?.annotations[annotations.acceptIdentity];
  }

  /** After a deletion for good, another Account may have the name. The pinned origin is kept. */
  #forgetIdentity(name: string): void {
    const { store, logger } = this.#options;
    if (store.recordsOf(name).length > 0) return;
    const origin = this.#pinned(name);
    const left = origin === undefined ? undefined : { id: undefined, emailDigest: undefined, origin };
    store.saveIdentityPin(name, left).catch((error: unknown) => {
      logger.error(
        { account: name, note: messageOf(error) },
        'identity of the account could not be forgotten',
      );
    });
  }

  #credential(name: string, account: Readable): Sensitive<string> | undefined {
    const found = this.#keys.keyOf({ name, ...account }, this.#snapshot);
    return found.kind === 'key' ? found.key : undefined;
  }

  #missingKey(name: string, account: Readable): { readonly remedy: string; readonly isUnread?: true } {
    const found = this.#keys.keyOf({ name, ...account }, this.#snapshot);
    return found.kind === 'none' ? found : { remedy: '' };
  }

  /** Stops reads and changes. Heartbeats for tasks that have activities in it continue until the process ends. */
  #retire(name: string, entry: Entry): void {
    if (!this.#options.hasHeartbeats(name)) return this.#end(entry);
    const before = this.#retired.get(name);
    if (before) this.#end(before);
    this.#retired.set(name, entry);
    entry.handle.catalog.stop();
    void entry.handle.informer.stop();
    this.#identifyForHeartbeats(name, entry.identity, identityRetryMs);
  }

  #end(entry: Entry): void {
    const others = [...this.#entries.values(), ...this.#retired.values()].filter((other) => other !== entry);
    const isUsed = others.some(({ limiterKey }) => limiterKey === entry.limiterKey);
    if (!isUsed && this.#limiters.get(entry.limiterKey)?.isIdle) this.#limiters.delete(entry.limiterKey);
    entry.handle.catalog.stop();
    const ended = entry.handle.informer.stop().then(() => entry.transport.close());
    this.#closing.add(ended);
    void ended.finally(() => this.#closing.delete(ended));
  }
}
