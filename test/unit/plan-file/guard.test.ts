/** What passes while a plan file is applied: its steps, each once and in their order, and nothing else. */
import { describe, expect, test } from 'vitest';
import {
  deleteService,
  patchService,
  resizeService,
  startService,
  stopService,
} from '../../../src/actions/index.ts';
import { holdFor, type Action, type Step } from '../../../src/engine/plan/index.ts';
import { stepFingerprint } from '../../../src/plan-file/fingerprint.ts';
import { HiddenValues, PlanGuard, type PlannedStep } from '../../../src/plan-file/index.ts';
import type { ObjectKey } from '../../../src/resources/index.ts';
import { newRecord, type Intent } from '../../../src/state/index.ts';
import { fileWith, llm, objectWith, startMs, step, web } from './support.ts';

const hidden = new HiddenValues(Buffer.alloc(32, 1));
const id = `id of ${web}`;
const patch = patchService({ id, revision: 1, patch: { image: 'a:2' }, environment: undefined });
const resize = resizeService({ id, resources: { gpuCount: 0, cpu: 2, memoryGb: 2 } });
const start = startService({ id });

function stepOf(action: Action, reason: Step['reason'] = 'SpecChanged'): Step {
  return { action, reason, disruptive: false, differences: [] };
}

function planned(action: Action): PlannedStep {
  const context = { hidden, beforeId: id, referred: [], ownerOf: () => undefined };
  return { action: action.do, fields: [], fingerprint: stepFingerprint(action, context) };
}

function intentOf(action: Action, more: Partial<Intent> = {}): Intent {
  return {
    idempotencyKey: `key of ${action.do}`,
    object: web,
    action: action.do,
    targetId: id,
    bodyDigest: '',
    baseRevision: 1,
    baseState: 'running',
    generation: 1,
    restartToken: undefined,
    digests: undefined,
    estimate: undefined,
    demand: undefined,
    createdAt: startMs + 1000,
    finishedAt: undefined,
    outcome: 'applied',
    note: undefined,
    ...more,
  };
}

class World {
  nowMs = startMs;
  /** The newest intent of the service. */
  last: Intent | undefined;
  readonly guard: PlanGuard;

  constructor(
    actions: readonly Action[],
    journal: readonly Intent[] = [],
    last?: Intent,
    file = fileWith([objectWith(web, actions.map(planned)), objectWith(llm, [step('add', 'three', 3)])]),
  ) {
    this.last = last;
    this.guard = new PlanGuard({
      file,
      startedAt: startMs,
      store: { lastIntent: () => this.last, record: () => undefined, recordOf: () => undefined },
      hasDocument: () => true,
      journal: (key) => (key === web ? journal : []),
      hiddenOf: () => hidden,
      nowMs: () => this.nowMs,
    });
  }

  refuses(
    action: Action,
    reason?: Step['reason'],
    key: ObjectKey = web,
    owner?: ObjectKey,
  ): string | undefined {
    const record = newRecord(key, 'uid');
    const derived = owner && { owner };
    return this.guard.refusesStep({
      key,
      step: stepOf(action, reason),
      record: derived ? { ...record, derived } : record,
      object: undefined,
      value: undefined,
    });
  }
}

