import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseCommand } from '../../../../src/resources/index.ts';
import type { Plan } from '../../../../src/engine/plan/index.ts';
import type { Replica } from '../../../../src/kinds/service-fleet/replica.ts';
import { rolloutCommands } from '../../../../src/kinds/service-fleet/rollout-commands.ts';
import { rolloutTo } from '../../../../src/kinds/service-fleet/rollout.ts';
import { fleetVerbs } from '../../../../src/kinds/service-fleet/schema-commands.ts';
import { serviceFleetDocument } from '../../../../src/kinds/service-fleet/schema.ts';
import type { FleetState } from '../../../../src/kinds/service-fleet/state.ts';
import { stepsLeft } from '../../../../src/kinds/service-fleet/steps.ts';
import {
  after,
  fleetSpec,
  inputsOf,
  old,
  planOf,
  present,
  replicaIn,
  startMs,
  worldOf,
  type World,
} from './worlds.ts';

const rolloutIn = (world: World) => world.state.rollout;

function fleetWith(replicas: number, steps: readonly object[], update: object = {}): World {
  const given = Array.from({ length: replicas }, (_, slot) => replicaIn('outdated', slot));
  const spec = fleetSpec({ replicas, update: { ...update, steps } });
  const rollout = rolloutTo(2, startMs, 0);
  return worldOf(given, { spec, revisions: [old, present], state: { update: 2, rollout } });
}

/** The number of replicas that are to have the new revision. */
function newest({ replicas }: World): number {
  return replicas.filter(({ entry }) => entry.phase === 'wanted' && entry.revision === 2).length;
}

/** Until it waits for a person, or is over. `seen` is told each world. */
function run(world: World, seen: (world: World) => void = () => undefined): { world: World; plan: Plan } {
  let next = world;
  for (let step = 0; step < 120; step += 1) {
    const plan = planOf(next);
    if (plan.kind === 'in-sync' || (plan.kind === 'wait' && plan.reason === 'RolloutPaused'))
      return { world: next, plan };
    next = after(next, plan);
    seen(next);
  }
  return { world: next, plan: planOf(next) };
}

function obeyed(world: World, text: string): World {
  const command = parseCommand(text, fleetVerbs, 'folder');
  if (typeof command === 'string') throw new Error(command);
  const effect = rolloutCommands[command.verb as keyof typeof rolloutCommands](inputsOf(world), command);
  if (effect.result !== 'Done') throw new Error(effect.message);
  return { ...world, state: effect.state };
}

const stepsOf = (...steps: readonly object[]) => {
  const spec = {
    template: { spec: { region: 'r', image: 'a', resources: { cpu: 1, memoryGb: 1 } } },
    update: { steps },
  };
  const document = {
    apiVersion: 'fleetkeeper.dev/v1alpha1',
    kind: 'ServiceFleet',
    metadata: { name: 'llm' },
    spec,
  };
  return serviceFleetDocument.safeParse(document).success;
};

test('a step has exactly one kind, and replicas and weights do not fall', () => {
  expect(stepsOf({ replicas: 1 }, { pause: {} }, { weight: 50 }, { pause: { seconds: 60 } })).toBe(true);
  expect(stepsOf({ replicas: 1, weight: 50 })).toBe(false);
  expect(stepsOf({})).toBe(false);
  expect(stepsOf({ weight: 50 }, { pause: {} }, { weight: 25 })).toBe(false);
  expect(stepsOf({ replicas: 3 }, { weight: 10 }, { replicas: 2 })).toBe(false);
  expect(stepsOf(...Array.from({ length: 21 }, () => ({ weight: 1 })))).toBe(false);
});

test.each([
  [{ weight: 1 }, 10, 1],
  [{ weight: 50 }, 4, 2],
  [{ weight: 50 }, 5, 3],
  [{ weight: 100 }, 7, 7],
  [{ replicas: 3 }, 5, 3],
  [{ replicas: 9 }, 5, 5],
])('the goal of %j of %d replicas is %d', (step, replicas, goal) => {
  expect(stepsLeft(inputsOf(fleetWith(replicas, [step])))?.goal).toBe(goal);
});

function later(world: World, plan: Plan): World {
  const state: FleetState = plan.kind === 'arrange' ? plan.state : world.state;
  return { ...world, state, nowMs: world.nowMs + 60_000 };
}

