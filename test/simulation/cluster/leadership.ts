/**
 * Which process may act, as the Lease at the API server says: the last one that took it, until another one does, it gives it
 * back, or it could be another's since it was not renewed for so long.
 */
import type { Json } from '../watch.ts';
import type { Storing } from './api-server.ts';

export const leaseStorage = 'leases.coordination.k8s.io';

export interface LeadershipOptions {
  readonly leaseMs: number;
  readonly nowMs: () => number;
  readonly onTaken: (life: number) => void;
}

export class Leadership {
  readonly #options: LeadershipOptions;
  #identity = '';
  #life: number | undefined;
  #renewedAtMs = 0;
  #isReleased = false;

  constructor(options: LeadershipOptions) {
    this.#options = options;
  }

  /** Of the process that took the Lease last. */
  get life(): number | undefined {
    return this.#life;
  }

  leads(life: number): boolean {
    const { leaseMs, nowMs } = this.#options;
    return life === this.#life && !this.#isReleased && nowMs() <= this.#renewedAtMs + leaseMs;
  }

  /** To be told of each write. */
  take({ storage, next, author }: Storing): void {
    if (storage !== leaseStorage || !next || author === 'somebody') return;
    const holder: string = (next['spec'] as Json).holderIdentity;
    if (holder === '') {
      if (author.life === this.#life) this.#isReleased = true;
      return;
    }
    this.#renewedAtMs = this.#options.nowMs();
    if (author.life === this.#life && holder === this.#identity) return;
    this.#identity = holder;
    this.#life = author.life;
    this.#isReleased = false;
    this.#options.onTaken(author.life);
  }
}
