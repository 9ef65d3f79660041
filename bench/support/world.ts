/** What the benchmark of the control plane works on, for all of its processes. */

/** With 20 services each after the first phase: fleets of the size that many accounts have. */
export const accountCount = 500;
export const connections = 32;

export function apiKeyOf(account: number): string {
  return `benchmark-key-${account}`;
}

export const serviceSpec = {
  name: 'trainer',
  region: 'standard',
  image: 'ghcr.io/acme/trainer:1.4',
  resources: { gpuCount: 0, cpu: 8, memoryGb: 32 },
  httpPort: 8080,
  environment: { MODE: 'train', TOKEN: '0123456789abcdef' },
};

/**
 * Who answers: the control plane; the same with a commit for each request, for comparison; or Fastify with nothing
 * behind it, which is what HTTP allows on this machine at this moment.
 */
export type Variant = 'control plane' | 'a commit per request' | 'bare HTTP';

export interface ServerSettings {
  readonly variant: Variant;
  readonly database: string;
}

export interface Usage {
  /** What the process has in memory now, shared code included, and had at most. */
  readonly memoryBytes: number;
  readonly peakBytes: number;
  readonly cpuSeconds: number;
}

/** Of what kind each request is: the numbers are shares. */
export interface Mix {
  readonly accountReads: number;
  readonly serviceReads: number;
  readonly creates: number;
}

export interface Load {
  readonly url: string;
  readonly mix: Mix;
  readonly length: { readonly requests: number } | { readonly seconds: number };
  /** All requests are of these accounts, chosen at random. */
  readonly accounts: readonly number[];
  /** The load ends when the server does, and that is no failure. */
  readonly untilKilled?: boolean;
}

/** A service that was answered 2xx. */
export interface Created {
  readonly account: number;
  readonly id: string;
}

export interface LoadResult {
  readonly seconds: number;
  readonly reads: number;
  readonly created: readonly Created[];
  /** Answers that are not 2xx, and connections that broke. */
  readonly failures: number;
  readonly medianMs: number;
  readonly p99Ms: number;
  /** Of the load process. */
  readonly cpuSeconds: number;
}
