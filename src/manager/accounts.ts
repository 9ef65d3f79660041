/**
 * The accounts that the fleet lives in: one client, limiter and informer each, made from the Account documents, or
 * for the account `default` from flags and environment. A changed document replaces its handle; a changed
 * credential is used with the next request.
 */
import { ControlApi, Limiter, createTransport, type Transport } from '../api/index.ts';
import { Sensitive, sameValue, type Clock, type Random } from '../base/index.ts';
import type { DesiredObject, DesiredSnapshot } from '../desired/index.ts';
import { AccountInformer, type ReadFailure, type SnapshotChange } from '../observed/index.ts';
import type { AccountHandle, Accounts, ResolvedAccount } from '../reconcile/index.ts';
import { objectKey, type AccountSpec } from '../resources/index.ts';
import type { Logger, Metrics } from '../telemetry/index.ts';

/** What the environment says: used where no document does. */
export interface EnvironmentAccount {
  readonly url: string | undefined;
  /** Read anew at each use, so that a rotated key file is noticed. */
  readonly apiKey: () => Sensitive<string> | undefined;
}

export interface AccountRegistryOptions {
  readonly environment: EnvironmentAccount;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly onSnapshot: (handle: AccountHandle, change: SnapshotChange) => void;
  readonly onFailure: (handle: AccountHandle, failure: ReadFailure) => void;
  readonly onReplaced: (handle: AccountHandle) => void;
}

interface Entry {
  readonly handle: AccountHandle;
  readonly transport: Transport;
  /** Outlives a change of the document: neither Retry-After nor the learned rate is forgotten by an edit. */
  readonly limiter: Limiter;
  /** Not of a document: every namespace may use it. */
  readonly shared: boolean;
  /** The credential in use, to notice a change. */
  credential: string | undefined;
}

const defaultName = 'default';

export class AccountRegistry implements Accounts {
  readonly #options: AccountRegistryOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #closing = new Set<Promise<void>>();
  #snapshot: DesiredSnapshot | undefined;

  constructor(options: AccountRegistryOptions) {
    this.#options = options;
  }

  handles(): Iterable<AccountHandle> {
    return [...this.#entries.values()].map((entry) => entry.handle);
  }

  resolve(namespace: string, name: string): ResolvedAccount {
    const key = objectKey('Account', namespace, name);
    const own = this.#entries.get(`${namespace}/${name}`);
    if (own && !own.shared) return { kind: 'usable', handle: own.handle };
    if (this.#snapshot?.unusable.has(key)) {
      const message = `the document of Account ${name} can't be used; put that right first`;
      return { kind: 'problem', reason: 'AccountInvalid', message };
    }
    const shared = name === defaultName ? this.#entries.get(environmentKey) : undefined;
    if (shared?.shared) return { kind: 'usable', handle: shared.handle };
    const hint =
      name === defaultName
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
    this.#snapshot = snapshot;
    const wanted = new Map<string, AccountSpec>();
    for (const object of snapshot.objects.values()) {
      if (object.kind !== 'Account') continue;
      wanted.set(`${object.namespace}/${object.name}`, (object as DesiredObject<'Account'>).spec);
    }
    const { environment } = this.#options;
    const shared = environment.url !== undefined && !wanted.has(environmentKey);
    if (shared) wanted.set(environmentKey, environmentSpec(environment.url));
    for (const [name, entry] of this.#entries) {
      // An unusable document leaves its account as it was: nothing is concluded from it.
      const [namespace = '', own = ''] = name.split('/');
      if (wanted.has(name) || snapshot.unusable.has(objectKey('Account', namespace, own))) continue;
      this.#end(entry);
      this.#entries.delete(name);
    }
    for (const [name, spec] of wanted) this.#put(name, spec, shared && name === environmentKey);
  }

  /** Sends nothing any more; what is under way is finished. */
  closeDoors(): void {
    for (const { handle } of this.#entries.values()) handle.api.close();
  }

  /** Reads of accounts end at once; mutations under way are waited for by whoever sent them. */
  async stop(): Promise<void> {
    for (const entry of this.#entries.values()) this.#end(entry);
    this.#entries.clear();
    await Promise.all(this.#closing);
  }

  #put(name: string, spec: AccountSpec, shared: boolean): void {
    const current = this.#entries.get(name);
    if (current && current.shared === shared && sameValue(current.handle.spec, spec)) {
      const credential = this.#credential(name, spec)?.reveal();
      if (credential !== current.credential) {
        current.credential = credential;
        current.handle.informer.retryNow();
      }
      return;
    }
    if (current) this.#end(current);
    const entry = this.#make(name, spec, shared, current);
    this.#entries.set(name, entry);
    if (current) this.#options.onReplaced(entry.handle);
    entry.handle.informer.start();
  }

  #make(name: string, spec: AccountSpec, shared: boolean, before: Entry | undefined): Entry {
    const { clock, random, logger, metrics, onSnapshot, onFailure } = this.#options;
    const { perSecond, burst, concurrency } = spec.requests;
    const transport = createTransport(clock);
    const limits = { account: name, perSecond, burst, concurrency };
    const same = before?.handle.spec.url === spec.url;
    const limiter = before && same ? before.limiter : new Limiter(limits, clock, metrics);
    limiter.configure(limits);
    const api = new ControlApi({
      baseUrl: spec.url.replace(/\/+$/, ''),
      credential: () => this.#credential(name, spec),
      transport,
      limiter,
      clock,
      metrics,
    });
    const handle: AccountHandle = {
      name,
      spec,
      api,
      informer: new AccountInformer({
        api,
        clock,
        random,
        logger: logger.child({ account: name }),
        pollMs: spec.pollSeconds * 1000,
        onSnapshot: (change) => {
          metrics.balanceMicros.set({ account: name }, change.snapshot.balanceMicros);
          onSnapshot(handle, change);
        },
        onFailure: (failure) => onFailure(handle, failure),
      }),
    };
    return { handle, transport, limiter, shared, credential: this.#credential(name, spec)?.reveal() };
  }

  #credential(name: string, spec: AccountSpec): Sensitive<string> | undefined {
    const ref = spec.credentialsSecretRef;
    if (!ref) return this.#options.environment.apiKey();
    const [namespace = ''] = name.split('/');
    const value = this.#snapshot?.secrets.get(`${namespace}/${ref.name}`)?.get(ref.key);
    return value && new Sensitive(value.reveal().trim());
  }

  #end(entry: Entry): void {
    const ended = entry.handle.informer.stop().then(() => entry.transport.close());
    this.#closing.add(ended);
    void ended.finally(() => this.#closing.delete(ended));
  }
}

const environmentKey = `default/${defaultName}`;

function environmentSpec(url: string): AccountSpec {
  return {
    url,
    insecure: false,
    requests: { perSecond: 5, burst: 10, concurrency: 4 },
    pollSeconds: 15,
  };
}
