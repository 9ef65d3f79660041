/**
 * What a step of a plan costs, before and after it, and what it needs of the provider's stock. A service without compute costs nothing (the rule of burn). But
 * the size of one that sleeps or is paused counts as if it ran: it may wake before its new size is seen, and whether
 * a resize wakes it is open (§3).
 */
import {
  createService,
  createVolume,
  deleteService,
  deleteVolume,
  resizeService,
  startService,
  stopService,
  updateVolume,
} from '../actions/index.ts';
import type { wire } from '../api/index.ts';
import { wholeResources } from '../api/wire.ts';
import {
  free,
  holdsCompute,
  priceOf,
  volumeBurn,
  type Charge,
  type Place,
  type Pricing,
  type Step,
} from '../engine/plan/index.ts';
import type { ContainerServiceSpec, StorageVolumeSpec } from '../resources/index.ts';
import type { CapacityDemand, Demand } from '../state/index.ts';

type Resources = wire.ServiceResources;

/**
 * Undefined when it changes nothing of the cost. `spec`: with what the service takes of its template. `volume`: it is deleted with the service, or
 * counts in what replaces it.
 */
export function servicePricing(
  step: Step,
  spec: ContainerServiceSpec,
  service: wire.Service | undefined,
  volume: wire.Volume | undefined,
): Pricing | undefined {
  const { action } = step;
  const place = placeOf(spec, service);
  if (action.do === createService.name) {
    const { resources, volumeGb } = action.body;
    return { place: placeOf(action.body, undefined), before: free, after: created(resources, volumeGb) };
  }
  if (!service) return undefined;
  if (action.do === startService.name) return { place, before: free, after: computeCharge(service, spec) };
  if (action.do === resizeService.name) {
    const after = { demands: [{ compute: action.resources }] };
    return { place, before: computeCharge(service, spec), after };
  }
  const before = holdsCompute(service) ? computeCharge(service, spec) : free;
  if (action.do === stopService.name) return { place, before, after: free };
  return action.do === deleteService.name
    ? { place, before: withVolume(before, volume), after: free }
    : undefined;
}

/** What a step needs of the provider's stock. A start is at the place where the service is. */
export function serviceDemand(
  { action }: Step,
  spec: ContainerServiceSpec,
  service: wire.Service | undefined,
): CapacityDemand | undefined {
  if (action.do === createService.name) {
    const { resources, volumeGb: storageGb = 0 } = action.body;
    if (!resources) return undefined;
    return { ...placeOfDemand(action.body, undefined), ...sizeOf(resources), storageGb };
  }
  const compute = wholeResources(service?.resources) ?? spec.resources;
  if (action.do !== startService.name || !compute) return undefined;
  return { ...placeOfDemand(spec, service), ...sizeOf(compute), storageGb: 0 };
}

export function volumeDemand({ action }: Step): CapacityDemand | undefined {
  if (action.do !== createVolume.name) return undefined;
  const { sizeGb: storageGb } = action.body;
  return { ...placeOfDemand(action.body, undefined), gpuCount: 0, cpu: 0, memoryGb: 0, storageGb };
}

function placeOfDemand(...place: Parameters<typeof placeOf>) {
  const { region, geography } = placeOf(...place);
  return { region, geography: geography ?? 'auto' };
}

function sizeOf({ gpuCount, cpu, memoryGb }: Resources) {
  return { gpuCount, cpu, memoryGb };
}

/** What comes after a deletion that makes room for it; undefined for any other step. With its volume, also one that is there already. */
export function replacementPricing(step: Step, spec: ContainerServiceSpec): Pricing | undefined {
  if (step.action.do !== deleteService.name || step.reason !== 'Replace' || !spec.resources) return undefined;
  const after = created(spec.resources, spec.storage?.volumeGb);
  return { place: placeOf(spec, undefined), before: free, after };
}

export function volumePricing(
  { action }: Step,
  spec: StorageVolumeSpec,
  volume: wire.Volume | undefined,
): Pricing | undefined {
  const place = placeOf(spec, volume);
  if (action.do === createVolume.name)
    return { place, before: free, after: { demands: [{ storageGb: action.body.sizeGb }] } };
  if (!volume) return undefined;
  const before = storageCharge(volume);
  if (action.do === deleteVolume.name) return { place, before, after: free };
  const isGrowth = action.do === updateVolume.name && action.sizeGb !== undefined;
  return isGrowth ? { place, before, after: { demands: [{ storageGb: action.sizeGb }] } } : undefined;
}

/** `resources` undefined: they are not known yet. */
function created(resources: Resources | undefined, volumeGb: number | undefined): Charge {
  const storage: readonly Demand[] = volumeGb === undefined ? [] : [{ storageGb: volumeGb }];
  if (!resources) return { demands: storage, isSizeUnknown: true };
  return { demands: [{ compute: resources }, ...storage] };
}

function placeOf(
  wanted: Place | { readonly region: string; readonly geography?: string | undefined },
  shown: Pick<wire.Service, 'region' | 'geography'> | undefined,
): Place {
  return {
    region: shown?.region ?? wanted.region,
    geography: shown?.geography ?? wanted.geography,
  };
}

/** A service without compute shows a price of nothing for now, or that of its storage (§1): with compute it costs no less. */
function computeCharge(service: wire.Service, { resources }: ContainerServiceSpec): Charge {
  const shown = priceOf(service.hourlyMicros);
  if (shown !== undefined && holdsCompute(service)) return { shown };
  const compute = wholeResources(service.resources) ?? resources;
  return { demands: compute ? [{ compute }] : [], ...(shown === undefined ? {} : { atLeast: shown }) };
}

/** A volume that shows no price is left out. */
function withVolume(compute: Charge, volume: wire.Volume | undefined): Charge {
  const micros = volume && volumeBurn(volume);
  if (!volume || micros === undefined) return compute;
  if ('shown' in compute) return { shown: compute.shown + micros };
  const { demands, atLeast = 0n } = compute;
  const storageGb = volume.sizeGb ?? volume.requestedSizeGb ?? 0;
  return { demands: [...demands, { storageGb }], atLeast: atLeast + micros };
}

function storageCharge(volume: wire.Volume): Charge {
  const shown = volumeBurn(volume);
  if (shown !== undefined) return { shown };
  const storageGb = volume.sizeGb ?? volume.requestedSizeGb ?? undefined;
  return { demands: storageGb === undefined ? [] : [{ storageGb }] };
}
