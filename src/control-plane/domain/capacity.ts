/**
 * What is taken: GPUs by model, and of each geography CPU, memory and storage, where the configuration bounds them. A
 * service gets all of it in one geography, and its GPUs from one model: the first that has enough left, in the order of
 * the configuration. Compute counts while it is held, storage as it was asked for. All places together are bounded by
 * what the machine has that runs the containers: beyond that nothing is added, and what is held is kept.
 *
 * What the configuration states counts. For all else, a runtime may report what the machine or each place has now (`observe`), and how many
 * services fit.
 */
import type { ServiceResources } from '../../api/wire.ts';
import type { ControlPlaneConfig, GeographyConfig, MachineCapacity, RegionConfig } from './config.ts';
import { conflict } from './errors.ts';
import { takesCompute, takesTheSame, type ServiceRecord, type VolumeRecord } from '../store/records.ts';
import type { Store } from '../store/store.ts';

type Amount = 'cpu' | 'memoryGb' | 'storageGb' | 'services';

const amounts = ['cpu', 'memoryGb', 'storageGb', 'services'] as const satisfies readonly Amount[];

export type AmountBounds = Readonly<Partial<Record<Amount, number>>>;

export interface ObservedBounds {
  readonly machine: AmountBounds;
  /** By `placeKey`. */
  readonly places: ReadonlyMap<string, AmountBounds>;
}

export function placeKey(region: string, geography: string): string {
  return `${region}/${geography}`;
}

export interface Bounded {
  /** Null: of the machine that runs the containers. */
  readonly place: { readonly region: string; readonly geography: string } | null;
  /** An amount, or a model of GPUs. */
  readonly what: string;
  readonly taken: number;
  readonly total: number;
}

export interface Placement {
  readonly geography: string;
  readonly gpuModel: string | null;
}

export class Capacity {
  readonly #config: ControlPlaneConfig;
  readonly #unit: Store['unit'];
  readonly #taken = new Map<string, number>();
  #observed: ObservedBounds = { machine: {}, places: new Map() };

  constructor(config: ControlPlaneConfig, store: Store) {
    this.#config = config;
    this.#unit = store.unit;
    for (const service of store.services.everywhere()) this.#count(service, 1);
    for (const volume of store.volumes.everywhere()) this.#countStorage(undefined, volume);
    store.services.observe((before, after) => {
      this.#move(before, after);
      this.#unit.onRollback(() => this.#move(after, before));
    });
    store.volumes.observe((before, after) => {
      this.#countStorage(before, after);
      this.#unit.onRollback(() => this.#countStorage(after, before));
    });
  }

  /** From now on; services that are there stay, even where there is less than they hold. */
  observe(bounds: ObservedBounds): void {
    this.#observed = bounds;
  }

  /**
   * Where these resources are to be had, and `storageGb` beside them; what `instead` holds counts as free. Refuses with
   * `capacity_unavailable`.
   */
  place(
    region: RegionConfig,
    geographies: readonly string[],
    resources: ServiceResources,
    storageGb = 0,
    instead?: ServiceRecord,
  ): Placement {
    const isRoomAtAll =
      this.#machineHasRoom('cpu', resources.cpu, instead) &&
      this.#machineHasRoom('memoryGb', resources.memoryGb, instead) &&
      this.#machineHasRoom('services', 1, instead) &&
      this.#machineHasRoom('storageGb', storageGb);
    for (const geography of isRoomAtAll ? region.geographies : []) {
      if (!geographies.includes(geography.name)) continue;
      const isRoom =
        this.#hasRoom(region.name, geography, 'cpu', resources.cpu, instead) &&
        this.#hasRoom(region.name, geography, 'memoryGb', resources.memoryGb, instead) &&
        this.#hasRoom(region.name, geography, 'services', 1, instead) &&
        this.#hasRoom(region.name, geography, 'storageGb', storageGb);
      if (!isRoom) continue;
      if (resources.gpuCount === 0) return { geography: geography.name, gpuModel: null };
      for (const [gpuModel, total] of Object.entries(geography.gpus)) {
        const free = total - this.#takenBesides(region.name, geography.name, gpuModel, instead);
        if (free >= resources.gpuCount) return { geography: geography.name, gpuModel };
      }
    }
    const { gpuCount, cpu, memoryGb } = resources;
    const gpus = gpuCount === 0 ? '' : ` with ${gpuCount} free GPUs of one model`;
    throw noCapacity(region.name, `${cpu} CPU and ${memoryGb} GB of memory${gpus}`, geographies);
  }

