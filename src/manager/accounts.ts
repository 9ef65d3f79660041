/**
 * The accounts that the fleet lives in: one client, limiter and informer each, made from the Account documents, or
 * for the account `default` from flags and environment. A changed document replaces its handle; a changed
 * credential is used with the next request.
 */
import { ControlApi, Limiter, type Transport } from '../api/index.ts';
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
import { annotations, accountKey, originOf, type AccountSpec } from '../resources/index.ts';
import type { OriginHold } from '../engine/plan/index.ts';
import type { StateStore } from '../state/index.ts';
import type { Logger, Metrics } from '../telemetry/index.ts';
import { AccountKeys, type AccountOrigin, type EnvironmentAccount } from './account-keys.ts';
import { SharedTransports } from './transports.ts';
import { accountSpecs, defaultAccount, environmentKey, movedAccounts } from './account-specs.ts';
import type { WantedAccount } from './account-specs.ts';
import { IdentityWatch } from './identity-watch.ts';

export interface AccountRegistryOptions {
  readonly environment: EnvironmentAccount;
  readonly store: StateStore;
  /** The name of an identity that a person has said to be right, for any account. */
  readonly acceptedIdentity: string | undefined;
  /** Whether this process may change anything; undefined: always. */
  readonly mayAct: (() => boolean) | undefined;
  readonly createTransport: (clock: Clock) => Transport;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** What is to be read of an account beside itself. */
  readonly lists: (account: AccountHandle) => Lists;
  /** Whether there are tasks that are beaten for in the account. */
  readonly beats: (account: string) => boolean;
  readonly onSnapshot: (handle: AccountHandle, change: SnapshotChange) => void;
  readonly onFailure: (handle: AccountHandle, failure: ReadFailure) => void;
  readonly onReplaced: (handle: AccountHandle) => void;
  /** Nothing resolves to it any more. */
  readonly onLost: (handle: AccountHandle) => void;
}

type Readable = WantedAccount & { readonly retired?: boolean };

/** Between two looks at the key of the environment. */
const keyLookMs = 2000;
/** Between two questions whose key it is that heartbeats wait to go on with. */
const identityRetryMs = 30_000;

interface Entry {
  readonly handle: AccountHandle;
  readonly identity: IdentityWatch;
  readonly transport: Transport;
  /** The name of its limiter. */
  readonly door: string;
  /** Where it comes from, for as long as it is there: its key may come from nowhere else. */
  readonly origin: AccountOrigin;
  /** What its document says now; while it is held, `handle.spec` is what was in use before. */
  readonly declared: { account: WantedAccount };
  /** The credential in use, the identity that the document accepts, and why it is held, to notice a change. */
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
  /** Their documents went (with a mount, perhaps) while tasks were held in them. */
  readonly #retired = new Map<string, Entry>();
  /** By account and address. They outlive their documents: neither Retry-After nor the learned rate is forgotten by an edit. */
  readonly #limiters = new Map<string, Limiter>();
  readonly #closing = new Set<Promise<void>>();
  readonly #stopping = new AbortController();
  /** When it is asked, by account, whose key it is that heartbeats wait to go on with. */
  readonly #questions = new Map<string, Timer>();
  readonly #keys: AccountKeys;
  readonly #transports: SharedTransports;
  #snapshot: DesiredSnapshot | undefined;
  #keyTimer: Timer | undefined;

  constructor(options: AccountRegistryOptions) {
    this.#options = options;
    this.#keys = new AccountKeys(options.environment);
    this.#transports = new SharedTransports(() => options.createTransport(options.clock));
  }

