/**
 * Whether something can be listed in a namespace that is read only for objects that need it. Without it, the objects of the namespace can't
 * be taken in, and nobody is to wait for that.
 *
 *     waiting for the objects ── one needs it ──> asking ── listed ──> listed, for good
 *               └── none does ────────────────────> listed  └── failed: `problem` has the reason; asked again after 1 s, … 30 s
 *
 * Objects that are made later do not need it: they have nothing there yet. A right that is taken away after that is not seen here.
 */
import { backoffMs, messageOf, sleep, type Clock, type Random } from '../../base/index.ts';
import type { KubernetesApi, ResourceType } from '../../kubernetes/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { Listing } from './cluster-scopes.ts';

const advice =
  'fleetkeeper must list them there (manifests/base); until then nothing of the namespace is shown';
const backoff = { firstMs: 1000, longestMs: 30_000 };

export interface ListProbeOptions {
  readonly api: Pick<KubernetesApi, 'list'>;
  readonly type: ResourceType;
  readonly namespace: string;
  /** Resolves when the objects of the namespace are known. */
  readonly isNeeded: () => Promise<boolean>;
  /** Aborted when it is to stop. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Pick<Logger, 'warn'>;
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
    const { api, type, namespace, signal, clock, random, logger } = this.#options;
    const isNeeded = await this.#options.isNeeded();
    this.#hasSynced = !isNeeded;
    if (!isNeeded) return;
    for (let failures = 0; !signal.aborted; failures += 1) {
      try {
        // oxlint-disable-next-line no-await-in-loop -- one attempt after the other
        await api.list(type, { namespace, limit: 1 }, signal);
        this.#hasSynced = true;
        this.#failure = undefined;
        return;
      } catch (error) {
        this.#failure = messageOf(error);
        if (failures === 0)
          logger.warn({ resource: type.plural, namespace, note: this.#failure, advice }, 'a list failed');
      }
      // oxlint-disable-next-line no-await-in-loop -- one attempt after the other
      await sleep(clock, backoffMs(failures, backoff, random), signal);
    }
  }
}
