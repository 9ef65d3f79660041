/**
 * What something will cost, before it exists. The contract promises no price before a creation, so prices are
 * learned. `estimate` is pure; the first basis that applies wins:
 *
 * | basis      | where the price comes from                                                                          |
 * |------------|-----------------------------------------------------------------------------------------------------|
 * | `observed` | the cost of services and volumes of the same account, size and place                                |
 * | `declared` | `Account.spec.prices`                                                                                |
 * | `catalog`  | a region of the catalog that shows the four prices of the reference control plane, by their names    |
 * | `unknown`  | none of these; the amount is 0, which must not count as a price                                      |
 *
 * A declared price that is higher than the observed one counts in its place: its user knows of a price that has risen. One of the catalog
 * does not: it may be a list price, of which the account has a part to pay.
 *
 * A shown price of 0 does not contradict a declared one, or one of the catalog: a provider may charge later.
 * If a demand leaves something open (the geography, the model of a GPU), the highest observed price counts. Amounts
 * are micro-USD per hour, BigInt inside.
 */
import type { DeclaredPrice } from '../../resources/index.ts';
import type { Asked, Demand, ObservedPrice, PriceBasis, Shape } from '../../state/index.ts';
import { clampedMicros } from './money.ts';

export type { Demand, ObservedPrice } from '../../state/index.ts';

export interface Place {
  readonly region: string;
  /** Undefined, or `auto`: any. */
  readonly geography: string | undefined;
}

/** Prices of units, as a region of the catalog may show them. */
export interface UnitPrices {
  readonly gpuHourMicros?: number | undefined;
  readonly cpuHourMicros?: number | undefined;
  readonly memoryGbHourMicros?: number | undefined;
  readonly storageGbHourMicros?: number | undefined;
}

export interface PriceBook {
  readonly observed: readonly ObservedPrice[];
  readonly declared: readonly DeclaredPrice[];
  /** By region. */
  readonly catalog: ReadonlyMap<string, UnitPrices>;
}

export interface Estimate {
  readonly micros: bigint;
  readonly basis: PriceBasis;
  /** The price stays unknown: a running thing of this size and place shows none. */
  readonly notShown: boolean;
}

export function estimate(demand: Demand, place: Place, book: PriceBook): Estimate {
  const seen = book.observed.filter((price) => isAt(price, place) && isLike(price.demand, demand));
  const found: readonly (readonly [PriceBasis, bigint | undefined])[] = [
    ['observed', observedMicros(demand, seen)],
    ['declared', declaredMicros(demand, place, book.declared)],
    ['catalog', unitMicros(demand, book.catalog.get(place.region) ?? {})],
  ];
  const bases = found.flatMap(([basis, micros]) => (micros === undefined ? [] : [{ basis, micros }]));
  const [first] = bases;
  const declared = bases.find(({ basis }) => basis === 'declared');
  const isMore = first && declared && declared.micros > first.micros;
  const isFree = first?.basis === 'observed' && first.micros === 0n;
  const known = (isMore ? declared : isFree ? bases.find(({ micros }) => micros > 0n) : undefined) ?? first;
  if (known) return { ...known, notShown: false };
  return { micros: 0n, basis: 'unknown', notShown: seen.length > 0 };
}

/** Describes a demand for people, and identifies it. Storage is priced by the GB, so its size is omitted. */
export function demandText(demand: Demand, { region, geography }: Place): string {
  const where = `in ${region}/${geography ?? 'auto'}`;
  if ('storageGb' in demand) return `storage ${where}`;
  const { gpuCount, cpu, memoryGb } = demand.compute;
  return `${gpuCount} GPU, ${cpu} CPU, ${memoryGb} GB ${where}`;
}

/**
 * Whether a thing that shows the price of one demand may show that of the other. Both are texts of
 * `demandText`. `auto` may become any geography.
 */
export function mayShowSamePrice(one: string, other: string): boolean {
  const [left, right] = [splitGeography(one), splitGeography(other)];
  const isAnywhere = left.geography === 'auto' || right.geography === 'auto';
  return left.rest === right.rest && (isAnywhere || left.geography === right.geography);
}

function splitGeography(demand: string): { rest: string; geography: string } {
  const at = demand.lastIndexOf('/');
  return { rest: demand.slice(0, at), geography: demand.slice(at + 1) };
}

/** Identifies an observed price. One is kept for each key. */
export function priceKey({ region, geography, demand, gpuModel }: ObservedPrice): string {
  const size =
    'compute' in demand
      ? [demand.compute.gpuCount, demand.compute.cpu, demand.compute.memoryGb]
      : [demand.storageGb];
  return JSON.stringify([region, geography, size, gpuModel ?? null]);
}

