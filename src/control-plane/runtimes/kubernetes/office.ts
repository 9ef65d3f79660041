/**
 * Which control plane acts for an installation, where two were started by mistake: the one that holds its Lease.
 *
 *     waiting ──(the Lease is taken)──> acting <──> isolated (it was not renewed in time)
 *                                         └──(another holds it, or wrote with a later term)──> deposed
 *
 * Each object carries the term of its writer. A term is the number of takeovers of the Lease, or later than what the
 * objects show if somebody has deleted the Lease. Whoever sees a later term than its own changes nothing any more. A late
 * write of a deposed one does no harm: Pods have one name per service, and are removed by their uid.
 */
import { sleep, type Clock } from '../../../base/clock.ts';
import type { Random } from '../../../base/random.ts';
import type { Logger } from 'pino';
import { Election, type KubernetesApi, type KubernetesObject } from '../../../kubernetes/index.ts';
import type { Metrics } from '../../../telemetry/index.ts';
import { fenceAnnotation } from './names.ts';

const recheckMs = 5000;

export interface OfficeOptions {
  readonly api: Pick<KubernetesApi, 'get' | 'create' | 'replace' | 'namespace'>;
  readonly installation: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Another control plane acts for this installation. */
  readonly onDeposed: (reason: string) => void;
}

export class Office {
  readonly #options: OfficeOptions;
  readonly #election: Election;
  /** The latest term that an object has shown. */
  #seenTerm = -1;
  #term: number | undefined;
  #isDeposed = false;
  readonly #waiting = new Set<() => void>();

  constructor(options: OfficeOptions) {
    this.#options = options;
    const { api, installation, random, onDeposed } = options;
    this.#election = new Election({
      ...options,
      namespace: api.namespace,
      name: `fleetkeeper-control-plane-${installation}`,
      identity: `control-plane-${random.uuid()}`,
      onLeading: () => this.#wakeAll(),
      onIsolated: () => undefined,
      onRegained: () => this.#wakeAll(),
      onLost: onDeposed,
    });
  }

  start(): void {
    this.#election.start();
  }

  /** Resolves when this process acts; rejects when `signal` is aborted. */
  async whenActing(signal: AbortSignal): Promise<void> {
    while (!this.#mayAct()) {
      signal.throwIfAborted();
      const wake = new AbortController();
      const onActing = () => wake.abort();
      this.#waiting.add(onActing);
      await sleep(this.#options.clock, recheckMs, AbortSignal.any([signal, wake.signal]));
      this.#waiting.delete(onActing);
    }
  }

  /** For each write. Throws where this process must not write. */
  requireTerm(): number {
    if (!this.#mayAct())
      throw new Error('this control plane does not hold the Lease of its installation now');
    this.#term ??= Math.max(this.#election.transitions, this.#seenTerm + 1);
    return this.#term;
  }

  /** Of an object that was observed. */
  notice({ metadata: { annotations } }: KubernetesObject): void {
    const term = Number(annotations?.[fenceAnnotation] ?? -1);
    if (!Number.isSafeInteger(term) || term <= this.#seenTerm) return;
    this.#seenTerm = term;
    if (this.#term === undefined || term <= this.#term || this.#isDeposed) return;
    this.#isDeposed = true;
    const { logger, onDeposed } = this.#options;
    logger.error({ term, own: this.#term }, 'another control plane has written with a later term');
    onDeposed('another control plane acts for this installation');
  }

  stop(): Promise<void> {
    return this.#election.stop();
  }

  #mayAct(): boolean {
    return !this.#isDeposed && this.#election.mayAct();
  }

  #wakeAll(): void {
    for (const wake of this.#waiting) wake();
  }
}
