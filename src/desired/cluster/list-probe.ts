/**
 * Whether something can be listed in a namespace that is read only when an object needs it. Without it, the objects of the namespace can't be
 * taken in, and nobody is to wait for that.
 *
 *     asking ── listed ──> listed, for good
 *        └── failed: `problem` has the reason; asked again after 1 s, … 30 s
 */
import { backoffMs, messageOf, sleep, type Clock, type Random } from '../../base/index.ts';
import type { KubernetesApi, ResourceType } from '../../kubernetes/index.ts';
import type { Listing } from './cluster-scopes.ts';

const backoff = { firstMs: 1000, longestMs: 30_000 };

export interface ListProbeOptions {
  readonly api: Pick<KubernetesApi, 'list'>;
  readonly type: ResourceType;
  readonly namespace: string;
  /** Aborted when it is to stop. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly random: Random;
}

export class ListProbe implements Listing {
  readonly #options: ListProbeOptions;
  readonly #ended = Promise.withResolvers<void>();
  #hasSynced = false;
  #failure: string | undefined;

  constructor(options: ListProbeOptions) {
    this.#options = options;
  }

  get plural(): string {
    return this.#options.type.plural;
  }

  get namespace(): string {
    return this.#options.namespace;
  }

  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  get isFailing(): boolean {
    return this.#failure !== undefined;
  }

  get problem(): string | undefined {
    return this.#failure;
  }

  start(): void {
    void this.#run().then(() => this.#ended.resolve());
  }

  whenSynced(): Promise<void> {
    return this.#ended.promise;
  }

  /** What was listed once is not asked for again. */
  relist(): Promise<void> {
    return this.#ended.promise;
  }

  async #run(): Promise<void> {
    const { api, type, namespace, signal, clock, random } = this.#options;
    for (let failures = 0; !signal.aborted; failures += 1) {
      try {
        // oxlint-disable-next-line no-await-in-loop -- one attempt after the other
        await api.list(type, { namespace, limit: 1 }, signal);
        this.#hasSynced = true;
        this.#failure = undefined;
        return;
      } catch (error) {
        this.#failure = messageOf(error);
      }
      // oxlint-disable-next-line no-await-in-loop -- one attempt after the other
      await sleep(clock, backoffMs(failures, backoff, random), signal);
    }
  }
}
