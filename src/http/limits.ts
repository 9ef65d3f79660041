/** Of the health server: how much whoever reaches the port may have of the process. */
import type { Clock } from '../base/index.ts';

export interface HealthLimits {
  readonly connections: number;
  readonly connectionsPerAddress: number;
  /** With more open ones than `crowdedFrom`, an address that has so many gets no other one: a few can not keep the others out. */
  readonly crowdedFrom: number;
  readonly connectionsWhenCrowded: number;
  readonly headerBytes: number;
  readonly bodyBytes: number;
  /** Of the form for a token. */
  readonly loginBytes: number;
  /** For one request to arrive, and without one until a connection is closed. */
  readonly requestMs: number;
  readonly idleMs: number;
  /** Of each address. */
  readonly requestsPerSecond: number;
  readonly burst: number;
  /** So long the same metrics serve for all. */
  readonly metricsMs: number;
  /** Of each address, for the read API: a page asks for many things at once, and many readers may come by one proxy. */
  readonly readApi: { readonly requestsPerSecond: number; readonly burst: number };
  /** The same for the files of the page, which are in memory: to open it takes some 60 requests, and a refused one leaves it empty. */
  readonly pageFiles: { readonly requestsPerSecond: number; readonly burst: number };
}

export const healthLimits: HealthLimits = {
  connections: 200,
  connectionsPerAddress: 16,
  crowdedFrom: 150,
  connectionsWhenCrowded: 16,
  headerBytes: 8192,
  bodyBytes: 1024,
  loginBytes: 1024,
  requestMs: 5000,
  idleMs: 10_000,
  requestsPerSecond: 20,
  burst: 40,
  metricsMs: 1000,
  readApi: { requestsPerSecond: 100, burst: 300 },
  pageFiles: { requestsPerSecond: 100, burst: 1500 },
};

/** With room for 100 event streams, which may all come by one proxy, and for tokens of 16 KiB, in the header and in the form. */
export const withReadApi: HealthLimits = {
  ...healthLimits,
  headerBytes: 24 * 1024,
  loginBytes: 32 * 1024,
  connections: 400,
  connectionsPerAddress: 200,
  crowdedFrom: 300,
};

/** Addresses whose rate is remembered; of more, the oldest are forgotten. */
const mostAddresses = 1000;

/** A token bucket for each address. */
export class AddressRates {
  readonly #limits: Pick<HealthLimits, 'requestsPerSecond' | 'burst'>;
  readonly #clock: Clock;
  readonly #buckets = new Map<string, { readonly tokens: number; readonly atMs: number }>();

  constructor(limits: Pick<HealthLimits, 'requestsPerSecond' | 'burst'>, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /** Whether one more request of it is answered now. */
  takes(address: string): boolean {
    const { requestsPerSecond, burst } = this.#limits;
    const nowMs = this.#clock.monotonicMs();
    const { tokens, atMs } = this.#buckets.get(address) ?? { tokens: burst, atMs: nowMs };
    const left = Math.min(burst, tokens + ((nowMs - atMs) / 1000) * requestsPerSecond);
    this.#buckets.delete(address);
    this.#buckets.set(address, { tokens: left >= 1 ? left - 1 : left, atMs: nowMs });
    const [oldest] = this.#buckets.keys();
    if (this.#buckets.size > mostAddresses && oldest !== undefined) this.#buckets.delete(oldest);
    return left >= 1;
  }
}