describe('a pause', () => {
  const steps = [{ replicas: 1 }, { pause: {} }, { weight: 50 }, { pause: { seconds: 600 } }];

  test('holds the rollout until it is promoted, and the next one until its time is over', () => {
    const first = run(fleetWith(4, steps));
    expect(first.plan).toMatchObject({
      reason: 'RolloutPaused',
      message: 'step 2 of 4 is a pause, until the command promote@r2#2',
    });
    expect([newest(first.world), first.world.replicas.length]).toEqual([1, 5]);
    const much = { ...first.world, nowMs: first.world.nowMs + 86_400_000 };
    expect(planOf(much)).toMatchObject({ reason: 'RolloutPaused' });
    const second = run(obeyed(first.world, 'promote@r2#2'));
    expect([newest(second.world), rolloutIn(second.world)?.step]).toEqual([2, 3]);
    const since = rolloutIn(second.world)?.since ?? 0;
    expect(planOf({ ...second.world, nowMs: since + 599_999 })).toMatchObject({ reason: 'RolloutPaused' });
    const last = run({ ...second.world, nowMs: since + 600_000 });
    expect(last.plan.kind).toBe('in-sync');
    expect([newest(last.world), last.world.replicas.length]).toEqual([4, 4]);
  });

  test('is ended by promote-full together with all steps', () => {
    const { world } = run(fleetWith(4, steps));
    expect(run(obeyed(world, 'promote-full@r2#2')).plan.kind).toBe('in-sync');
    expect(() => obeyed(world, 'promote@r2#1')).toThrow('at step 2');
  });

  test('stops the deadline', () => {
    const { world } = run(fleetWith(4, [{ replicas: 1 }, { pause: {} }], { progressDeadlineSeconds: 600 }));
    let next = world;
    for (let minute = 0; minute < 30; minute += 1) {
      const plan = planOf(next);
      expect(plan.kind === 'arrange' ? (plan.state as FleetState).rollout?.phase : 'Paused').toBe('Paused');
      next = later(next, plan);
    }
    const promoted = obeyed(next, 'promote@r2#2');
    expect(run(promoted).plan.kind).toBe('in-sync');
  });
});

test('an analysis without a step before it measures one replica', () => {
  let world = fleetWith(4, [{ analysis: { forSeconds: 60, checks: [{ http: { path: '/' } }] } }]);
  for (let step = 0; step < 60 && rolloutIn(world)?.phase !== 'Analysing'; step += 1)
    world = after(world, planOf(world));
  expect([rolloutIn(world)?.phase, newest(world)]).toEqual(['Analysing', 1]);
});

test('while all replicas are gone that an analysis measures, others get the new revision, as the step wants', () => {
  const measuring = { analysis: { forSeconds: 60, checks: [{ http: { path: '/' } }] } };
  let world = fleetWith(4, [{ weight: 50 }, measuring, { weight: 100 }], { maxSurge: 0, maxUnavailable: 1 });
  const phaseIn = ({ state }: World) => state.rollout?.phase;
  const goOn = (isOver: (next: World) => boolean) => {
    for (let step = 0; step < 60 && !isOver(world); step += 1) world = after(world, planOf(world));
    return [phaseIn(world), newest(world), rolloutIn(world)?.step];
  };
  const stands = (next: World) => phaseIn(next) === 'Analysing';
  const stood = goOn(stands);
  expect(stood).toEqual(['Analysing', 2, 1]);
  // A scale-in and a scale-out have left those with the earlier revision.
  const replicas = world.replicas.map(({ entry }) => replicaIn('outdated', entry.slot));
  const roster = replicas.map(({ entry }) => entry);
  world = { ...world, replicas, state: { ...world.state, roster } };
  expect(goOn((next) => !stands(next))).toEqual(['Progressing', 0, 1]);
  expect(goOn(stands)).toEqual(stood);
});

test('replicas that are added meanwhile have the newest Healthy revision, and after the last step the new one', () => {
  const { world } = run(fleetWith(4, [{ replicas: 1 }, { pause: {} }]));
  const steps = { steps: [{ replicas: 1 }, { pause: {} }] };
  const grown = run({ ...world, spec: fleetSpec({ replicas: 8, update: steps }) });
  expect(grown.plan).toMatchObject({ reason: 'RolloutPaused' });
  expect(newest(grown.world)).toBe(1);
  const end = run(obeyed(grown.world, 'promote@r2#2'));
  expect(newest(end.world)).toBe(8);
});

