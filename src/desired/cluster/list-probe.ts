/**
 * Whether something can be listed in a namespace that is read only for objects that need it. Without it, the objects of the namespace can't
 * be taken in, and nobody is to wait for that.
 *
 *     waiting for the objects ── one needs it ──> asking ── listed ──> listed
 *               └── none does ───> listed          ^  └── failed: `problem` has the reason; asked again after 1 s, … 30 s
 *                                    └── `again` ──┘
 *
 * Objects that are made later do not need it: they have nothing there yet. A right that is taken away is seen by whoever needs it later,
 * and asks for it `again`.
 */
import { backoffMs, messageOf, sleep, type Clock, type Random } from '../../base/index.ts';
import type { KubernetesApi, ResourceType } from '../../kubernetes/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { Listing } from './cluster-scopes.ts';

const advice =
  'fleetkeeper must list them there (manifests/base); until then nothing new of the namespace is shown';
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
    void this.#begin().then(() => this.#ended.resolve());
  }

  /** Somebody could not list it since. Resolves when it was listed again, or when stopped. Undefined: it is being asked for already. */
  again(reason: string): Promise<void> | undefined {
    if (!this.#hasSynced) return undefined;
    this.#hasSynced = false;
    this.#fails(reason, true);
    return this.#untilListed(1);
  }

  whenSynced(): Promise<void> {
    return this.#ended.promise;
  }

  /** What was listed is not asked for again. */
  relist(): Promise<void> {
    return this.#ended.promise;
  }

  async #begin(): Promise<void> {
    const isNeeded = await this.#options.isNeeded();
    this.#hasSynced = !isNeeded;
    if (isNeeded) await this.#untilListed(0);
  }

  async #untilListed(failuresBefore: number): Promise<void> {
    const { api, type, namespace, signal, clock, random } = this.#options;
    for (let failures = failuresBefore; !signal.aborted; failures += 1) {
      // oxlint-disable-next-line no-await-in-loop -- one attempt after the other
      if (failures > 0) await sleep(clock, backoffMs(failures - 1, backoff, random), signal);
      try {
        // oxlint-disable-next-line no-await-in-loop -- one attempt after the other
        await api.list(type, { namespace, limit: 1 }, signal);
        this.#hasSynced = true;
        this.#failure = undefined;
        return;
      } catch (error) {
        this.#fails(messageOf(error), failures === 0);
      }
    }
  }

  #fails(note: string, isFirst: boolean): void {
    const { type, namespace, logger } = this.#options;
    this.#failure = note;
    if (isFirst) logger.warn({ resource: type.plural, namespace, note, advice }, 'a list failed');
  }
}
