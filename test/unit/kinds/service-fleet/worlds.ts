/** Fleets as their planner sees them, and what becomes of their replicas when all goes well. */
import type { Plan } from '../../../../src/engine/plan/index.ts';
import { serviceFleetDocument, type ServiceFleetSpec } from '../../../../src/kinds/service-fleet/schema.ts';
import { candidateOf, candidatesOf } from '../../../../src/kinds/service-fleet/candidates.ts';
import type { Market } from '../../../../src/kinds/service-fleet/placement.ts';
import { wantedReplicas } from '../../../../src/kinds/service-fleet/counts.ts';
import type { FleetInputs } from '../../../../src/kinds/service-fleet/inputs.ts';
import { planFleet } from '../../../../src/kinds/service-fleet/plan.ts';
import { contentAt, type Replica } from '../../../../src/kinds/service-fleet/replica.ts';
import {
  contentOf,
  newestHealthy,
  type PresentContent,
} from '../../../../src/kinds/service-fleet/revisions.ts';
import type { OwnerRevision } from '../../../../src/state/index.ts';
import { targetOf } from '../../../../src/kinds/service-fleet/rollout.ts';
import type { FleetState, RosterEntry } from '../../../../src/kinds/service-fleet/state.ts';
import type { FleetVolumes } from '../../../../src/kinds/service-fleet/volumes.ts';

export const place = { account: 'default', region: 'standard' };
const elsewhere = { account: 'default', region: 'economy' };
export const startMs = 1_700_000_000_000;

/** A revision whose only content is this image. */
export function revisionOf(number: number, image: string, more: Partial<OwnerRevision> = {}): OwnerRevision {
  const outcome = 'RollingOut';
  return { number, ...contentWith(image), outcome, at: startMs, ...more };
}

function contentWith(image: string): PresentContent {
  return { content: { image, resources: { cpu: 1, memoryGb: 1 } }, data: [], values: 'v', digest: image };
}

export const old = revisionOf(1, 'a:0', { outcome: 'Healthy' });
export const present = revisionOf(2, 'a:1');
/** Its rollout is over. */
const done = { ...present, outcome: 'Healthy' } as const;

export function fleetSpec(spec: object = {}): ServiceFleetSpec {
  return serviceFleetDocument.parse({
    apiVersion: 'fleetkeeper.dev/v1alpha1',
    kind: 'ServiceFleet',
    metadata: { name: 'llm' },
    spec: {
      replicas: 3,
      template: {
        spec: { region: 'standard', image: 'a:1', resources: { cpu: 1, memoryGb: 1 } },
      },
      scaleIn: { maxPerMinute: 1000 },
      drain: { graceSeconds: 0 },
      ...spec,
    },
  }).spec;
}

/** Of a fleet whose replicas have volumes; `sizeGb`: in both of its revisions. */
export function volumeSpec(perReplica: object = {}, more: object = {}): ServiceFleetSpec {
  return fleetSpec({
    maxReplicas: 9,
    update: { maxSurge: 0, maxUnavailable: 1 },
    storage: { perReplica: { sizeGb: 20, ...perReplica } },
    ...more,
  });
}

/** Each replica has its volume, and all volumes are made. `kept`: slots without a replica. */
export function withVolumes(
  replicas: readonly Replica[],
  more: Partial<World> = {},
  kept: readonly number[] = [],
) {
  const sizedOf = (revision: OwnerRevision): OwnerRevision => ({
    ...revision,
    content: { ...revision.content, perReplica: { sizeGb: 20 } },
  });
  const sized = [sizedOf(old), sizedOf(done)];
  const owners = replicas.map((replica) => ({
    ...replica,
    revision: sized.find(({ number }) => number === replica.revision?.number),
    entry: { ...replica.entry, place: { ...replica.entry.place, volume: true } as const },
  }));
  const slots = [...owners.map(({ entry }) => entry.slot), ...kept];
  const shown = { isMade: true, shownGb: 20, geography: undefined, pending: undefined };
  return worldOf(owners, {
    spec: volumeSpec(),
    revisions: sized,
    ...more,
    state: { volumes: slots.map((slot) => ({ slot, ...place, sizeGb: 20 })), ...more.state },
    volumes: {
      facts: new Map(slots.map((slot) => [slot, shown])),
      taken: new Map(),
      leaving: new Set(),
      ...more.volumes,
    },
  });
}