  /** As `place`, for a service that stays where it is. */
  placeAgain(service: ServiceRecord, resources = service.resources): Placement {
    return this.place(this.regionOf(service), [service.geography], resources, 0, service);
  }

  /** The first of `geographies` that has so much storage left. */
  placeStorage(region: RegionConfig, geographies: readonly string[], sizeGb: number): string {
    const found = region.geographies.find(
      (geography) =>
        this.#machineHasRoom('storageGb', sizeGb) &&
        geographies.includes(geography.name) &&
        this.#hasRoom(region.name, geography, 'storageGb', sizeGb),
    );
    if (found) return found.name;
    throw noCapacity(region.name, `${sizeGb} GB of storage`, geographies);
  }

  requireStorage(region: RegionConfig, geography: string, moreGb: number): void {
    this.placeStorage(region, [geography], moreGb);
  }

  /** Where its region is not offered any more, only the machine bounds it. */
  requireGrowth(volume: VolumeRecord, moreGb: number): void {
    const region = this.#config.regions.find(({ name }) => name === volume.region);
    const isOffered = region?.geographies.some(({ name }) => name === volume.geography);
    if (region && isOffered) this.requireStorage(region, volume.geography, moreGb);
    else if (!this.#machineHasRoom('storageGb', moreGb)) {
      throw noCapacity(volume.region, `${moreGb} GB of storage`, [volume.geography]);
    }
  }

  /** Services outlive their place in the configuration: they run on, and can't be launched again. */
  regionOf(service: ServiceRecord): RegionConfig {
    const region = this.#config.regions.find((candidate) => candidate.name === service.region);
    if (region?.geographies.some((geography) => geography.name === service.geography)) return region;
    throw conflict(
      'capacity_unavailable',
      `region ${service.region}, ${service.geography} is not offered any more; a new service can be elsewhere`,
    );
  }

