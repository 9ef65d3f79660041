/** Where a replica is, and what the API shows of it there. */
import type { wire } from '../../api/index.ts';
import { priceOf } from '../../engine/plan/index.ts';
import type { ObjectRecord } from '../../state/index.ts';
import { candidateOf, type Candidate } from './candidates.ts';
import type { FleetView } from './look.ts';
import { accountOf } from './markets.ts';
import { domainOf } from './placement.ts';
import type { Replica } from './replica.ts';
import type { RosterEntry } from './state.ts';
import type { VolumeFacts } from './volumes.ts';

type Whereabouts = Pick<
  Replica,
  | 'candidate'
  | 'rank'
  | 'hourlyMicros'
  | 'crowd'
  | 'waitsForCapacity'
  | 'provisioningSince'
  | 'rejection'
  | 'isMisplaced'
>;

/** The service of a replica, as its account shows it. */
export function serviceOf(
  view: FleetView,
  { place }: RosterEntry,
  record: ObjectRecord | undefined,
): wire.Service | undefined {
  const id = record?.externalId;
  const services = accountOf(view, place.account).handle?.informer.current?.services;
  return id === undefined ? undefined : services?.get(id);
}

export function whereabouts(
  entry: RosterEntry,
  {
    candidates,
    crowds,
    object,
    record,
    service,
    volume,
  }: {
    readonly object: FleetView['object'];
    readonly candidates: readonly Candidate[];
    readonly crowds: ReadonlyMap<string, number>;
    readonly record: ObjectRecord | undefined;
    readonly service: wire.Service | undefined;
    readonly volume: VolumeFacts | undefined;
  },
): Whereabouts {
  const candidate = candidateOf(entry, candidates);
  const { report, seen } = record ?? {};
  const hourlyMicros = priceOf(service?.hourlyMicros);
  return {
    candidate: candidate?.name,
    rank: candidate?.rank ?? candidates.length,
    hourlyMicros: hourlyMicros === undefined ? undefined : Number(hourlyMicros),
    crowd: candidate ? (crowds.get(candidate.name) ?? 0) : 0,
    waitsForCapacity: [report?.pending?.reason, volume?.pending].includes('CapacityUnavailable'),
    provisioningSince: seen?.state === 'provisioning' ? seen.since : undefined,
    rejection: candidate && service ? rejectionOf(candidate, service) : undefined,
    // Its own planner reports what it can't change: where it is was not known when it was found.
    isMisplaced:
      object.spec.update.mode !== 'InPlace' &&
      (candidate === undefined || report?.pending?.reason === 'ImmutableFieldChanged'),
  };
}

export function rejectionOf(
  { maxHourlyMicros: most, gpuModels }: Pick<Candidate, 'maxHourlyMicros' | 'gpuModels'>,
  service: Pick<wire.Service, 'state' | 'hourlyMicros'> & { readonly gpuModel?: unknown },
): Replica['rejection'] {
  const micros = priceOf(service.hourlyMicros);
  if (most !== undefined && micros !== undefined && micros > BigInt(most)) {
    return { state: 'PriceTooHigh', message: `${micros} micro-USD per hour` };
  }
  const { gpuModel: model, state } = service;
  if (!gpuModels || typeof model !== 'string' || state !== 'running' || gpuModels.includes(model))
    return undefined;
  return { state: 'ModelNotAccepted', message: `GPU ${model}` };
}

/** By candidate: the wanted replicas in its part of what is to be spread. Empty without a spread. */
export function crowdsOf(
  { placement }: FleetView['object']['spec'],
  candidates: readonly Candidate[],
  roster: readonly RosterEntry[],
): Map<string, number> {
  if (placement?.strategy !== 'Spread') return new Map();
  const { over } = placement.spread;
  const counts = new Map<string, number>();
  for (const entry of roster) {
    const candidate = entry.phase === 'wanted' ? candidateOf(entry, candidates) : undefined;
    if (!candidate) continue;
    const domain = domainOf(candidate, over);
    counts.set(domain, (counts.get(domain) ?? 0) + 1);
  }
  return new Map(candidates.map((each) => [each.name, counts.get(domainOf(each, over)) ?? 0]));
}