function isAt(price: Pick<ObservedPrice, 'region' | 'geography'>, { region, geography }: Place): boolean {
  return price.region === region && (isOpen(geography) || price.geography === geography);
}

function isOpen(geography: string | undefined): boolean {
  return geography === undefined || geography === 'auto';
}

function isLike(known: Demand, wanted: Demand): boolean {
  if ('compute' in known && 'compute' in wanted) return isSameShape(known.compute, wanted.compute);
  return 'storageGb' in known && 'storageGb' in wanted && known.storageGb > 0;
}

function isSameShape(one: Shape, other: Shape): boolean {
  return one.gpuCount === other.gpuCount && one.cpu === other.cpu && one.memoryGb === other.memoryGb;
}

/** Storage is priced in proportion to its size, unless the price of the exact size was observed. */
function observedMicros(demand: Demand, seen: readonly ObservedPrice[]): bigint | undefined {
  const priced = seen.flatMap(({ demand: known, hourlyMicros }) =>
    hourlyMicros === undefined ? [] : [{ sizeGb: 'storageGb' in known ? known.storageGb : 0, hourlyMicros }],
  );
  if ('compute' in demand) return dearest(priced.map(({ hourlyMicros }) => BigInt(hourlyMicros)));
  const isFree = priced.every(({ hourlyMicros }) => hourlyMicros === 0);
  const exact = priced.filter(
    ({ sizeGb, hourlyMicros }) => sizeGb === demand.storageGb && (isFree || hourlyMicros > 0),
  );
  return dearest(
    (exact.length > 0 ? exact : priced).map(({ sizeGb, hourlyMicros }) =>
      sum([[hourlyMicros, demand.storageGb / sizeGb]]),
    ),
  );
}

function dearest(amounts: readonly bigint[]): bigint | undefined {
  return amounts.reduce<bigint | undefined>(
    (most, micros) => (most === undefined || micros > most ? micros : most),
    undefined,
  );
}

/** The most specific entry wins: resources, then geography, then region. */
function declaredMicros(
  demand: Demand,
  place: Place,
  declared: readonly DeclaredPrice[],
): bigint | undefined {
  const applying = declared.flatMap((entry) => {
    if (entry.region !== place.region) return [];
    if (entry.geography !== undefined && entry.geography !== place.geography) return [];
    const { resources } = entry;
    if (resources && !('compute' in demand && isSameShape(resources, demand.compute))) return [];
    const micros =
      resources && entry.hourlyMicros !== undefined ? BigInt(entry.hourlyMicros) : unitMicros(demand, entry);
    const rank = (resources ? 2 : 0) + (entry.geography === undefined ? 0 : 1);
    return micros === undefined ? [] : [{ micros, rank }];
  });
  return applying.toSorted((left, right) => right.rank - left.rank)[0]?.micros;
}

/** Undefined if the price of a requested unit is missing. */
function unitMicros(demand: Demand, prices: UnitPrices): bigint | undefined {
  const parts: readonly (readonly [number, number | undefined])[] =
    'compute' in demand
      ? [
          [demand.compute.gpuCount, prices.gpuHourMicros],
          [demand.compute.cpu, prices.cpuHourMicros],
          [demand.compute.memoryGb, prices.memoryGbHourMicros],
        ]
      : [[demand.storageGb, prices.storageGbHourMicros]];
  const wanted = parts.filter(([amount]) => amount > 0);
  const priced = wanted.flatMap(([amount, micros]) =>
    micros === undefined ? [] : [[micros, amount] as const],
  );
  return priced.length < wanted.length ? undefined : sum(priced);
}

/** Millionths: nobody writes a number of CPUs with more precision. */
const scale = 1_000_000;
/** Larger demands could not be paid. A document has no upper bound. */
const most = Number.MAX_VALUE;

/** More than any balance or limit (§2): nobody can pay it. A larger cost is stored and shown as this one. */
const beyondAllMicros = BigInt(Number.MAX_SAFE_INTEGER) + 1n;

/** Of prices in micro-USD with their quantities. Rounded up. */
function sum(parts: readonly (readonly [number, number])[]): bigint {
  const total = parts.reduce(
    (before, [micros, times]) => before + BigInt(micros) * BigInt(Math.ceil(Math.min(times * scale, most))),
    0n,
  );
  const micros = (total + BigInt(scale - 1)) / BigInt(scale);
  return micros > beyondAllMicros ? beyondAllMicros : micros;
}

// ---- steps -------------------------------------------------------------------------------------------