  /** Of every model in every geography of the configuration. */
  usage(): { region: string; geography: string; model: string; count: number; taken: number }[] {
    return this.#config.regions.flatMap((region) =>
      region.geographies.flatMap((geography) =>
        Object.entries(geography.gpus).map(([model, count]) => ({
          region: region.name,
          geography: geography.name,
          model,
          count,
          taken: this.#taken.get(keyOf(region.name, geography.name, `gpu ${model}`)) ?? 0,
        })),
      ),
    );
  }

  /** What has a bound: of the machine first, then in the order of the configuration. */
  bounded(): Bounded[] {
    const machine = amounts.flatMap((what): Bounded[] => {
      const total = this.#totalOfMachine(what);
      const taken = this.#taken.get(keyOfMachine(what)) ?? 0;
      return total === undefined ? [] : [{ place: null, what, taken, total }];
    });
    const places = this.#config.regions.flatMap(({ name: region, geographies }) =>
      geographies.flatMap((geography): Bounded[] => {
        const place = { region, geography: geography.name };
        return amounts.flatMap((what): Bounded[] => {
          const total = this.#totalOf(region, geography, what);
          const taken = this.#taken.get(keyOf(region, geography.name, what)) ?? 0;
          return total === undefined ? [] : [{ place, what, taken, total }];
        });
      }),
    );
    const gpus = this.usage().map(({ region, geography, model, count, taken }) => ({
      place: { region, geography },
      what: model,
      taken,
      total: count,
    }));
    return [...machine, ...places, ...gpus];
  }

  #hasRoom(
    region: string,
    geography: GeographyConfig,
    amount: Amount,
    wanted: number,
    instead?: ServiceRecord,
  ): boolean {
    const total = this.#totalOf(region, geography, amount);
    if (total === undefined || wanted === 0) return true;
    const isBack =
      amount !== 'storageGb' &&
      instead &&
      takesCompute(instead) &&
      placeKey(instead.region, instead.geography) === placeKey(region, geography.name);
    const back = isBack ? heldOf(instead, amount) : 0;
    if (wanted <= back) return true;
    const taken = this.#taken.get(keyOf(region, geography.name, amount)) ?? 0;
    // Sums of fractions are not exact.
    return taken - back + wanted <= total + 1e-6;
  }

  #machineHasRoom(amount: Amount, wanted: number, instead?: ServiceRecord): boolean {
    const total = this.#totalOfMachine(amount) ?? Infinity;
    const back = amount !== 'storageGb' && instead && takesCompute(instead) ? heldOf(instead, amount) : 0;
    if (wanted <= back) return true;
    // Sums of fractions are not exact.
    return (this.#taken.get(keyOfMachine(amount)) ?? 0) - back + wanted <= total + 1e-6;
  }

  #totalOf(region: string, geography: GeographyConfig, amount: Amount): number | undefined {
    const observed = this.#observed.places.get(placeKey(region, geography.name))?.[amount];
    if (amount === 'services') return isStated(geography) ? undefined : observed;
    return geography[amount] ?? observed;
  }

  /** The configuration may also state that there is no bound. */
  #totalOfMachine(amount: Amount): number | undefined {
    const { capacity } = this.#config.containers;
    const observed = this.#observed.machine[amount];
    if (amount === 'services') return isStated(capacity) ? undefined : observed;
    const stated = capacity[amount];
    return stated === undefined ? observed : (stated ?? undefined);
  }

  #takenBesides(region: string, geography: string, gpuModel: string, instead?: ServiceRecord): number {
    const key = keyOf(region, geography, `gpu ${gpuModel}`);
    const own = instead && takesCompute(instead) && keyOfService(instead) === key;
    return (this.#taken.get(key) ?? 0) - (own ? instead.resources.gpuCount : 0);
  }

  #move(before: ServiceRecord | undefined, after: ServiceRecord | undefined): void {
    if (before && after && takesTheSame(before, after)) return;
    if (before) this.#count(before, -1);
    if (after) this.#count(after, 1);
  }

  #count(service: ServiceRecord, sign: 1 | -1): void {
    if (!takesCompute(service)) return;
    const { region, geography, resources } = service;
    const key = keyOfService(service);
    if (key !== undefined) this.#add(key, sign * resources.gpuCount);
    for (const amount of ['cpu', 'memoryGb', 'services'] as const) {
      this.#add(keyOf(region, geography, amount), sign * heldOf(service, amount));
      this.#add(keyOfMachine(amount), sign * heldOf(service, amount));
    }
  }

  #countStorage(before: VolumeRecord | undefined, after: VolumeRecord | undefined): void {
    for (const [volume, sign] of [
      [before, -1],
      [after, 1],
    ] as const) {
      if (!volume) continue;
      this.#add(keyOf(volume.region, volume.geography, 'storageGb'), sign * volume.requestedSizeGb);
      this.#add(keyOfMachine('storageGb'), sign * volume.requestedSizeGb);
    }
  }

  #add(key: string, amount: number): void {
    this.#taken.set(key, (this.#taken.get(key) ?? 0) + amount);
  }
}

/** Machines may be added when they are needed: then what is there now shows nothing of the number of services either. */
function isStated({ cpu, memoryGb }: MachineCapacity): boolean {
  return cpu !== undefined || memoryGb !== undefined;
}

function heldOf({ resources }: ServiceRecord, amount: Exclude<Amount, 'storageGb'>): number {
  return amount === 'services' ? 1 : resources[amount];
}

function noCapacity(region: string, what: string, geographies: readonly string[]): Error {
  return conflict(
    'capacity_unavailable',
    `region ${region} has no ${what} in ${geographies.join(' or ')} at the moment; try again later`,
  );
}

/** `what`: a model of GPUs with a mark before it, or an amount. */
function keyOf(region: string, geography: string, what: string): string {
  return `${region}/${geography}/${what}`;
}

/** No region has an empty name. */
function keyOfMachine(amount: Amount): string {
  return keyOf('', '', amount);
}

function keyOfService(service: ServiceRecord): string | undefined {
  return service.gpuModel === null
    ? undefined
    : keyOf(service.region, service.geography, `gpu ${service.gpuModel}`);
}
