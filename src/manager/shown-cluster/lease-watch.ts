/**
 * Reads the Lease of each operator again and again: whether one is at work, and since when not. `get` of a Lease by its name is all that it
 * needs. It is also how it is noticed that the API server does not answer: a watch may be silent for a minute.
 *
 *     asked ── a Lease, or none ──> known ── 5 s ──> asked
 *           └── a failure ────────> what was known stays, with the failure
 *
 * The clock of the holder may be another one. So once a renewal was seen here, its time is that of this clock.
 */
import { messageOf, sleep, type Clock } from '../../base/index.ts';
import { KubernetesError, readLease, type KubernetesApi, type LeaseHolder } from '../../kubernetes/index.ts';

export interface LeaseWatchOptions {
  readonly api: Pick<KubernetesApi, 'get' | 'namespace'>;
  /** Of the Leases. */
  readonly names: readonly string[];
  readonly clock: Clock;
  /** After each round, whatever it found. */
  readonly onRound: () => void;
}

export interface SeenLease {
  /** Undefined: there is none, or it was never read. */
  readonly lease: LeaseHolder | undefined;
  /** Why it was not read the last time. */
  readonly failure: string | undefined;
  /** It may not be read: others can be. */
  readonly isDenied: boolean;
}

/** That of manifests/. */
const operatorNamespace = 'fleetkeeper-system';
const everyMs = 5000;

interface Renewal {
  readonly renewedAt: number | undefined;
  /** Of this clock; undefined: it was there when it was read first. */
  readonly seenAt: number | undefined;
}

export class LeaseWatch {
  readonly #options: LeaseWatchOptions;
  readonly #stopping = new AbortController();
  readonly #seen = new Map<string, SeenLease>();
  readonly #renewals = new Map<string, Renewal>();
  #running: Promise<void> | undefined;

  constructor(options: LeaseWatchOptions) {
    this.#options = options;
  }

  /** Undefined: it was not asked yet. */
  seen(name: string): SeenLease | undefined {
    return this.#seen.get(name);
  }

  start(): void {
    this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { names, clock, onRound } = this.#options;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      // oxlint-disable-next-line no-await-in-loop -- one round after the other
      await Promise.all(names.map((name) => this.#read(name)));
      if (signal.aborted) return;
      onRound();
      // oxlint-disable-next-line no-await-in-loop -- one round after the other
      await sleep(clock, everyMs, signal);
    }
  }

  async #read(name: string): Promise<void> {
    try {
      const lease = await this.#find(name);
      this.#seen.set(name, {
        lease: lease && this.#byThisClock(name, lease),
        failure: undefined,
        isDenied: false,
      });
    } catch (error) {
      const isDenied = error instanceof KubernetesError && error.status === 403;
      this.#seen.set(name, { lease: this.#seen.get(name)?.lease, failure: messageOf(error), isDenied });
    }
  }

  /** In the namespace of this pod or context, else in the usual one. */
  async #find(name: string): Promise<LeaseHolder | undefined> {
    const { api } = this.#options;
    const found = await readLease(api, { namespace: api.namespace, name });
    if (found || api.namespace === operatorNamespace) return found;
    return readLease(api, { namespace: operatorNamespace, name });
  }

  #byThisClock(name: string, lease: LeaseHolder): LeaseHolder {
    const { renewedAt } = lease;
    const before = this.#renewals.get(name);
    const isSame = before?.renewedAt === renewedAt;
    const seenAt = isSame || !before ? before?.seenAt : this.#options.clock.wallMs();
    this.#renewals.set(name, { renewedAt, seenAt });
    return seenAt === undefined ? lease : { ...lease, renewedAt: seenAt };
  }
}