/** What is paid for: things with a shown price, or demands that have to be priced. No demands are free. `atLeast`: it is known to cost no less. */
export type Charge =
  | { readonly shown: bigint }
  | { readonly demands: readonly Demand[]; readonly atLeast?: bigint; readonly isSizeUnknown?: true };

/** The hourly cost before and after a step. */
export interface Pricing {
  readonly place: Place;
  readonly before: Charge;
  readonly after: Charge;
}

export const free: Charge = { shown: 0n };

export interface Cost {
  readonly beforeMicros: bigint;
  readonly afterMicros: bigint;
  readonly basis: PriceBasis;
  /** Demands whose price is unknown but may yet be shown. */
  readonly unknown: readonly string[];
  /** Undefined if everything shows its price. */
  readonly asked?: Asked | undefined;
}

/** What a request adds to the hourly cost, by the prices of a later book. */
export function askedMicros({ region, geography, demands, beforeMicros }: Asked, book: PriceBook): bigint {
  const place = { region, geography };
  return increaseMicros(costOf({ place, before: { shown: BigInt(beforeMicros) }, after: { demands } }, book));
}

export function costOf({ place, before, after }: Pricing, book: PriceBook): Cost {
  const [then, now] = [priceCharge(after, place, book), priceCharge(before, place, book)];
  // The cost of today is no basis for an unknown price.
  const basis = weakest([then.basis, now.basis]);
  // What has no known price is not known to save anything.
  const afterMicros = then.basis === 'unknown' && then.micros < now.micros ? now.micros : then.micros;
  const cost = { beforeMicros: now.micros, afterMicros, basis, unknown: then.unknown };
  if ('shown' in after) return cost;
  return { ...cost, asked: { ...place, demands: after.demands, beforeMicros: clampedMicros(now.micros) } };
}

/** What a step adds to the hourly cost. 0 if unknown. */
export function increaseMicros({ beforeMicros, afterMicros }: Cost): bigint {
  return afterMicros > beforeMicros ? afterMicros - beforeMicros : 0n;
}

function priceCharge(charge: Charge, place: Place, book: PriceBook) {
  if ('shown' in charge) return { micros: charge.shown, basis: 'observed' as const, unknown: [] };
  const estimates = charge.demands.map((demand) => ({ demand, ...estimate(demand, place, book) }));
  const estimated = estimates.reduce((total, { micros }) => total + micros, 0n);
  const { atLeast = 0n } = charge;
  return {
    micros: atLeast > estimated ? atLeast : estimated,
    basis: charge.isSizeUnknown ? ('unknown' as const) : weakest(estimates.map(({ basis }) => basis)),
    unknown: estimates
      .filter(({ basis, notShown }) => basis === 'unknown' && !notShown)
      .map(({ demand }) => demandText(demand, place)),
  };
}

const byCertainty = ['observed', 'declared', 'catalog', 'unknown'] as const satisfies readonly PriceBasis[];

/** The basis of an amount is the weakest one of its parts. */
export function weakest(bases: readonly PriceBasis[]): PriceBasis {
  return byCertainty[Math.max(0, ...bases.map((basis) => byCertainty.indexOf(basis)))] ?? 'unknown';
}

/** Regions of a catalog that show all four prices by the names of the reference control plane. Nothing is guessed. */
export function catalogPrices(
  regions: readonly Readonly<Record<string, unknown>>[],
): ReadonlyMap<string, UnitPrices> {
  const found = new Map<string, UnitPrices>();
  for (const { name, prices } of regions) {
    if (typeof name !== 'string' || typeof prices !== 'object' || prices === null) continue;
    const shown = prices as Readonly<Record<string, unknown>>;
    if (!unitNames.every((unit) => isPrice(shown[unit]))) continue;
    found.set(name, { ...shown, gpuHourMicros: dearestGpu(shown) });
  }
  return found;
}

/** The highest price of any model. Undefined if the region shows unknown prices that may be for GPUs. */
function dearestGpu(shown: Readonly<Record<string, unknown>>): number | undefined {
  if (Object.keys(shown).some((key) => !knownPrices.has(key))) return undefined;
  const models = Object.values(shown['gpuModelHourMicros'] ?? {});
  return models.every(isPrice) ? Math.max(Number(shown['gpuHourMicros']), ...models.map(Number)) : undefined;
}

function isPrice(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

const unitNames = ['gpuHourMicros', 'cpuHourMicros', 'memoryGbHourMicros', 'storageGbHourMicros'] as const;
const knownPrices: ReadonlySet<string> = new Set([...unitNames, 'gpuModelHourMicros']);
