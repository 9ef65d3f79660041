/**
 * What things cost, by account: learned from every snapshot, kept for 30 days after it was last seen, and written down. engine/plan/prices.ts
 * says what is made of it.
 *
 * - A price counts for the place that is shown, and, for a thing of ours, for the place as its document names it: what was asked for under
 *   one name may be shown under another.
 * - What does not run yet may show that it costs nothing yet; only what runs proves that nothing is shown, or asked.
 * - A price that can be none (negative, beyond 2^53-1) is ignored, with one line in the log.
 */
import { wire } from '../../api/index.ts';
import { messageOf, type Clock } from '../../base/index.ts';
import type { SnapshotChange } from '../../observed/index.ts';
import { catalogPrices, priceKey, priceOf, type PriceBook, type UnitPrices } from '../plan/index.ts';
import { parseObjectKey, traitsOf, type Asked } from '../../resources/index.ts';
import type { Demand, ObjectRecord, ObservedPrice, StateStore } from '../../state/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { AccountHandle } from '../accounts.ts';

export interface PriceBooksOptions {
  readonly store: StateStore;
  readonly clock: Clock;
  readonly logger: Logger;
}

const keptMs = 30 * 86_400_000;
/** So often all of an account is learned anew, so that what goes on unchanged is not forgotten. */
const reviewMs = 3_600_000;
const dayMs = 86_400_000;
/** The newest are kept. */
const mostPrices = 1024;

interface Book {
  observed: Map<string, ObservedPrice>;
  catalog: ReadonlyMap<string, UnitPrices>;
  reviewedAtMs: number;
}

/** Of one demand at one place. */
export interface PriceMove {
  readonly price: ObservedPrice;
  readonly beforeMicros: number;
}

export class PriceBooks {
  readonly #options: PriceBooksOptions;
  readonly #books = new Map<string, Book>();
  /** Ids with a price that can be none. */
  readonly #absurd = new Set<string>();

  constructor(options: PriceBooksOptions) {
    this.#options = options;
  }

  /** As it is now. */
  book({ name, spec, catalog }: AccountHandle): PriceBook {
    const book = this.#bookOf(name);
    if (catalog.current) book.catalog = catalogPrices(catalog.current.regions);
    const sinceMs = this.#options.clock.wallMs() - keptMs;
    const observed = [...book.observed.values()].filter(({ at }) => at >= sinceMs);
    return { observed, declared: spec.prices ?? [], catalog: book.catalog };
  }

  /** Others than before when something may cost another amount. */
  edition({ name, spec, catalog }: AccountHandle): readonly unknown[] {
    return [this.#bookOf(name).observed, spec.prices, catalog.current];
  }

  /** Newest first. */
  prices(account: string): readonly ObservedPrice[] {
    return newest(this.#bookOf(account).observed);
  }

  /** Learns what a snapshot shows; prices that have moved by more than one per cent. */
  observe({ name }: AccountHandle, { snapshot, changedIds }: SnapshotChange): PriceMove[] {
    const { clock } = this.#options;
    const book = this.#bookOf(name);
    const isDue = clock.monotonicMs() - book.reviewedAtMs >= reviewMs;
    if (isDue) book.reviewedAtMs = clock.monotonicMs();
    const { services, volumes } = snapshot;
    const ids = isDue ? [...services.keys(), ...volumes.keys()] : changedIds;
    const sighted = new Map<string, ObservedPrice>();
    for (const id of ids) {
      const service = services.get(id);
      const volume = volumes.get(id);
      const found = service ? this.#ofService(service) : volume ? this.#ofVolume(volume) : [];
      for (const price of found) keepDearest(sighted, price);
    }
    return this.#take(name, book, sighted);
  }

  #take(account: string, book: Book, sighted: ReadonlyMap<string, ObservedPrice>): PriceMove[] {
    const { store, logger } = this.#options;
    const moved: PriceMove[] = [];
    let isNews = false;
    for (const [key, price] of sighted) {
      const before = book.observed.get(key);
      // One that shows no price says nothing against others that do.
      if (before?.hourlyMicros !== undefined && price.hourlyMicros === undefined) continue;
      const beforeMicros = before?.hourlyMicros;
      if (beforeMicros !== undefined && hasMoved(beforeMicros, price.hourlyMicros ?? 0))
        moved.push({ price, beforeMicros });
      const isNew = !before || beforeMicros !== price.hourlyMicros || Math.abs(price.at - before.at) >= dayMs;
      isNews ||= isNew;
      if (isNew) book.observed.set(key, price);
    }
    if (!isNews) return moved;
    book.observed = new Map(newest(book.observed).map((price) => [priceKey(price), price]));
    store.savePrices(account, newest(book.observed)).catch((error: unknown) => {
      logger.warn({ account, note: messageOf(error) }, 'prices could not be written down');
    });
    return moved;
  }

  #ofService(service: wire.Service): ObservedPrice[] {
    const record = this.#options.store.recordOf(service.id);
    const asked = askedBy(record);
    const shape =
      wire.wholeResources(service.resources) ?? asked?.compute ?? record?.template?.values.resources;
    const price = this.#priceOf(service);
    const isRunning = service.state === 'running';
    const isTold = isRunning || (price !== undefined && price > 0 && service.state !== 'deleting');
    if (!shape || !isTold) return [];
    const { gpuCount, cpu, memoryGb } = shape;
    const gpuModel = typeof service['gpuModel'] === 'string' ? service['gpuModel'] : undefined;
    return this.#at(service, asked, { compute: { gpuCount, cpu, memoryGb } }, gpuModel, price);
  }

