/** The places in which the replicas of a fleet may be: those of `placement`, or the one of the template. */
import { invariant, sameValue } from '../../base/index.ts';
import type { ServiceFleetSpec } from './schema.ts';
import type { ReplicaPlace, RosterEntry } from './state.ts';

export interface Candidate {
  readonly name: string;
  /** From 0; lower is better. */
  readonly rank: number;
  readonly place: ReplicaPlace;
  readonly gpuModels: readonly string[] | undefined;
  readonly maxHourlyMicros: number | undefined;
  readonly maxReplicas: number;
}

export function candidatesOf(spec: ServiceFleetSpec): Candidate[] {
  const { accountRef, template, storage, placement } = spec;
  const volumeGb = storage?.scratch?.volumeGb;
  const own = volumeGb === undefined ? {} : { volumeGb };
  const volume = storage?.perReplica ? ({ volume: true } as const) : own;
  if (!placement) {
    const { region, geography } = template.spec;
    invariant(region !== undefined, 'neither region nor placement');
    const place = { account: accountRef.name, region, ...(geography === undefined ? {} : { geography }) };
    return [
      {
        name: 'template',
        rank: 0,
        place: { ...place, ...volume },
        gpuModels: undefined,
        maxHourlyMicros: undefined,
        maxReplicas: Number.POSITIVE_INFINITY,
      },
    ];
  }
  return placement.candidates.map((given, rank) => ({
    name: given.name,
    rank,
    place: {
      account: given.accountRef?.name ?? accountRef.name,
      region: given.region,
      ...(given.geography === undefined ? {} : { geography: given.geography }),
      ...(given.resources === undefined ? {} : { resources: given.resources }),
      ...volume,
    },
    gpuModels: given.gpuModels,
    maxHourlyMicros: given.maxHourlyMicros ?? placement.maxHourlyMicros,
    maxReplicas: given.maxReplicas ?? Number.POSITIVE_INFINITY,
  }));
}

/** That of a replica. Undefined: its place is none of them any more. */
export function candidateOf(
  { place, candidate }: Pick<RosterEntry, 'place' | 'candidate'>,
  candidates: readonly Candidate[],
): Candidate | undefined {
  const there = candidates.filter((each) => sameValue(each.place, place));
  return there.find(({ name }) => name === candidate) ?? there[0];
}
