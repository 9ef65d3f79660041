/** Fleets as their planner sees them, and what becomes of their replicas when all goes well. */
import type { Plan } from '../../../../src/engine/plan/index.ts';
import { serviceFleetDocument, type ServiceFleetSpec } from '../../../../src/kinds/service-fleet/schema.ts';
import { wantedReplicas } from '../../../../src/kinds/service-fleet/counts.ts';
import type { FleetInputs } from '../../../../src/kinds/service-fleet/inputs.ts';
import { planFleet } from '../../../../src/kinds/service-fleet/plan.ts';
import type { Replica } from '../../../../src/kinds/service-fleet/replica.ts';
import type { FleetState, RosterEntry } from '../../../../src/kinds/service-fleet/state.ts';

export const place = { account: 'default', region: 'standard' };
const elsewhere = { account: 'default', region: 'economy' };
export const content = 'new';
export const startMs = 1_700_000_000_000;

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
  const contentState =
    isMisplaced || isBroken || state === 'drifted'
      ? 'updated'
      : (state.replace(/[!?]/, '') as Replica['content']);
  const isAvailable = !/[!?]/.test(state) && state !== 'updating' && !isBroken;
  return {
    entry: {
      slot,
      phase: 'wanted',
      since: startMs,
      ...(contentState === 'updated' || contentState === 'updating' ? { granted: content } : {}),
      place: isMisplaced ? elsewhere : place,
    },
    isRecorded: true,
    isMade: true,
    content: contentState,
    isMisplaced,
    isReady: isAvailable,
    isAvailable,
    mayServe: !state.endsWith('!') && !isBroken,
    availableAt: undefined,
    isAsleep: false,
    correction: state === 'drifted' ? 'asked' : 'none',
    givenUp: isBroken ? { reason: 'ServiceError', since: startMs - 600_000 } : undefined,
    protection: 'unknown',
    protector: undefined,
    ...more,
  };
}

export interface World {
  readonly spec: ServiceFleetSpec;
  readonly state: FleetState;
  readonly replicas: readonly Replica[];
  readonly nowMs: number;
  readonly deleting: boolean;
  readonly taken: ReadonlyMap<number, string>;
  readonly annotations: Readonly<Record<string, string>>;
}

export function worldOf(replicas: readonly Replica[], more: Partial<World> = {}): World {
  return {
    spec: fleetSpec(),
    state: {},
    replicas,
    nowMs: startMs + 1000,
    deleting: false,
    taken: new Map(),
    annotations: {},
    ...more,
  };
}

export function inputsOf({ spec, state, replicas, nowMs, deleting, taken, annotations }: World): FleetInputs {
  return {
    object: { name: 'llm', annotations, spec, deleting },
    state: { ...state, roster: replicas.map(({ entry }) => entry) },
    isFound: false,
    replicas,
    taken,
    wanted: wantedReplicas(spec, nowMs),
    content,
    place,
    nowMs,
  };
}

export const planOf = (world: World): Plan => planFleet(inputsOf(world));

export function rosterAfter(plan: Plan): readonly RosterEntry[] {
  return plan.kind === 'arrange' ? ((plan.state as FleetState).roster ?? []) : [];
}

/** The change is recorded, and all replicas do what they are to do at once. */
export function after(world: World, plan: Plan): World {
  const nowMs = world.nowMs + 61_000;
  if (plan.kind !== 'arrange') return { ...world, nowMs, replicas: world.replicas.flatMap(settled) };
  const known = new Map(world.replicas.map((replica) => [replica.entry.slot, replica]));
  const replicas = rosterAfter(plan).map((entry) =>
    withEntry(known.get(entry.slot) ?? replicaIn('updating', entry.slot, { isMade: false }), entry),
  );
  return { ...world, nowMs, state: plan.state, replicas };
}

function withEntry(known: Replica, entry: RosterEntry): Replica {
  const replica = { ...known, correction: correctionWith(known, entry) };
  const isGranted = entry.granted === content && replica.content === 'outdated';
  const updating = { content: 'updating', isAvailable: false, isReady: false } as const;
  return isGranted ? { ...replica, entry, ...updating } : { ...replica, entry };
}

function correctionWith({ correction }: Replica, { corrects }: RosterEntry): Replica['correction'] {
  if (corrects === undefined) return correction === 'asked' ? 'asked' : 'none';
  return correction === 'asked' ? 'running' : correction;
}

function settled(replica: Replica): Replica[] {
  const { entry, content: own } = replica;
  if (entry.phase === 'retiring') return [];
  if (entry.phase === 'draining') return [{ ...replica, protection: 'no' }];
  if (own === 'unknown') return [{ ...replica, content: 'outdated' }];
  if (own === 'outdated')
    return [replica.mayServe ? { ...replica, isReady: true, isAvailable: true } : replica];
  if (replica.givenUp) return [replica];
  const correction = replica.correction === 'running' ? 'done' : replica.correction;
  const well = { isMade: true, isReady: true, isAvailable: true, mayServe: true } as const;
  return [{ ...replica, ...well, content: 'updated', correction }];
}