  #ofVolume(volume: wire.Volume): ObservedPrice[] {
    const asked = askedBy(this.#options.store.recordOf(volume.id));
    const storageGb = volume.sizeGb ?? asked?.storageGb;
    const price = this.#priceOf(volume);
    const isTold =
      volume.status === 'ready' || (price !== undefined && price > 0 && volume.status !== 'deleting');
    if (storageGb === undefined || !(storageGb > 0) || !isTold) return [];
    return this.#at(volume, asked, { storageGb }, undefined, price);
  }

  /** Where it is shown to be, and where its document says. */
  #at(
    shown: { readonly region?: string | null | undefined; readonly geography?: string | null | undefined },
    asked: Asked | undefined,
    demand: Demand,
    gpuModel: string | undefined,
    price: bigint | undefined,
  ): ObservedPrice[] {
    const region = shown.region ?? asked?.region;
    if (region === undefined) return [];
    const at = this.#options.clock.wallMs();
    const hourlyMicros = price === undefined ? undefined : Number(price);
    const names = new Set([shown.geography ?? 'auto', asked?.geography ?? shown.geography ?? 'auto']);
    return [...names].map((geography) => ({ region, geography, demand, gpuModel, hourlyMicros, at }));
  }

  #priceOf({
    id,
    hourlyMicros,
  }: {
    readonly id: string;
    readonly hourlyMicros?: unknown;
  }): bigint | undefined {
    const price = priceOf(hourlyMicros);
    if (price === undefined && hourlyMicros !== undefined && hourlyMicros !== null && !this.#absurd.has(id)) {
      this.#absurd.add(id);
      this.#options.logger.warn({ id, hourlyMicros }, 'a price that can be none is ignored');
    }
    return price;
  }

  #bookOf(account: string): Book {
    const known = this.#books.get(account);
    if (known) return known;
    const stored = this.#options.store.prices(account).map((price) => [priceKey(price), price] as const);
    const book = { observed: new Map(stored), catalog: new Map(), reviewedAtMs: Number.NEGATIVE_INFINITY };
    this.#books.set(account, book);
    return book;
  }
}

function askedBy(record: ObjectRecord | undefined): Asked | undefined {
  return record && traitsOf(parseObjectKey(record.key).kind).asks?.(record.manifest.spec);
}

/** Of several that are the same to anybody who asks. */
function keepDearest(sighted: Map<string, ObservedPrice>, price: ObservedPrice): void {
  const key = priceKey(price);
  const before = sighted.get(key);
  if (before?.hourlyMicros === undefined || (price.hourlyMicros ?? -1) > before.hourlyMicros)
    sighted.set(key, price);
}

function hasMoved(before: number, after: number): boolean {
  return Math.abs(after - before) > before / 100;
}

function newest(prices: ReadonlyMap<string, ObservedPrice>): ObservedPrice[] {
  return [...prices.values()].toSorted((left, right) => right.at - left.at).slice(0, mostPrices);
}
