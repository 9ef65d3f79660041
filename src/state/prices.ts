/** What things were seen to cost, and what a request was expected to. */

/** Where a price comes from; plan/prices.ts has the table. */
export type PriceBasis = 'observed' | 'declared' | 'catalog' | 'unknown';

export interface Shape {
  readonly gpuCount: number;
  readonly cpu: number;
  readonly memoryGb: number;
}

export type Demand = { readonly compute: Shape } | { readonly storageGb: number };

export interface ObservedPrice {
  readonly region: string;
  readonly geography: string;
  readonly demand: Demand;
  readonly gpuModel: string | undefined;
  /** Micro-USD. Undefined: it runs, and shows no price. */
  readonly hourlyMicros: number | undefined;
  /** Unix milliseconds. */
  readonly at: number;
}

/** What a request adds to the cost of an hour (S15). */
export interface IntentEstimate {
  /** 0 where that is unknown. */
  readonly estimateMicros: number;
  readonly basis: PriceBasis;
  /** What is demanded at a price that is unknown, as `demandText` says it. */
  readonly unknown: readonly string[];
  /** `creation-to-follow`: of a deletion that makes room for it. `earlier`: of a request before, that was answered and not shown yet. */
  readonly of?: 'creation-to-follow' | 'earlier';
}
