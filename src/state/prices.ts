/** Observed prices, and the estimated cost of a request. */
import { parseRfc3339, rfc3339, type DigestKey } from '../base/index.ts';
import { jsonIn } from './stored-text.ts';

/** Where a price comes from (see the table in engine/plan/prices.ts). */
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
  /** Micro-USD. Undefined: it runs, but shows no price. */
  readonly hourlyMicros: number | undefined;
  /** Unix milliseconds. */
  readonly at: number;
  /** Its last change by more than one per cent. Absent in prices of earlier versions. */
  readonly moved?: PriceMoved | undefined;
}

export interface PriceMoved {
  /** Unix milliseconds. */
  readonly at: number;
  /** Micro-USD. */
  readonly beforeMicros: number;
}

/** What a request needs whose price may become known, or change, before the response. */
export interface Asked {
  readonly region: string;
  /** Undefined or `auto`: any. */
  readonly geography?: string | undefined;
  readonly demands: readonly Demand[];
  /** Micro-USD per hour before the request. */
  readonly beforeMicros: number;
}

/** Reads stored data, which others may have edited. Undefined if nothing in it can be priced. */
export function readAsked(stored: unknown): Asked | undefined {
  if (typeof stored !== 'object' || stored === null) return undefined;
  const { region, geography, demands, beforeMicros } = stored as Partial<Record<keyof Asked, unknown>>;
  if (typeof region !== 'string' || !isAmount(beforeMicros) || !Array.isArray(demands)) return undefined;
  const isPlace = geography === undefined || geography === null || typeof geography === 'string';
  if (!isPlace || !Number.isSafeInteger(beforeMicros) || !demands.every(isDemand)) return undefined;
  return { region, geography: geography ?? undefined, demands, beforeMicros };
}

function isDemand(value: unknown): value is Demand {
  const { compute, storageGb } = (value ?? {}) as { compute?: Partial<Shape>; storageGb?: unknown };
  if (compute === undefined) return isAmount(storageGb);
  return isAmount(compute?.gpuCount) && isAmount(compute.cpu) && isAmount(compute.memoryGb);
}

/** What a request adds to the hourly cost (S15). */
export interface IntentEstimate {
  /** 0 if unknown. */
  readonly estimateMicros: number;
  readonly basis: PriceBasis;
  /** Resources whose price is unknown, as `demandText` writes them. */
  readonly unknown: readonly string[];
  /**
   * `creation-to-follow`: of a deletion that makes room for it. `earlier`: of a previous request, which
   * succeeded but is not shown yet.
   */
  readonly of?: 'creation-to-follow' | 'earlier';
  /** If the basis is `unknown`: what to price again. Absent in intents of 0.1.0. */
  readonly asked?: Asked;
}

/** One price in the status of an Account. */
export interface ShownPrice {
  readonly region: string;
  readonly geography: string;
  readonly gpuModel?: string;
  readonly gpuCount?: number;
  readonly cpu?: number;
  readonly memoryGb?: number;
  readonly storageGb?: number;
  readonly hourlyMicros?: number;
  readonly seenAt: string;
  readonly beforeMicros?: number;
  readonly movedAt?: string;
}

const mostShown = 64;

/** The first 64, which are the newest. The status shows no more. */
export function shownPrices(prices: readonly ObservedPrice[]): ShownPrice[] {
  return prices.slice(0, mostShown).map(shownPrice);
}

function shownPrice({
  region,
  geography,
  demand,
  gpuModel,
  hourlyMicros,
  at,
  moved,
}: ObservedPrice): ShownPrice {
  const price = {
    region,
    geography,
    ...('compute' in demand ? demand.compute : { storageGb: demand.storageGb }),
    seenAt: rfc3339(at),
  };
  return {
    ...price,
    ...(gpuModel === undefined ? {} : { gpuModel }),
    ...(hourlyMicros === undefined ? {} : { hourlyMicros }),
    ...(moved ? { beforeMicros: moved.beforeMicros, movedAt: rfc3339(moved.at) } : {}),
  };
}

