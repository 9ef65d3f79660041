/** What things cost that show no price, by the prices of their account. Of a size or place that is not shown, the document of the object counts. */
import { wire } from '../../api/index.ts';
import type { Asked } from '../../resources/index.ts';
import { estimate, type Demand, type PriceBook } from '../plan/index.ts';

export interface UnshownCost {
  /** Micro-USD per hour. */
  readonly micros: bigint;
  /** Nobody knows it: `micros` is 0. */
  readonly isUnknown: boolean;
}

type Place = Readonly<Partial<Record<'region' | 'geography', string | null | undefined>>>;

export function serviceCost(service: wire.Service, asked: Asked | undefined, book: PriceBook): UnshownCost {
  const compute = wire.wholeResources(service.resources) ?? asked?.compute;
  return costAt(compute && { compute }, service, asked, book);
}

export function volumeCost(volume: wire.Volume, asked: Asked | undefined, book: PriceBook): UnshownCost {
  const storageGb = volume.sizeGb ?? asked?.storageGb;
  return costAt(storageGb === undefined ? undefined : { storageGb }, volume, asked, book);
}

function costAt(
  demand: Demand | undefined,
  shown: Place,
  asked: Asked | undefined,
  book: PriceBook,
): UnshownCost {
  const region = shown.region ?? asked?.region;
  if (!demand || region === undefined) return { micros: 0n, isUnknown: true };
  const geography = shown.geography ?? asked?.geography;
  const { micros, basis } = estimate(demand, { region, geography }, book);
  return { micros, isUnknown: basis === 'unknown' };
}
