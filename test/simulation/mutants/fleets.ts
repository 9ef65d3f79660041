/** Managers that do the wrong thing about ServiceFleets: the planner is given another world, or what it plans is changed. */
import type { OwnedObject } from '../../../src/engine/index.ts';
import type { Plan } from '../../../src/engine/plan/index.ts';
import { kinds } from '../../../src/kinds/registry.ts';
import type { FleetLook } from '../../../src/kinds/service-fleet/look.ts';
import type { Replica } from '../../../src/kinds/service-fleet/replica.ts';
import type { ServiceFleetSpec, UpdateStep } from '../../../src/kinds/service-fleet/schema.ts';
import type { CheckResult } from '../../../src/observed/index.ts';
import type { FleetState, RolloutRecord } from '../../../src/kinds/service-fleet/state.ts';
import { replaced, type Mutant } from './tools.ts';

const kind = kinds.ServiceFleet;

function withLook(change: (look: FleetLook) => Partial<FleetLook>): () => void {
  return replaced(kind, 'plan', (plan) => (given) => {
    const look = given as FleetLook;
    return plan({ ...look, ...change(look) });
  });
}

const withSpec = (change: (spec: ServiceFleetSpec) => Partial<ServiceFleetSpec>) => () =>
  withLook(({ object }) => ({ object: { ...object, spec: { ...object.spec, ...change(object.spec) } } }));

const withReplicas = (change: (replica: Replica) => Partial<Replica>) => () =>
  withLook(({ replicas }) => ({ replicas: replicas.map((each) => ({ ...each, ...change(each) })) }));

/** `change`: of what a step makes of the record. */
const withSteps = (change: (after: FleetState, before: FleetState) => FleetState) => () =>
  replaced(kind, 'plan', (plan) => (look): Plan => {
    const step = plan(look);
    if (step.kind !== 'arrange') return step;
    return { ...step, state: change(step.state, (look as FleetLook).state) };
  });

const withChildren =
  (change: (children: readonly OwnedObject[], state: FleetState) => readonly OwnedObject[]) => () =>
    replaced(kind, 'children', (children) => (owner) => {
      const owned = children?.(owner);
      return owned && change(owned, owner.state);
    });

const withState = (change: (state: FleetState) => FleetState) => () =>
  replaced(kind, 'children', (children) => (owner) => children?.({ ...owner, state: change(owner.state) }));

/** Entries that get another revision get one that is older than the document's. */
function anOlderOne(after: FleetState, before: FleetState): FleetState {
  const roster = after.roster?.map((entry) => {
    const was = before.roster?.find(({ slot }) => slot === entry.slot);
    const isUpdated = was?.revision !== undefined && was.revision !== entry.revision;
    return isUpdated && (was.revision ?? 1) > 1 ? { ...entry, revision: (was.revision ?? 1) - 1 } : entry;
  });
  return { ...after, ...(roster ? { roster } : {}) };
}

/** Each volume whose replica leaves is deleted after it. */
function withoutVolumes(after: FleetState): FleetState {
  const stays = new Set(after.roster?.flatMap(({ slot, phase }) => (phase === 'wanted' ? [slot] : [])));
  const volumes = after.volumes?.map((volume) =>
    stays.has(volume.slot) ? volume : ({ ...volume, retired: true } as const),
  );
  return { ...after, ...(volumes ? { volumes } : {}) };
}

/** What the record of its rollout is in the next pass. */
const withRollout = (change: (rollout: RolloutRecord, look: FleetLook) => Partial<RolloutRecord>) => () =>
  withLook((look) => {
    const { rollout } = look.state;
    return rollout ? { state: { ...look.state, rollout: { ...rollout, ...change(rollout, look) } } } : {};
  });