/**
 * Proves that the operator wrote these prices of this account (`namespace/name`). Others may write a status,
 * too.
 */
export function pricesSignature(account: string, prices: unknown, digestKey: DigestKey): string {
  return digestKey.sign({ account, prices });
}

/** Reads the prices in a status if their signature is valid. Invalid entries are left out. */
export function readPrices(
  account: string,
  status: Readonly<Record<string, unknown>> | undefined,
  digestKey: DigestKey,
): ObservedPrice[] {
  const { prices, pricesSignature: signature } = status ?? {};
  if (!Array.isArray(prices) || signature !== pricesSignature(account, prices, digestKey)) return [];
  return prices.flatMap((entry: unknown) => readPrice(entry) ?? []);
}

function readPrice(entry: unknown): ObservedPrice | undefined {
  if (typeof entry !== 'object' || entry === null) return undefined;
  const { region, geography, gpuModel, gpuCount, cpu, memoryGb, storageGb, hourlyMicros, seenAt } =
    entry as Partial<Record<keyof ShownPrice, unknown>>;
  const at = typeof seenAt === 'string' ? parseRfc3339(seenAt) : undefined;
  if (typeof region !== 'string' || typeof geography !== 'string' || at === undefined) return undefined;
  const isPrice =
    hourlyMicros === undefined || (isAmount(hourlyMicros) && Number.isSafeInteger(hourlyMicros));
  const isCompute = isAmount(gpuCount) && isAmount(cpu) && isAmount(memoryGb);
  if (!isPrice || !(isCompute || (isAmount(storageGb) && storageGb > 0))) return undefined;
  return {
    region,
    geography,
    demand: isCompute ? { compute: { gpuCount, cpu, memoryGb } } : { storageGb: Number(storageGb) },
    gpuModel: typeof gpuModel === 'string' ? gpuModel : undefined,
    hourlyMicros,
    at,
    ...movedOf(entry),
  };
}

/** Reads what a state file stores. Prices that can't be read are left out: they are observed anew. */
export function storedPrices(text: string): { prices: ObservedPrice[]; isWhole: boolean } {
  const stored = jsonIn(text);
  if (!Array.isArray(stored)) return { prices: [], isWhole: false };
  const prices = stored.filter(isObserved);
  return { prices, isWhole: prices.length === stored.length };
}

function isObserved(stored: unknown): stored is ObservedPrice {
  if (typeof stored !== 'object' || stored === null) return false;
  const { region, geography, demand, gpuModel, hourlyMicros, at, moved } = stored as Partial<
    Record<keyof ObservedPrice, unknown>
  >;
  const isPlace = typeof region === 'string' && typeof geography === 'string';
  const isPriced = hourlyMicros === undefined || isMicros(hourlyMicros);
  const isModel = gpuModel === undefined || typeof gpuModel === 'string';
  const isMoved = moved === undefined || isChange(moved);
  return isPlace && isPriced && isModel && isMoved && isDemand(demand) && isAmount(at);
}

function isChange(stored: unknown): stored is PriceMoved {
  const { at, beforeMicros } = (stored ?? {}) as Partial<Record<keyof PriceMoved, unknown>>;
  return isAmount(at) && isMicros(beforeMicros);
}

function isMicros(value: unknown): value is number {
  return isAmount(value) && Number.isSafeInteger(value);
}

function movedOf({ beforeMicros, movedAt }: Partial<Record<keyof ShownPrice, unknown>>): {
  readonly moved?: PriceMoved;
} {
  const at = typeof movedAt === 'string' ? parseRfc3339(movedAt) : undefined;
  if (at === undefined || !isAmount(beforeMicros) || !Number.isSafeInteger(beforeMicros)) return {};
  return { moved: { at, beforeMicros } };
}

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}
