/**
 * What a simulated provider takes, and what the acts of its clients commit it to. It sees the provider's own records, and nothing of the manager.
 *
 * | a record changes                         | counts as                                                              |
 * |------------------------------------------|------------------------------------------------------------------------|
 * | any                                      | what was charged since the last change is added to the month           |
 * | it costs more than before                | an act: what everything may cost from then on, and what was taken so far |
 * | the provider changes its prices          | no act                                                                 |
 *
 * A client can't know a price before a read has shown it. So what is asked for counts with the price that something of its size has had for the
 * time of a read, for that time, and everything else with its price before a change that is younger than that.
 */
import { monthAt, monthEnd } from '../../src/base/index.ts';
import {
  serviceCharge,
  volumeCharge,
  type ServiceRecord,
  type VolumeRecord,
} from '../../src/control-plane/store/records.ts';
import type { Prices } from '../../src/control-plane/domain/config.ts';
import type { ControlPlane } from './processes/control-plane.ts';

type Thing = ServiceRecord | VolumeRecord;

/** Amounts are micro-USD. */
export interface Act {
  readonly name: string;
  readonly atMs: number;
  /** What everything costs in an hour from then on, as far as a client can know it. */
  readonly hourlyMicros: number;
  /** What the month has cost so far, and for how long it still lasts. */
  readonly spentMicros: number;
  readonly monthLeftMs: number;
}

const hourMs = 3_600_000n;
const withoutCompute = new Set(['paused', 'sleeping', 'deleting']);

const isService = (thing: Thing): thing is ServiceRecord => 'state' in thing;
const committed = (thing: Thing): number =>
  withoutCompute.has(isService(thing) ? thing.state : thing.status) ? 0 : thing.hourlyMicros;
const charged = (thing: Thing): number => (isService(thing) ? serviceCharge(thing) : volumeCharge(thing));
const shapeOf = (thing: Thing): string =>
  isService(thing) ? JSON.stringify(thing.resources) : `storage ${thing.sizeGb}`;

export class ProviderMeter {
  readonly acts: Act[] = [];
  readonly #nowMs: () => number;
  readonly #timeZone: string;
  readonly #readMs: number;
  readonly #things = new Map<string, Thing>();
  /** By thing: what it costs, and since when. */
  readonly #priced = new Map<
    string,
    { readonly shape: string; readonly micros: number; readonly sinceMs: number }
  >();
  /** By shape: what it has cost for as long as a read takes, at last. */
  readonly #shown = new Map<string, number>();
  /** By thing: what it counted with when it was asked for, and until when no read has to have shown more. */
  readonly #asked = new Map<string, { readonly micros: number; readonly untilMs: number }>();
  #lowest = 100;
  /** Micro-USD times milliseconds, by month. */
  readonly #months = new Map<string, bigint>();
  #atMs: number;
  #percent = 100;
  #before = { percent: 100, untilMs: Number.NEGATIVE_INFINITY };
  #isRepricing = false;

  /** `readMs`: within so long, a client has read the account. */
  constructor(nowMs: () => number, timeZone: string, readMs: number) {
    this.#nowMs = nowMs;
    this.#timeZone = timeZone;
    this.#readMs = readMs;
    this.#atMs = nowMs();
  }