export const fleets: readonly Mutant[] = [
  {
    breaks: 'replicas are updated although fewer than the floor are left',
    foundBy: ['FI2'],
    crowd: 'fleets',
    seed: 23,
    patch: withSpec(({ update }) => ({ update: { ...update, maxUnavailable: '100%' } })),
  },
  {
    breaks: 'a rollout adds more replicas than it may',
    foundBy: ['FI1'],
    crowd: 'fleets',
    seed: 49,
    patch: withSpec(({ update }) => ({ update: { ...update, maxSurge: 10 } })),
  },
  {
    breaks: 'protection that was read before a replica began to drain counts',
    foundBy: ['FI3'],
    crowd: 'fleets',
    seed: 16,
    patch: withReplicas(({ entry }) => (entry.phase === 'draining' ? { protection: 'no' } : {})),
  },
  {
    breaks: 'a draining replica is removed before its grace is over',
    foundBy: ['FI3'],
    crowd: 'fleets',
    seed: 36,
    patch: withSpec(() => ({ drain: { graceSeconds: 0 } })),
  },
  {
    breaks: 'a draining replica is no object of its fleet any more, and so is deleted',
    foundBy: ['FI3'],
    crowd: 'fleets',
    seed: 16,
    patch: withChildren((children) => children.filter(({ drainingSince }) => drainingSince === undefined)),
  },
  {
    breaks: 'a number is free before the absence of what had it is confirmed',
    foundBy: ['FI5'],
    crowd: 'fleets',
    seed: 1,
    patch: withReplicas(({ entry }) => (entry.phase === 'retiring' ? { isRecorded: false } : {})),
  },
  {
    breaks: 'a number is used again that something else still leaves',
    foundBy: ['FI5'],
    crowd: 'fleets',
    seed: 24,
    patch: () => withLook(() => ({ leaving: new Set<number>() })),
  },
  {
    breaks: 'all that is too many is removed at once',
    foundBy: ['FI12'],
    crowd: 'fleets',
    seed: 1,
    patch: withSpec(() => ({ scaleIn: { maxPerMinute: 1000 } })),
  },
  {
    breaks: 'a new template reaches all replicas at once',
    foundBy: ['FI11'],
    crowd: 'fleets',
    seed: 12,
    patch: withState(({ roster, ...state }) => ({
      ...state,
      ...(roster ? { roster: roster.map((entry) => ({ ...entry, revision: state.update })) } : {}),
    })),
  },
  {
    breaks: 'replicas are updated to a revision that is not the newest',
    foundBy: ['FI4'],
    crowd: 'fleets',
    seed: 1,
    patch: withSteps(anOlderOne),
  },
  {
    breaks: 'a replica is made that is in no roster',
    foundBy: ['FI7'],
    crowd: 'fleets',
    seed: 1,
    patch: withState(({ roster, ...state }) => {
      const [last] = roster?.toReversed() ?? [];
      return {
        ...state,
        ...(roster && last ? { roster: [...roster, { ...last, slot: last.slot + 1 }] } : {}),
      };
    }),
  },
  {
    breaks: 'a volume is deleted whatever its replica leaves for',
    foundBy: ['FI13'],
    crowd: 'fleets',
    seed: 5,
    patch: withSteps(withoutVolumes),
  },
  {
    breaks: 'lack of capacity is a failure of the revision',
    foundBy: ['FI8'],
    crowd: 'fleets',
    seed: 6,
    patch: withReplicas(({ waitsForCapacity }) =>
      waitsForCapacity ? { fault: 'CapacityUnavailable', excuse: undefined } : {},
    ),
  },
  {
    breaks: 'a draining replica is taken for protected for ever',
    foundBy: ['FI8', 'L2'],
    crowd: 'fleets',
    seed: 9,
    patch: withReplicas(() => ({ protection: 'yes', protector: 'somebody' })),
  },
  {
    breaks: 'after a rollback, what is added gets the revision that has failed',
    foundBy: ['FI9', 'FI16'],
    crowd: 'contested',
    seed: 17,
    patch: withSteps((after, before) => {
      const had = new Set(before.roster?.map(({ slot }) => slot));
      const roster = after.roster?.map((entry) =>
        had.has(entry.slot) ? entry : { ...entry, revision: after.update },
      );
      return { ...after, ...(roster ? { roster } : {}) };
    }),
  },
  {
    breaks: 'a candidate gets more replicas than it takes',
    foundBy: ['FI14'],
    crowd: 'contested',
    seed: 36,
    patch: () =>
      withLook(({ markets }) => ({
        markets: markets.map((market) => ({
          ...market,
          candidate: { ...market.candidate, maxReplicas: 1000 },
        })),
      })),
  },
  {
    breaks: 'replicas are placed, and their prices are not known',
    foundBy: ['FI17'],
    crowd: 'contested',
    seed: 608,
    patch: () =>
      withLook(({ markets }) => ({
        markets: markets.map((market) => Object.assign({}, market, { price: undefined })),
      })),
  },
  {
    breaks: 'a replica moves to a place that is no better than its own',
    foundBy: ['FI18'],
    crowd: 'roaming',
    seed: 10,
    patch: withReplicas(({ rank }) => ({ rank: rank + 1 })),
  },
  {
    breaks: 'an analysis is over before anything of it has passed',
    foundBy: ['FI15'],
    crowd: 'contested',
    seed: 52,
    patch: withRollout(({ analyses = [] }) => ({
      analyses: analyses.map((each) => ({ ...each, passed: each.passed + 1, spentMs: 1e9, failed: 0 })),
    })),
  },
  {
    breaks: 'what a measurement finds counts as passed',
    foundBy: ['FI15'],
    crowd: 'contested',
    seed: 606,
    isLong: true,
    patch: () =>
      withLook(({ measured }) => ({
        measured: {
          ...measured,
          results: new Map(
            [...measured.results].map(([step, results]) => [step, results.map(asPassed)] as const),
          ),
        },
      })),
  },
  {
    breaks: 'a step is for all replicas',
    foundBy: ['FI16'],
    crowd: 'contested',
    seed: 7,
    patch: withSpec(({ update }) => ({
      update: {
        ...update,
        ...(update.steps
          ? { steps: update.steps.map((step) => (isCount(step) ? { weight: 100 } : step)) }
          : {}),
      },
    })),
  },
];

const asPassed = (result: CheckResult): CheckResult => ({ ...result, outcome: 'passed' });

const isCount = ({ replicas, weight }: UpdateStep) => replicas !== undefined || weight !== undefined;