describe('a step', () => {
  test('of the file passes, as often as it is asked for before it was applied', () => {
    const world = new World([patch, resize]);
    expect([world.refuses(patch), world.refuses(patch)]).toEqual([undefined, undefined]);
    world.last = intentOf(patch, { outcome: 'unknown' });
    expect(world.refuses(patch)).toBeUndefined();
  });

  test('whatever the revision is that it rests on', () => {
    expect(new World([patch]).refuses({ ...patch, revision: 7 })).toBeUndefined();
  });

  test('does not pass when what it changes is another value than the plan was compared with', () => {
    const seen = (observed: string) => [{ path: 'image', desired: 'a:2', observed, drift: false }];
    const fields = [{ path: 'image', desired: 'a:2', observed: 'a:1' }];
    const file = fileWith([objectWith(web, [{ ...planned(patch), fields }])]);
    const { guard } = new World([patch], [], undefined, file);
    const refused = (observed: string) => {
      const differing = { ...stepOf(patch), differences: seen(observed) };
      const record = newRecord(web, 'uid');
      return guard.refusesStep({ key: web, step: differing, record, object: undefined, value: undefined });
    };
    expect(refused('a:1')).toBeUndefined();
    expect(refused('a:3')).toBe('image was "a:1" when the plan was made, and is "a:3" now');
  });

  test.each([
    ['is not in the file', start],
    ['has another value', patchService({ id, revision: 1, patch: { image: 'a:3' }, environment: undefined })],
    ['is for another thing', { ...patch, id: 'another' }],
  ])('that %s does not', (_name, action) => {
    expect(new World([patch, resize]).refuses(action)).toMatch(
      /not the next step that the plan file has for it/,
    );
  });

  test('passes once: what was applied, or comes before that, does not pass again', () => {
    const world = new World([patch, resize, start]);
    world.last = intentOf(resize);
    expect(world.refuses(patch)).toBeDefined();
    expect(world.refuses(resize)).toBeDefined();
    expect(world.refuses(start)).toBeUndefined();
    expect(world.guard.remaining()).toMatchObject({ left: 1 + 3, objects: [web, llm] });
  });

  test('that a killed process has applied does not pass again, and what was sent before the file was begun does not count', () => {
    const killed = new World([patch, resize], [intentOf(patch)]);
    expect([killed.refuses(patch), killed.refuses(resize)]).toEqual([expect.any(String), undefined]);
    const before = intentOf(patch, { createdAt: startMs - 1 });
    const earlier = new World([patch, resize], [], before);
    expect(earlier.refuses(patch)).toBeUndefined();
  });

  test('passes once, also if the clock was set back while it was sent', () => {
    const world = new World([patch, resize], [], intentOf(start, { createdAt: startMs - 5000 }));
    world.last = intentOf(patch, { createdAt: startMs - 3_600_000 });
    expect([world.refuses(patch), world.refuses(resize)]).toEqual([expect.any(String), undefined]);
  });

  test('of an object that is not in the file does not pass', () => {
    const other = 'ContainerService/default/api' as ObjectKey;
    expect(new World([patch]).refuses(patch, 'SpecChanged', other)).toMatch(/is not in the plan file/);
  });

  test('does not begin once the file has expired', () => {
    const world = new World([patch]);
    world.nowMs = startMs + 86_400_000;
    expect([world.refuses(patch), world.guard.hasExpired]).toEqual([
      expect.stringContaining('has expired'),
      true,
    ]);
  });
});

describe('a step of a replica', () => {
  const replica = 'ContainerService/default/llm-0' as ObjectKey;
  const create = { do: 'create-service', body: {}, environment: undefined } as unknown as Action;

  test('passes if a change of the roster in the file brings it about', () => {
    expect(new World([]).refuses(create, 'Create', replica, llm)).toBeUndefined();
  });

  test.each([
    ['it vanished', create, 'Vanished'],
    ['others changed it', patch, 'Drift'],
    ['it is updated, and the file only adds some', patch, 'SpecChanged'],
    ['it is deleted, and the file only adds some', deleteService({ id }), 'Deleted'],
    ['it is broken', stopService({ id }), 'Remediation'],
  ] as const)('does not if %s', (_name, action, reason) => {
    expect(new World([]).refuses(action, reason as Step['reason'], replica, llm)).toBeDefined();
  });

  test('does not if its fleet is not in the file', () => {
    const other = 'ServiceFleet/default/other' as ObjectKey;
    expect(new World([]).refuses(create, 'Create', replica, other)).toBeDefined();
  });
});

test.each([
  ['ends the file', undefined, [web]],
  ['that is tried again does not end it', 600_000, []],
])('a step that the API refuses as invalid %s', (_, recheckAfterMs, invalid) => {
  const { guard } = new World([patch]);
  const plan = holdFor('Refused', 'refused with 400', { steps: [stepOf(patch)], recheckAfterMs });
  guard.passed(web, { plan, wake: { kind: 'never' }, statusChanged: true, removed: false });
  expect(guard.invalid).toEqual(invalid);
});
