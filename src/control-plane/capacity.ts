/**
 * Which GPUs are taken. A service gets all its GPUs from one model in one geography: the first that has
 * enough left, in the order of the configuration.
 */
import { invariant } from '../base/invariant.ts';
import type { ControlPlaneConfig, RegionConfig } from './config.ts';
import { conflict } from './errors.ts';
import { holdsCompute, type ServiceRecord } from './records.ts';
import type { Store } from './store.ts';

export interface Placement {
  readonly geography: string;
  readonly gpuModel: string | null;
}

export class Capacity {
  readonly #config: ControlPlaneConfig;
  readonly #unit: Store['unit'];
  readonly #taken = new Map<string, number>();

  constructor(config: ControlPlaneConfig, store: Store) {
    this.#config = config;
    this.#unit = store.unit;
    for (const service of store.services.everywhere()) this.#count(service, 1);
    store.services.observe((before, after) => {
      this.#move(before, after);
      this.#unit.onRollback(() => this.#move(after, before));
    });
  }

  /**
   * Where `gpuCount` GPUs are to be had; what `instead` holds counts as free. Refuses with
   * `capacity_unavailable`.
   */
  place(
    region: RegionConfig,
    geographies: readonly string[],
    gpuCount: number,
    instead?: ServiceRecord,
  ): Placement {
    const [first] = geographies;
    invariant(first !== undefined, 'a placement needs at least one geography');
    if (gpuCount === 0) return { geography: first, gpuModel: null };
    for (const geography of region.geographies) {
      if (!geographies.includes(geography.name)) continue;
      for (const [gpuModel, total] of Object.entries(geography.gpus)) {
        const free = total - this.#takenBesides(region.name, geography.name, gpuModel, instead);
        if (free >= gpuCount) return { geography: geography.name, gpuModel };
      }
    }
    throw conflict(
      'capacity_unavailable',
      `region ${region.name} has no ${gpuCount} free GPUs of one model in ${geographies.join(' or ')} at the moment; try again later`,
    );
  }

  /** As `place`, for a service that stays where it is. */
  placeAgain(service: ServiceRecord, gpuCount = service.resources.gpuCount): Placement {
    return this.place(this.regionOf(service), [service.geography], gpuCount, service);
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
          taken: this.#taken.get(keyOf(region.name, geography.name, model)) ?? 0,
        })),
      ),
    );
  }

  #takenBesides(region: string, geography: string, gpuModel: string, instead?: ServiceRecord): number {
    const key = keyOf(region, geography, gpuModel);
    const own = instead && holdsCompute(instead) && keyOfService(instead) === key;
    return (this.#taken.get(key) ?? 0) - (own ? instead.resources.gpuCount : 0);
  }

  #move(before: ServiceRecord | undefined, after: ServiceRecord | undefined): void {
    if (before) this.#count(before, -1);
    if (after) this.#count(after, 1);
  }

  #count(service: ServiceRecord, sign: 1 | -1): void {
    const key = keyOfService(service);
    if (key === undefined || !holdsCompute(service)) return;
    this.#taken.set(key, (this.#taken.get(key) ?? 0) + sign * service.resources.gpuCount);
  }
}

function keyOf(region: string, geography: string, gpuModel: string): string {
  return `${region}/${geography}/${gpuModel}`;
}

function keyOfService(service: ServiceRecord): string | undefined {
  return service.gpuModel === null ? undefined : keyOf(service.region, service.geography, service.gpuModel);
}