/** `!`: not available. `?`: not available yet, and may serve. */
export const states = [
  'updated',
  'updated!',
  'updating',
  'outdated',
  'outdated!',
  'outdated?',
  'unknown',
  'misplaced',
  'broken',
  'drifted',
] as const;
export type State = (typeof states)[number];

export function replicaIn(state: State, slot: number, more: Partial<Replica> = {}): Replica {
  const isMisplaced = state === 'misplaced';
  const isBroken = state === 'broken';
  const isAvailable = !/[!?]/.test(state) && state !== 'updating' && !isBroken;
  const revision = state === 'unknown' ? undefined : state.startsWith('outdated') ? old : present;
  const replica: Replica = {
    entry: {
      slot,
      phase: 'wanted',
      since: startMs,
      ...(revision ? { revision: revision.number } : {}),
      place: isMisplaced ? elsewhere : place,
    },
    revision,
    isSettled: revision !== undefined && state !== 'updating',
    isAsDocument: revision === present && state !== 'updating',
    reportsDifference: false,
    fault: undefined,
    faultText: undefined,
    excuse: undefined,
    unready: undefined,
    isBlocked: false,
    isRecorded: true,
    isDeleted: false,
    isUnproven: false,
    isMade: true,
    isChosen: false,
    content: 'unknown',
    candidate: isMisplaced ? undefined : 'template',
    rank: isMisplaced ? 1 : 0,
    hourlyMicros: undefined,
    crowd: 0,
    waitsForCapacity: false,
    provisioningSince: undefined,
    rejection: undefined,
    isMisplaced,
    isReady: isAvailable,
    isAvailable,
    mayServe: !state.endsWith('!') && !isBroken,
    availableAt: undefined,
    isAsleep: false,
    isInError: false,
    restartedAt: undefined,
    correction: state === 'drifted' ? 'asked' : 'none',
    givenUp: isBroken ? { reason: 'ServiceError', since: startMs - 600_000 } : undefined,
    protection: 'unknown',
    protector: undefined,
    ...more,
  };
  return { ...replica, content: more.content ?? contentAt(replica, present) };
}

export interface World {
  readonly spec: ServiceFleetSpec;
  readonly state: FleetState;
  readonly revisions: readonly OwnerRevision[];
  readonly replicas: readonly Replica[];
  readonly nowMs: number;
  readonly deleting: boolean;
  readonly taken: ReadonlyMap<number, string>;
  readonly leaving: ReadonlySet<number>;
  readonly annotations: Readonly<Record<string, string>>;
  /** By candidate. */
  readonly markets: Readonly<Record<string, Partial<Market>>>;
  readonly hasHealthyValues: boolean;
  readonly isWindowClosed: boolean;
  readonly volumes: FleetVolumes;
  readonly measured: FleetInputs['measured'];
}

export function worldOf(replicas: readonly Replica[], more: Partial<World> = {}): World {
  return {
    spec: more.spec ?? fleetSpec(),
    state: {},
    revisions: [old, done],
    replicas,
    nowMs: startMs + 1000,
    deleting: false,
    taken: new Map(),
    leaving: new Set(),
    annotations: {},
    markets: {},
    hasHealthyValues: true,
    isWindowClosed: false,
    volumes: { facts: new Map(), taken: new Map(), leaving: new Set() },
    measured: { by: 'me', results: new Map() },
    ...more,
  };
}