  handles(): Iterable<AccountHandle> {
    return [...this.#entries.values()].map((entry) => entry.handle);
  }

  resolve(namespace: string, name: string): ResolvedAccount {
    const key = accountKey(`${namespace}/${name}`);
    const own = this.#entries.get(`${namespace}/${name}`);
    if (own?.origin.kind === 'document') return { kind: 'usable', handle: own.handle };
    if (this.#snapshot?.unusable.has(key)) {
      const message = `the document of Account ${name} can't be used; put that right first`;
      return { kind: 'problem', reason: 'AccountInvalid', message };
    }
    const shared = name === defaultAccount ? this.#entries.get(environmentKey) : undefined;
    if (shared?.origin.kind === 'environment') return { kind: 'usable', handle: shared.handle };
    const hint =
      name === defaultAccount
        ? '; add its document, or set FLEETKEEPER_API_URL and FLEETKEEPER_API_KEY'
        : '; add its document, or correct the name';
    return {
      kind: 'problem',
      reason: 'AccountNotFound',
      message: `there is no Account ${name} in the namespace ${namespace}${hint}`,
    };
  }

  /** Makes, replaces and ends handles so that they are what the snapshot says. */
  update(snapshot: DesiredSnapshot): void {
    // A folder without one document is far more often a wrong one: activities in the accounts are kept fresh meanwhile.
    if (snapshot.empty && !snapshot.cluster && this.#snapshot) return;
    const moved = movedAccounts(snapshot, this.#snapshot);
    this.#snapshot = snapshot;
    const wanted = accountSpecs(snapshot, this.#options.environment, moved);
    for (const name of moved === 'all' ? [...this.#entries.keys()] : moved) {
      const entry = this.#entries.get(name);
      if (!entry) continue;
      const next = wanted.get(name)?.origin.kind;
      if (next === entry.origin.kind) continue;
      // Nothing is concluded from an unusable document, or from what could be read in part only: the environment does not take its place.
      const isUnusable = snapshot.unusable.has(accountKey(name));
      if (next !== 'document' && (isUnusable || !snapshot.complete)) {
        wanted.delete(name);
        continue;
      }
      this.#retire(name, entry);
      this.#entries.delete(name);
      this.#forgetIdentity(name);
      this.#options.onLost(entry.handle);
    }
    for (const [name, account] of wanted) if (!this.#isKept(name, account)) this.#put(name, account);
    this.#lookAtKeys();
  }

  /** Nobody tells that the key of the environment, or the file that it is in, is another one. */
  #lookAtKeys(): void {
    this.#keyTimer?.cancel();
    this.#keyTimer = undefined;
    const ofEnvironment = this.#entries.get(environmentKey);
    if (ofEnvironment?.origin.kind !== 'environment') return;
    this.#put(environmentKey, ofEnvironment.declared.account);
    this.#keyTimer = this.#options.clock.after(keyLookMs, () => this.#lookAtKeys());
  }

  /** Sends nothing any more; what is under way is finished. */
  closeDoors(): void {
    for (const { handle } of [...this.#entries.values(), ...this.#retired.values()]) handle.api.close();
  }

  /** Reads of accounts end at once; mutations under way are waited for by whoever sent them. */
  async stop(): Promise<void> {
    for (const entry of [...this.#entries.values(), ...this.#retired.values()]) this.#end(entry);
    this.#entries.clear();
    this.#retired.clear();
    this.#stopping.abort();
    this.#keyTimer?.cancel();
    for (const question of this.#questions.values()) question.cancel();
    await Promise.all(this.#closing);
  }

  /** The environment does not take the place of a document that tasks are still held for. */
  #isKept(name: string, { origin }: WantedAccount): boolean {
    return origin.kind === 'environment' && this.#retired.has(name) && this.#options.beats(name);
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
        // What was refused with the key before is looked at again, too.
        this.#options.onReplaced(current.handle);
        current.handle.informer.retryNow();
        this.#askForBeats(name, current.identity, 0);
      }
      return;
    }
    if (current) this.#end(current);
    const entry = this.#make(name, spec, wanted, before);
    this.#entries.set(name, entry);
    this.#options.onReplaced(entry.handle);
    entry.handle.informer.start();
  }

  /** As the document says; while that is held, as before: heartbeats go on to where the key was used. */
  #specInUse(name: string, wanted: WantedAccount, before: Entry | undefined): AccountSpec {
    const isSameOwner = before?.origin.kind === wanted.origin.kind;
    const goesOn =
      isSameOwner &&
      originOf(before.handle.spec.url) === this.#pinned(name) &&
      this.#holdOf(name, before.handle.spec, wanted)?.heartbeats === true;
    return goesOn ? before.handle.spec : wanted.spec;
  }

  #limiterOf(account: string, { requests }: AccountSpec, door: string): Limiter {
    const { clock, metrics } = this.#options;
    const { perSecond, burst, concurrency } = requests;
    const limits = { account, perSecond, burst, concurrency };
    const limiter = this.#limiters.get(door) ?? new Limiter(limits, clock, metrics);
    this.#limiters.set(door, limiter);
    limiter.configure(limits);
    return limiter;
  }

  #make(name: string, spec: AccountSpec, wanted: WantedAccount, before: Entry | undefined): Entry {
    const { origin } = wanted;
    const { clock, random, logger, metrics, mayAct, onSnapshot, onFailure } = this.#options;
    const transport = this.#transports.open(originOf(spec.url));
    const door = `${name} ${spec.url}`;
    const limiter = this.#limiterOf(name, spec, door);
    const isSameApi = before?.origin.kind === origin.kind && before.handle.spec.url === spec.url;
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
      keyRemedy: () => this.#keyRemedy(name, account()),
      me: (...asked) => api.me(...asked),
      heartbeatsWait: () => this.#options.beats(name),
      lastKnown: isSameApi ? before.identity.lastKnown : undefined,
      onRejected: () => this.#rejected(name, identity),
      accepted: () =>
        [this.#accepted(name), this.#options.acceptedIdentity].filter((text) => text !== undefined),
      isDocument: origin.kind === 'document',
      logger,
    });
    const api = new ControlApi({
      baseUrl: spec.url.replace(/\/+$/, ''),
      credential,
      transport,
      limiter,
      clock,
      metrics,
      trust: identity,
      refusals: spec.refusals,
      credentialsHeader: spec.credentialsHeader,
      ...(mayAct ? { mayAct } : {}),
    });
    let ledger: AccountSnapshot['ledger'] = [];
    const told = logger.child({ account: name });
    const handle: AccountHandle = {
      name,
      isShared: origin.kind === 'environment',
      spec,
      api,
      identity,
      funds: new FundsMemory(clock),
      keyDigest: () => this.#digest(credential()),
      catalog: new CatalogCache({ read: (signal) => api.catalog(signal), clock, logger: told }),
      informer: new AccountInformer({
        api,
        identity,
        clock,
        random,
        logger: told,
        pollMs: spec.pollSeconds * 1000,
        lists: () => this.#options.lists(handle),
        heartbeatsWait: () => this.#options.beats(name),
        onSnapshot: (change) => {
          if (ledgerHasGap(ledger, change.snapshot.ledger)) metrics.ledgerGaps.inc({ account: name });
          ledger = change.snapshot.ledger;
          onSnapshot(handle, change);
        },
        onFailure: (failure) => onFailure(handle, failure),
      }),
    };
    return { handle, identity, transport, door, origin, declared, seen: this.#seen(name, spec, wanted) };
  }

  #pinned(name: string): string | undefined {
    return this.#options.store.identityPin(name)?.origin;
  }

  /** Why no key may be sent to where the document says; nor, when its Secret forbids that, to where it was used before (`spec`). */
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

  /** Whose key it is has to be asked again before heartbeats go on. */
  #rejected(name: string, identity: IdentityWatch): void {
    const entry = this.#entries.get(name);
    if (entry?.identity === identity) entry.handle.informer.rejected();
    this.#askForBeats(name, identity, identityRetryMs);
  }

  /**
   * Until it is known whose key it is, while heartbeats wait for that. Of a retired account no reads are made that would ask it, and those of
   * another one may wait behind Retry-After.
   */
  #askForBeats(name: string, identity: IdentityWatch, delayMs: number): void {
    const isCurrent = () =>
      [this.#entries.get(name), this.#retired.get(name)].some((entry) => entry?.identity === identity);
    const isOver = () => !isCurrent() || !this.#options.beats(name);
    const ask = async () => {
      if (isOver() || identity.letsBeat) return;
      await identity.check(this.#stopping.signal);
      if (!identity.letsBeat) this.#askForBeats(name, identity, identityRetryMs);
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

  /** An Account that is gone for good, with nothing of ours left in it, may come back as another one; where its key was used is not forgotten. */
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

  #digest(key: Sensitive<string> | undefined): string | undefined {
    return key && this.#options.store.digestKey.digest({ key: key.reveal() });
  }

  #keyRemedy(name: string, account: Readable): string {
    const found = this.#keys.keyOf({ name, ...account }, this.#snapshot);
    return found.kind === 'none' ? found.remedy : '';
  }

  /** Nothing is read or changed for it any more; heartbeats for tasks that are held in it go on until the process ends. */
  #retire(name: string, entry: Entry): void {
    if (!this.#options.beats(name)) return this.#end(entry);
    const before = this.#retired.get(name);
    if (before) this.#end(before);
    this.#retired.set(name, entry);
    entry.handle.catalog.stop();
    void entry.handle.informer.stop();
    this.#askForBeats(name, entry.identity, identityRetryMs);
  }

  #end(entry: Entry): void {
    const others = [...this.#entries.values(), ...this.#retired.values()].filter((other) => other !== entry);
    const isUsed = others.some(({ door }) => door === entry.door);
    if (!isUsed && this.#limiters.get(entry.door)?.isIdle) this.#limiters.delete(entry.door);
    entry.handle.catalog.stop();
    const ended = entry.handle.informer.stop().then(() => entry.transport.close());
    this.#closing.add(ended);
    void ended.finally(() => this.#closing.delete(ended));
  }
}
