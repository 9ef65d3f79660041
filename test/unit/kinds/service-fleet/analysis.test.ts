import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Plan } from '../../../../src/engine/plan/index.ts';
import {
  begunAnalyses,
  rotated,
  spentMs,
  verdictOf,
  type BegunAnalysis,
} from '../../../../src/kinds/service-fleet/analysis.ts';
import type { Measured } from '../../../../src/kinds/service-fleet/inputs.ts';
import type { Replica } from '../../../../src/kinds/service-fleet/replica.ts';
import { rolloutCommands } from '../../../../src/kinds/service-fleet/rollout-commands.ts';
import { rolloutTo } from '../../../../src/kinds/service-fleet/rollout.ts';
import { fleetVerbs } from '../../../../src/kinds/service-fleet/schema-commands.ts';
import { serviceFleetDocument } from '../../../../src/kinds/service-fleet/schema.ts';
import type { AnalysisRecord, FleetState } from '../../../../src/kinds/service-fleet/state.ts';
import type { CheckOutcome, CheckResult } from '../../../../src/observed/index.ts';
import { parseCommand } from '../../../../src/resources/index.ts';
import {
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

const exec = { exec: { command: ['true'] } };
const http = { http: { path: '/' } };
const analysis = (more: object = {}) => ({
  analysis: { forSeconds: 60, everySeconds: 30, checks: [http], ...more },
});

/** Three replicas and a canary that is available; its step is over. */
function canary(steps: readonly object[], more: Partial<Replica> = {}, rest: Partial<World> = {}): World {
  const replicas = [
    ...[0, 1, 2].map((slot) => replicaIn('outdated', slot)),
    replicaIn('updated', 3, { isMade: true, ...more }),
  ];
  const spec = fleetSpec({ update: { minReadySeconds: 0, steps: [{ replicas: 1 }, ...steps] } });
  const rollout = { ...rolloutTo(2, startMs, 1), reached: [3] };
  return worldOf(replicas, { spec, revisions: [old, present], state: { update: 2, rollout }, ...rest });
}

const recordIn = (world: World, index = 0) => world.state.rollout?.analyses?.[index];
const stateOf = (plan: Plan) => (plan.kind === 'arrange' ? (plan.state as FleetState) : undefined);

/** Records what is planned. */
function next(world: World): { readonly world: World; readonly plan: Plan } {
  const plan = planOf(world);
  const revisions = plan.kind === 'arrange' ? (plan.revisions ?? world.revisions) : world.revisions;
  return { plan, world: { ...world, revisions, state: stateOf(plan) ?? world.state } };
}

/** All that is to be done now, without answers. */
function settled(world: World): { readonly world: World; readonly plan: Plan } {
  let now = next(world);
  for (let step = 0; step < 10 && now.plan.kind === 'arrange'; step += 1) now = next(now.world);
  return now;
}

const result = (outcome: CheckOutcome, check: CheckResult['check'] = 'http'): CheckResult => ({
  check,
  outcome,
  message: outcome === 'passed' ? '' : 'so it was',
});

const answers = (...results: readonly CheckResult[]): Measured => ({
  by: 'me',
  results: new Map([
    [1, results],
    [3, results],
  ]),
});

/** What is asked is answered at once; then it is the time of the next measurement. */
function measuredOnce(world: World, ...results: readonly CheckResult[]): ReturnType<typeof next> {
  const asked = settled(world).world;
  const answered = settled({ ...asked, measured: answers(...results) });
  const later = { ...answered.world, measured: answers(), nowMs: asked.nowMs + 30_000 };
  return { plan: answered.plan, world: { ...later, measured: { by: 'me', results: new Map() } } };
}

describe('a document', () => {
  const accepts = (step: object) => {
    const spec = {
      template: { spec: { region: 'r', image: 'a', resources: { cpu: 1, memoryGb: 1 } } },
      update: { steps: [step] },
    };
    const document = {
      apiVersion: 'fleetkeeper.dev/v1alpha1',
      kind: 'ServiceFleet',
      metadata: { name: 'llm' },
    };
    return serviceFleetDocument.safeParse({ ...document, spec }).success;
  };

  test.each([
    [{ checks: [http, exec, { prometheus: { query: 'up', min: 1 } }] }, true],
    [{ forSeconds: 9 }, false],
    [{ forSeconds: 86_401 }, false],
    [{ everySeconds: 4 }, false],
    [{ failures: 101 }, false],
    [{ inconclusive: 'Pass' }, false],
    [{ checks: [] }, false],
    [{ checks: Array.from({ length: 9 }, () => http) }, false],
    [{ checks: [{}] }, false],
    [{ checks: [{ ...http, ...exec }] }, false],
    [{ checks: [{ http: { path: '/', status: '399-200' } }] }, false],
    [{ checks: [{ http: { path: '/', status: '204' } }] }, true],
    [{ checks: [{ exec: { command: ['a'], timeoutSeconds: 61 } }] }, false],
    [{ checks: [{ prometheus: { query: 'up', min: 2, max: 1 } }] }, false],
    [{ checks: [{ prometheus: { query: 'up', url: 'http://169.254.169.254/' } }] }, false],
  ])('with the analysis %j is valid: %s', (more, isValid) => {
    expect(accepts(analysis(more))).toBe(isValid);
  });

  test('has an analysis alone in its step', () => {
    expect(accepts({ ...analysis(), pause: {} })).toBe(false);
  });
});

describe('the verdict', () => {
  const begun = (counts: Partial<AnalysisRecord>, spec: object = {}): BegunAnalysis => {
    const steps = fleetSpec({ update: { steps: [analysis({ failures: 2, ...spec })] } }).update.steps ?? [];
    const [first] = begunAnalyses({ analyses: [{ ...fresh, ...counts }] }, steps, startMs);
    if (!first) throw new Error('no analysis');
    return { ...first, record: { ...first.record, ...counts } };
  };
  const fresh: AnalysisRecord = {
    step: 0,
    checks: '',
    at: startMs,
    spentMs: 0,
    passed: 0,
    failed: 0,
    inconclusive: 0,
  };

  test.each([
    [{ passed: 2 }, 0, 'under way'],
    [{ passed: 2 }, 60, 'passed'],
    [{ passed: 1, failed: 2 }, 60, 'passed'],
    [{ passed: 9, failed: 3 }, 60, 'failed'],
    [{ failed: 3 }, 0, 'failed'],
    [{ passed: 2, inconclusive: 1 }, 60, 'passed'],
    [{ passed: 1, inconclusive: 1 }, 60, 'inconclusive'],
    [{ inconclusive: 3 }, 60, 'inconclusive'],
    [{}, 60, 'inconclusive'],
    [{ failed: 2 }, 60, 'inconclusive'],
    [{ passed: 2, asked: { by: 'me', slots: [3] } }, 60, 'under way'],
    [{ failed: 3, asked: { by: 'me', slots: [3] } }, 60, 'failed'],
  ] satisfies readonly [Partial<AnalysisRecord>, number, string][])(
    'on %j after %i s is: %s',
    (counts, seconds, verdict) => {
      expect(verdictOf(begun({ ...counts, spentMs: seconds * 1000 }), startMs)).toBe(verdict);
    },
  );

  test('law: more measurements that pass never make it worse, and one that fails never makes it better', () => {
    const count = fc.nat({ max: 4 });
    const rank = { failed: 0, inconclusive: 1, 'under way': 1, passed: 2 };
    const counts = fc.record({
      passed: count,
      failed: count,
      inconclusive: count,
      spentMs: fc.constantFrom(0, 60_000),
    });
    fc.assert(
      fc.property(counts, (given) => {
        const of = (more: Partial<AnalysisRecord>) => rank[verdictOf(begun({ ...given, ...more }), startMs)];
        expect(of({ passed: given.passed + 1 })).toBeGreaterThanOrEqual(of({}));
        expect(of({ failed: given.failed + 1 })).toBeLessThanOrEqual(of({}));
        expect(of({ inconclusive: given.inconclusive + 1 })).toBeLessThanOrEqual(of({}));
      }),
    );
  });

  test('its time stands still while nothing measures', () => {
    const day = startMs + 86_400_000;
    expect(spentMs(begun({}, { forSeconds: 600 }), day)).toBe(90_000);
    expect(verdictOf(begun({ passed: 1 }, { forSeconds: 600 }), day)).toBe('under way');
  });
});

test('at most five replicas are measured at once, and all of them in turn', () => {
  const slots = [0, 1, 2, 3, 4, 5, 6];
  expect(rotated(slots, undefined)).toEqual([0, 1, 2, 3, 4]);
  expect(rotated(slots, 4)).toEqual([5, 6, 0, 1, 2]);
  expect(rotated(slots, 2)).toEqual([3, 4, 5, 6, 0]);
  expect(rotated([7, 1], 7)).toEqual([1, 7]);
});

describe('an analysis', () => {
  test('measures the new revision alone, and passes when its time is over', () => {
    const asked = settled(canary([analysis()]));
    expect(asked.plan).toMatchObject({ kind: 'wait', reason: 'Analysing' });
    expect(asked.world.state.rollout).toMatchObject({ phase: 'Analysing', step: 1 });
    expect(recordIn(asked.world)?.asked).toEqual({ by: 'me', slots: [3] });
    let { world, plan } = measuredOnce(asked.world, result('passed'));
    expect(plan).toMatchObject({ reason: 'Analysing' });
    ({ world, plan } = measuredOnce(world, result('passed')));
    expect(recordIn(world)).toMatchObject({ passed: 2 });
    ({ world } = measuredOnce(world, result('passed')));
    expect(world.state.rollout).toMatchObject({ phase: 'Progressing', step: 2 });
  });

  test('of many replicas measures five at once, and then others', () => {
    const spec = fleetSpec({
      replicas: 9,
      update: { minReadySeconds: 0, steps: [{ weight: 80 }, analysis()] },
    });
    const slots = [0, 1, 2, 3, 4, 5, 6, 7];
    const rollout = { ...rolloutTo(2, startMs, 1), reached: slots };
    const replicas = [...slots.map((slot) => replicaIn('updated', slot)), replicaIn('outdated', 8)];
    const given = worldOf(replicas, { spec, revisions: [old, present], state: { update: 2, rollout } });
    const first = settled(given).world;
    expect(recordIn(first)?.asked?.slots).toEqual([0, 1, 2, 3, 4]);
    const { world } = measuredOnce(first, result('passed'));
    expect(recordIn(settled(world).world)?.asked?.slots).toEqual([5, 6, 7, 0, 1]);
  });

  test('fails the revision with one failed measurement more than it may have', () => {
    const first = measuredOnce(canary([analysis()]), result('failed'));
    expect(first.plan).toMatchObject({ reason: 'Analysing' });
    const second = measuredOnce(first.world, result('failed'));
    expect(second.world.state.rollout).toMatchObject({
      phase: 'RollingBack',
      cause:
        'the analysis in step 2 failed: 0 measurements passed, 2 failed, 0 were inconclusive; the last one: http: so it was',
    });
  });

  test('reports what was measured once, for a metric', () => {
    const asked = settled(canary([analysis()])).world;
    const { plan } = next({ ...asked, measured: answers(result('passed'), result('inconclusive', 'exec')) });
    expect(plan).toMatchObject({
      measured: [
        { check: 'always', outcome: 'passed' },
        { check: 'http', outcome: 'passed' },
        { check: 'exec', outcome: 'inconclusive' },
      ],
    });
  });

  test('without a result waits for a person, or for measurements that pass', () => {
    let world = canary([analysis()]);
    for (let turn = 0; turn < 3; turn += 1) ({ world } = measuredOnce(world, result('inconclusive')));
    const { plan } = settled({ ...world, nowMs: world.nowMs - 1 });
    expect(plan).toMatchObject({ reason: 'AnalysisInconclusive' });
    expect(plan).toMatchObject({ message: expect.stringContaining('promote@r2#2') });
    for (let turn = 0; turn < 4; turn += 1) ({ world } = measuredOnce(world, result('passed')));
    expect(world.state.rollout).toMatchObject({ phase: 'Progressing', step: 2 });
  });

  test('without a result fails, if the document says so', () => {
    let world = canary([analysis({ inconclusive: 'Fail' })]);
    for (let turn = 0; turn < 3; turn += 1) ({ world } = measuredOnce(world, result('inconclusive')));
    expect(world.state.rollout).toMatchObject({
      phase: 'RollingBack',
      cause: expect.stringContaining('has no result'),
    });
  });

  test('of replicas that are asleep the whole time has no result, and asks nothing', () => {
    let world = canary([analysis()], { isAsleep: true });
    for (let turn = 0; turn < 3; turn += 1) {
      ({ world } = settled(world));
      expect(recordIn(world)?.asked).toBeUndefined();
      world = { ...world, nowMs: world.nowMs + 30_000 };
    }
    expect(settled(world).plan).toMatchObject({ reason: 'AnalysisInconclusive' });
  });

  test('fails a measurement when a replica is in error, or was restarted, whatever the checks say', () => {
    const asked = settled(canary([analysis()], { isInError: true })).world;
    const { world } = settled({ ...asked, measured: answers(result('passed')) });
    expect(recordIn(world)).toMatchObject({ failed: 1, last: 'replica 3 is in error' });
    const again = { ...world, measured: { by: 'me', results: new Map() }, nowMs: world.nowMs + 30_000 };
    const restarted = again.replicas.map((replica) =>
      replica.entry.slot === 3
        ? Object.assign({ ...replica }, { isInError: false, restartedAt: again.nowMs - 1 })
        : replica,
    );
    const second = settled({ ...again, replicas: restarted });
    expect(recordIn(second.world)?.asked?.trouble).toBe('replica 3 was restarted after an error');
  });

  test('does not blame the revision for what the provider lacks: its time stands still', () => {
    const unready = { reason: 'Pending', since: startMs, isExcused: true };
    const world = canary([analysis()], { unready });
    const first = settled(world).world;
    expect(recordIn(first)?.asked).toBeUndefined();
    const later = settled({ ...first, nowMs: first.nowMs + 86_400_000 });
    expect(recordIn(later.world)).toMatchObject({ failed: 0, inconclusive: 0 });
    expect(later.world.state.rollout?.phase).toBe('Analysing');
  });

  test('stops the deadline', () => {
    const steps = [{ replicas: 1 }, analysis({ forSeconds: 300 })];
    const spec = fleetSpec({ update: { minReadySeconds: 0, progressDeadlineSeconds: 60, steps } });
    let { world } = settled({ ...canary([]), spec });
    for (let turn = 0; turn < 10; turn += 1) {
      ({ world } = measuredOnce(world, result('passed')));
      expect(world.state.rollout?.phase).toBe('Analysing');
    }
    ({ world } = measuredOnce(world, result('passed')));
    expect(settled(world).world.state.rollout).toMatchObject({ phase: 'Progressing', step: 2 });
  });

  test('of another step goes on in later steps, and fails the revision there', () => {
    let world = canary([analysis(), { pause: {} }]);
    for (let turn = 0; turn < 3; turn += 1) ({ world } = measuredOnce(world, result('passed')));
    expect(world.state.rollout).toMatchObject({ phase: 'Paused', step: 2 });
    for (let turn = 0; turn < 2; turn += 1) ({ world } = measuredOnce(world, result('failed')));
    expect(world.state.rollout?.phase).toBe('RollingBack');
  });
});

describe('what was measured', () => {
  const failedOnce = () =>
    measuredOnce(canary([analysis({ checks: [exec] })]), result('failed', 'exec')).world;

  test('is kept by another process, and a command that may have run is never sent again', () => {
    const asked = settled(failedOnce()).world;
    expect(recordIn(asked)?.asked).toBeDefined();
    const { world } = next({ ...asked, measured: { by: 'another', results: new Map() } });
    expect(recordIn(world)).toMatchObject({ failed: 1, inconclusive: 1 });
    expect(recordIn(world)?.asked).toBeUndefined();
  });

  test('and was lost without a command is asked for again, and counts as nothing', () => {
    const asked = settled(canary([analysis()])).world;
    const { world } = settled({ ...asked, measured: { by: 'another', results: new Map() } });
    expect(recordIn(world)).toMatchObject({ inconclusive: 0, asked: { by: 'another', slots: [3] } });
  });

  test('in another attempt, or with other checks, does not count', () => {
    const world = failedOnce();
    const steps = [{ replicas: 1 }, analysis({ checks: [http] })];
    const edited = settled({ ...world, spec: fleetSpec({ update: { minReadySeconds: 0, steps } }) });
    expect(recordIn(edited.world)).toMatchObject({ failed: 0 });
    const failed = measuredOnce(world, result('failed', 'exec')).world;
    expect(failed.state.rollout?.phase).toBe('RollingBack');
    const again = obeyed(failed, 'retry@r2#1').state.rollout;
    expect(again).toMatchObject({ phase: 'Progressing', attempt: 2, step: 0 });
    expect(again?.analyses).toBeUndefined();
    const longer = [{ replicas: 1 }, analysis({ checks: [exec], forSeconds: 600 })];
    const same = settled({ ...world, spec: fleetSpec({ update: { minReadySeconds: 0, steps: longer } }) });
    expect(recordIn(same.world)).toMatchObject({ failed: 1 });
  });

  test('is not asked a second time after a freeze', () => {
    const asked = settled(failedOnce()).world;
    const frozen = obeyed(asked, 'freeze@r2');
    expect(recordIn(frozen)?.asked).toBeUndefined();
    expect(recordIn(frozen)).toMatchObject({ failed: 1, inconclusive: 1 });
    expect(obeyed(frozen, 'thaw@r2').state.rollout?.phase).toBe('Progressing');
  });
});

function obeyed(world: World, text: string): World {
  const command = parseCommand(text, fleetVerbs, 'folder');
  if (typeof command === 'string') throw new Error(command);
  const effect = rolloutCommands[command.verb as keyof typeof rolloutCommands](inputsOf(world), command);
  if (effect.result !== 'Done') throw new Error(effect.message);
  return { ...world, state: effect.state };
}

test('a person who promotes the step goes on, and its measurements do, too', () => {
  const asked = settled(canary([analysis(), { pause: {} }])).world;
  const promoted = obeyed(asked, 'promote@r2#2');
  expect(promoted.state.rollout).toMatchObject({ phase: 'Paused', step: 2 });
  expect(recordIn(promoted)).toBeDefined();
  expect(recordIn(obeyed(asked, 'promote-full@r2#2'))).toBeUndefined();
});

test.each([
  ['other steps', [{ weight: 100 }], 'Progressing'],
  ['a pause in its place', [{ replicas: 1 }, { pause: {} }], 'Paused'],
  ['no steps', undefined, 'Progressing'],
] as const)('a document that gets %s during an analysis is followed', (_what, steps, phase) => {
  const { world } = settled(canary([analysis()]));
  const spec = fleetSpec({ update: { minReadySeconds: 0, ...(steps ? { steps } : {}) } });
  const { plan } = next({ ...world, spec });
  expect(stateOf(plan)?.rollout?.phase).toBe(phase);
});

test('a preview measures nothing', () => {
  const world = { ...canary([analysis()]), measured: { by: undefined, results: new Map() } };
  const { world: after } = settled(world);
  expect(recordIn(after)?.asked).toBeUndefined();
});
