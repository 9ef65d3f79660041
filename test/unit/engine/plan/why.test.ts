/** Who asked for a step, by its reason and its owner. */
import { describe, expect, test } from 'vitest';
import {
  createService,
  deleteService,
  patchService,
  restartService,
  startService,
  stopService,
} from '../../../../src/actions/index.ts';
import { askedByText, whyOf, whyText, type Askers, type Step } from '../../../../src/engine/plan/index.ts';
import { askedByFleet, scaledBy } from '../../../../src/kinds/service-fleet/asking.ts';
import type { FleetState, RosterEntry } from '../../../../src/kinds/service-fleet/state.ts';
import { Sensitive } from '../../../../src/base/index.ts';

const patch = patchService({ id: 'id-1', revision: 1, patch: { image: 'a:2' }, environment: undefined });
const nobody: Askers = { owner: undefined, budget: undefined, restartToken: undefined, planFile: undefined };

function step(reason: Step['reason'], action: Step['action'] = patch, ...paths: string[]): Step {
  const differences = paths.map((path) => ({ path, desired: 1, observed: 2, drift: reason === 'Drift' }));
  return { action, reason, disruptive: false, differences };
}

const asked = (of: Step, askers: Partial<Askers> = {}) =>
  askedByText({ why: whyOf(of, { ...nobody, ...askers }), generation: 4 });

const owner = { by: 'Rollout', name: 'llm', revision: 3 } as const;

test.each([
  ['an edit', step('SpecChanged'), {}, 'generation 4 of the document'],
  ['a removal', step('Deleted', deleteService({ id: 'id-1' })), {}, 'removal of the document'],
  [
    'a restart token',
    step('RestartRequested', restartService({ id: 'i' })),
    { restartToken: 't2' },
    'restart token t2',
  ],
  ['drift', step('Drift'), {}, 'drift: somebody else changed it'],
  ['drift of a replica', step('Drift'), { owner }, 'drift: somebody else changed it'],
  ['a loss of a replica', step('Vanished'), { owner }, 'a loss: somebody else deleted it'],
  ['an error', step('Remediation', restartService({ id: 'i' })), {}, 'onError: it is in error'],
  ['a rollout', step('SpecChanged'), { owner }, 'rollout of the fleet llm to revision 3'],
  [
    'a token in a template',
    step('RestartRequested'),
    { owner, restartToken: 't2' },
    'rollout of the fleet llm to revision 3',
  ],
  ['a budget', step('Shed', stopService({ id: 'i' })), { budget: 'team' }, 'Budget team'],
  ['a budget that is not there any more', step('ShedEnded', startService({ id: 'i' })), {}, 'a Budget'],
  [
    'a plan file',
    step('SpecChanged'),
    { planFile: 'sha256:1' },
    'generation 4 of the document, by the plan file sha256:1',
  ],
])('%s is recorded as who asked', (_, of, askers, text) => {
  expect(asked(of, askers)).toBe(text);
});

test('the fields are those that differ, each once, and of a whole thing none', () => {
  expect(whyText(whyOf(step('Drift', patch, 'image', 'env.A', 'image'), nobody))).toBe('Drift: image, env.A');
  const body = { name: 'web' } as never;
  const creation = createService({ body, environment: new Sensitive({}) });
  expect(whyText(whyOf(step('Create', creation, 'image'), nobody))).toBe('Create');
});

describe('a fleet', () => {
  const place = { account: 'default', region: 'standard' };
  const entry = (more: Partial<RosterEntry> = {}): RosterEntry => ({
    slot: 0,
    phase: 'wanted',
    since: 0,
    revision: 3,
    place,
    ...more,
  });
  const rollout = { revision: 3, phase: 'Progressing' } as FleetState['rollout'];
  const ask = (one: RosterEntry, action: string, more: Partial<FleetState> = {}) =>
    askedByText({
      why: {
        reason: 'x',
        askedBy: askedByFleet({ name: 'llm', state: { roster: [one], ...more } }, 'llm-0', action),
      },
      generation: 1,
    });

  test.each([
    ['creates for its number', entry(), 'create-service', {}, 'scale of the fleet llm'],
    [
      'creates for a schedule',
      entry({ by: 'schedule nights' }),
      'create-service',
      {},
      'scale of the fleet llm: schedule nights',
    ],
    [
      'creates for a rollout',
      entry(),
      'create-service',
      { rollout },
      'rollout of the fleet llm to revision 3',
    ],
    [
      'creates beside a rollout',
      entry({ revision: 2 }),
      'create-service',
      { rollout },
      'scale of the fleet llm',
    ],
    ['changes', entry(), 'patch-service', {}, 'rollout of the fleet llm to revision 3'],
    [
      'changes back',
      entry({ revision: 2 }),
      'patch-service',
      { rollout: { ...rollout, phase: 'RollingBack' } as FleetState['rollout'] },
      'return of the fleet llm to revision 2',
    ],
    [
      'removes for a budget',
      entry({ phase: 'retiring', cause: 'scale', by: 'Budget b' }),
      'delete-service',
      {},
      'scale of the fleet llm: Budget b',
    ],
    [
      'replaces what is broken',
      entry({ phase: 'retiring', cause: 'repair' }),
      'delete-service',
      {},
      'repair of the fleet llm',
    ],
    [
      'obeys a command',
      entry({ phase: 'draining', cause: 'retire' }),
      'delete-service',
      {},
      'operator command on the fleet llm',
    ],
    [
      'moves',
      entry({ phase: 'retiring', cause: 'placement' }),
      'delete-service',
      {},
      'relocation of a replica of the fleet llm',
    ],
    [
      'replaces in a rollout',
      entry({ phase: 'retiring' }),
      'delete-service',
      { rollout },
      'rollout of the fleet llm to revision 3',
    ],
    ['does something for another slot', entry({ slot: 7 }), 'delete-volume', {}, 'the fleet llm'],
  ])('%s, and is recorded with that', (_, one, action, more, text) => {
    expect(ask(one, action, more as Partial<FleetState>)).toBe(text);
  });

  const wanted = { count: 2, schedule: undefined, scaled: undefined, changesAt: Infinity };
  const leaving = { entry: entry({ phase: 'draining', cause: 'repair' }) } as never;
  test.each([
    ['its document', wanted, [], undefined],
    ['a schedule', { ...wanted, schedule: 'nights' }, [], 'schedule nights'],
    ['a command', { ...wanted, scaled: { replicas: 2, of: 1 } }, [], 'command scale'],
    ['a Budget before a schedule', { ...wanted, schedule: 'nights', budget: 'team' }, [], 'Budget team'],
    ['a broken replica', wanted, [leaving], 'in place of a broken replica'],
  ])('has its number by %s', (_, of, replicas, text) => {
    expect(scaledBy({ wanted: of, replicas })).toBe(text);
  });
});