  /** After each start. */
  watch(plane: ControlPlane): void {
    const { store, config } = plane.inside;
    this.#charge();
    // A crash takes back what was not saved.
    this.#things.clear();
    for (const each of [...store.services.all(), ...store.volumes.all()]) this.#things.set(each.id, each);
    store.services.observe((before, after) => this.#changed(before, after));
    store.volumes.observe((before, after) => this.#changed(before, after));
    this.#list(config.regions.flatMap(({ prices }) => prices ?? []));
  }

  /** All prices are so many per cent of those at first. */
  reprice(plane: ControlPlane, percent: number): void {
    const { store, config } = plane.inside;
    this.#before = { percent: this.#percent, untilMs: this.#nowMs() + this.#readMs };
    const scaled = (micros: number) => Math.round((micros * percent) / this.#before.percent);
    this.#percent = percent;
    this.#lowest = Math.min(this.#lowest, percent);
    this.#isRepricing = true;
    this.#list(config.regions.flatMap(({ prices }) => prices ?? []));
    store.unit.run(() => {
      for (const each of Array.from(store.services.all()))
        store.services.put({ ...each, hourlyMicros: scaled(each.hourlyMicros) });
      for (const each of Array.from(store.volumes.all()))
        store.volumes.put({ ...each, hourlyMicros: scaled(each.hourlyMicros) });
    });
    this.#isRepricing = false;
  }

  /** What each month has cost, by its name: `2026-03`. */
  takenMicros(): Map<string, number> {
    this.#charge();
    return new Map([...this.#months].map(([month, amount]) => [month, Number(amount / hourMs)]));
  }

  /** The list of prices, for what is made from now on. */
  #list(all: readonly Prices[]): void {
    for (const prices of all) {
      const first = firstPrices.get(prices) ?? { ...prices };
      firstPrices.set(prices, first);
      const scaled = (micros: number) => Math.round((micros * this.#percent) / 100);
      Object.assign(prices, {
        gpuHourMicros: scaled(first.gpuHourMicros),
        cpuHourMicros: scaled(first.cpuHourMicros),
        memoryGbHourMicros: scaled(first.memoryGbHourMicros),
        storageGbHourMicros: scaled(first.storageGbHourMicros),
      });
    }
  }

  #changed(before: Thing | undefined, after: Thing | undefined): void {
    this.#charge();
    const { id } = (after ?? before) as Thing;
    if (after) this.#things.set(id, after);
    else this.#things.delete(id);
    this.#show();
    const since = this.#priced.get(id)?.sinceMs;
    this.#priced.delete(id);
    if (!after) return;
    const isMore = committed(after) > (before ? committed(before) : 0);
    if (isMore && !this.#isRepricing) this.#act(after);
    const [shape, micros] = [shapeOf(after), after.hourlyMicros];
    const known = before && shapeOf(before) === shape && before.hourlyMicros === micros;
    const sinceMs = (known ? since : undefined) ?? this.#nowMs();
    this.#priced.set(id, { shape, micros, sinceMs });
  }

  /** What has been there for long enough. */
  #show(): void {
    for (const { shape, micros, sinceMs } of this.#priced.values())
      if (this.#nowMs() - sinceMs >= this.#readMs) this.#shown.set(shape, micros);
  }

  #act(thing: Thing): void {
    // Nobody has seen one: a catalog of earlier may count.
    const guess = Math.floor((committed(thing) * this.#lowest) / this.#percent);
    const ownMicros = this.#shown.get(shapeOf(thing)) ?? guess;
    const nowMs = this.#nowMs();
    const { percent, untilMs } = this.#before;
    const known = (micros: number) =>
      nowMs < untilMs ? Math.min(micros, Math.floor((micros * percent) / this.#percent)) : micros;
    this.#asked.set(thing.id, { micros: ownMicros, untilMs: nowMs + this.#readMs });
    const shownAs = (each: Thing) => {
      const asked = this.#asked.get(each.id);
      const micros = known(committed(each));
      return asked && nowMs < asked.untilMs ? Math.min(asked.micros, micros) : micros;
    };
    const hourlyMicros = [...this.#things.values()].reduce((sum, each) => sum + shownAs(each), 0);
    const spent = this.#months.get(monthAt(nowMs, this.#timeZone)) ?? 0n;
    const monthLeftMs = monthEnd(nowMs, this.#timeZone) - nowMs;
    const spentMicros = Number(spent / hourMs);
    this.acts.push({ name: thing.name, atMs: nowMs, hourlyMicros, spentMicros, monthLeftMs });
  }

  /** Until now, at what is charged; a month that ends meanwhile gets its part. */
  #charge(): void {
    const nowMs = this.#nowMs();
    const perHour = BigInt([...this.#things.values()].reduce((sum, each) => sum + charged(each), 0));
    while (this.#atMs < nowMs) {
      const toMs = Math.min(nowMs, monthEnd(this.#atMs, this.#timeZone));
      const month = monthAt(this.#atMs, this.#timeZone);
      this.#months.set(month, (this.#months.get(month) ?? 0n) + perHour * BigInt(toMs - this.#atMs));
      this.#atMs = toMs;
    }
  }
}

/** Those of a list of prices, before any change. */
const firstPrices = new WeakMap<Prices, Prices>();