test('a canary that is not available yet does not end its step', () => {
  const { world } = run(fleetWith(4, [{ replicas: 1 }, { pause: {} }]));
  const rollout = { ...rolloutTo(2, world.nowMs, 1), reached: [4] };
  const unready = (replica: Replica): Replica => ({
    ...replica,
    isAvailable: replica.revision?.number !== 2,
  });
  const plan = planOf({
    ...world,
    state: { update: 2, rollout },
    replicas: world.replicas.map(unready),
  });
  expect(plan).toMatchObject({ kind: 'wait', reason: 'ReplicasNotReady' });
});

test('a pause stands still, also when its canary is gone', () => {
  const paused = { ...rolloutTo(2, startMs, 0), phase: 'Paused' as const, step: 1 };
  const world = fleetWith(4, [{ replicas: 1 }, { pause: {} }], { maxUnavailable: 1 });
  const next = run({ ...world, state: { update: 2, rollout: paused } });
  expect([next.plan, newest(next.world)]).toMatchObject([{ reason: 'RolloutPaused' }, 0]);
});

test('a rollback takes no steps', () => {
  const { world } = run(fleetWith(4, [{ weight: 75 }, { pause: {} }]));
  expect(newest(world)).toBe(3);
  const aborted = run(obeyed(world, 'abort@r2'));
  expect(newest(aborted.world)).toBe(0);
});

test('a first rollout takes no steps', () => {
  const { spec } = fleetWith(3, [{ replicas: 1 }, { pause: {} }]);
  const { plan, world } = run(worldOf([], { spec, revisions: [], state: { update: undefined } }));
  expect([plan.kind, world.replicas.length]).toEqual(['in-sync', 3]);
});

test('a failure in a pause is a failure', () => {
  const { world } = run(fleetWith(3, [{ replicas: 1 }, { pause: {} }], { failureLimit: 0 }));
  const replicas = world.replicas.map((replica) =>
    replica.revision?.number === 2 ? Object.assign({ ...replica }, { fault: 'ServiceError' }) : replica,
  );
  expect(planOf({ ...world, replicas })).toMatchObject({ reason: 'RollingBack' });
});

test('law: no step has more of the new revision than it allows, and each rollout ends', () => {
  const anyStep = fc.oneof(
    fc.integer({ min: 1, max: 9 }).map((replicas) => ({ replicas })),
    fc.constant({ pause: { seconds: 30 } }),
  );
  const anySteps = fc.array(anyStep, { maxLength: 6 }).map((steps) => {
    let least = 1;
    return steps.map((step) => {
      if ('replicas' in step) least = Math.max(least, step.replicas);
      return 'replicas' in step ? { replicas: least } : step;
    });
  });
  const anyUpdate = fc.record({
    mode: fc.constantFrom('Auto', 'Replace'),
    maxSurge: fc.constantFrom(1, 2, 5),
    maxUnavailable: fc.constantFrom(0, 1, 3),
  });
  fc.assert(
    fc.property(anyUpdate, anySteps, fc.integer({ min: 1, max: 8 }), (update, steps, replicas) => {
      const floor = Math.max(0, replicas - update.maxUnavailable);
      const seen = (world: World) => {
        const { goal } = stepsLeft(inputsOf(world)) ?? { goal: Number.POSITIVE_INFINITY };
        expect(newest(world)).toBeLessThanOrEqual(goal);
        const there = world.replicas.filter(
          ({ entry, isAvailable }) => entry.phase === 'wanted' && isAvailable,
        );
        expect(there.length).toBeGreaterThanOrEqual(floor);
      };
      let { world, plan } = run(fleetWith(replicas, steps, update), seen);
      for (let pause = 0; pause < 8 && plan.kind === 'wait'; pause += 1)
        ({ world, plan } = run({ ...world, nowMs: world.nowMs + 31_000 }, seen));
      expect([plan.kind, newest(world), world.replicas.length]).toEqual(['in-sync', replicas, replicas]);
    }),
    { numRuns: 300 },
  );
});