export function inputsOf(world: World): FleetInputs {
  const { spec, state, revisions, replicas, nowMs, deleting, taken, leaving, annotations } = world;
  const update = revisions.find(({ number }) => number === (state.update ?? 2));
  return {
    object: { name: 'llm', annotations, spec, deleting },
    state: { update: 2, ...state, roster: replicas.map(({ entry }) => entry) },
    isFound: false,
    numberIsLost: false,
    owner: 'acme',
    replicas,
    taken,
    leaving,
    wanted: wantedReplicas(spec, nowMs),
    present: {
      ...contentWith(spec.template.spec.image ?? ''),
      content: contentOf(spec.template.spec, spec.storage?.perReplica?.sizeGb),
    },
    ofTemplate: undefined,
    problem: undefined,
    revisions,
    update,
    healthy: newestHealthy(revisions),
    target: targetOf(state, update, newestHealthy(revisions)),
    hasHealthyValues: world.hasHealthyValues,
    isWindowClosed: world.isWindowClosed,
    volumes: world.volumes,
    markets: marketsIn(world),
    measured: world.measured,
    nowMs,
  };
}

function marketsIn({ spec, markets }: World): Market[] {
  const nothing = { problem: undefined, price: undefined, scarcity: undefined };
  return candidatesOf(spec).map((candidate) =>
    Object.assign({ candidate }, nothing, markets[candidate.name]),
  );
}

export const planOf = (world: World): Plan => planFleet(inputsOf(world));

export function rosterAfter(plan: Plan): readonly RosterEntry[] {
  return plan.kind === 'arrange' ? ((plan.state as FleetState).roster ?? []) : [];
}

/** The change is recorded, and all replicas do what they are to do at once. */
export function after(world: World, plan: Plan): World {
  const nowMs = world.nowMs + 61_000;
  if (plan.kind !== 'arrange') return { ...world, nowMs, replicas: world.replicas.flatMap(settled) };
  const revisions = plan.revisions ?? world.revisions;
  const known = new Map(world.replicas.map((replica) => [replica.entry.slot, replica]));
  const state: FleetState = { update: 2, ...plan.state };
  const update = revisions.find(({ number }) => number === state.update);
  const target = targetOf(state, update, newestHealthy(revisions));
  const replicas = rosterAfter(plan).map((entry) => {
    const replica = known.get(entry.slot) ?? replicaIn('updating', entry.slot, { isMade: false });
    const revision = revisions.find(({ number }) => number === entry.revision);
    return placed(world.spec, withEntry(replica, entry, revision, target));
  });
  return { ...world, nowMs, state: plan.state, revisions, replicas };
}

function placed(spec: ServiceFleetSpec, replica: Replica): Replica {
  const candidates = candidatesOf(spec);
  const candidate = candidateOf(replica.entry, candidates);
  return { ...replica, candidate: candidate?.name, rank: candidate?.rank ?? candidates.length };
}

function withEntry(
  known: Replica,
  entry: RosterEntry,
  revision: OwnerRevision | undefined,
  update: OwnerRevision | undefined,
): Replica {
  const replica = { ...known, correction: correctionWith(known, entry) };
  const isOther = revision?.number !== replica.revision?.number && !replica.isAsDocument;
  const updating = { isSettled: false, isAvailable: false, isReady: false } as const;
  const next = { ...replica, entry, revision, ...(isOther ? updating : {}) };
  return { ...next, content: contentAt(next, update) };
}

function correctionWith({ correction }: Replica, { corrects }: RosterEntry): Replica['correction'] {
  if (corrects === undefined) return correction === 'asked' ? 'asked' : 'none';
  return correction === 'asked' ? 'running' : correction;
}

function settled(replica: Replica): Replica[] {
  const { entry } = replica;
  if (entry.phase === 'retiring') return [];
  if (entry.phase === 'draining') return [{ ...replica, protection: 'no' }];
  if (!replica.revision) return [{ ...replica, reportsDifference: true, content: 'outdated' }];
  const ready = { isReady: true, isAvailable: true };
  if (replica.content === 'outdated') return [replica.mayServe ? { ...replica, ...ready } : replica];
  if (replica.givenUp) return [replica];
  const correction = replica.correction === 'running' ? 'done' : replica.correction;
  const well = { ...ready, isMade: true, isSettled: true, mayServe: true };
  return [{ ...replica, ...well, content: 'updated', correction }];
}
