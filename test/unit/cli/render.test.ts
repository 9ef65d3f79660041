import { expect, test } from 'vitest';
import { renderDrift } from '../../../src/cli/output/render-drift.ts';
import { palette, renderPlan, renderTable } from '../../../src/cli/output/render.ts';
import { newEvents, nothingReported } from '../../../src/engine/status/events.ts';
import type { Change, FleetPlan } from '../../../src/manager/index.ts';
import { replicaCounts } from '../../../src/manager/replica-counts.ts';
import type { DriftEntry } from '../../../src/state/index.ts';
import { noPlan } from '../../support/no-plan.ts';
import { aRecord, serviceKey } from '../../support/plan.ts';

const plain = palette({}, {});
const hostile = 'A\u001b]0;title\u0007\u009b2J\nB';

test('names and texts that others wrote stay on their line, and a terminal obeys nothing of them', () => {
  const differences = [{ path: `env.${hostile}`, desired: null, observed: hostile, cause: hostile }];
  const object = { kind: 'ContainerService', namespace: 'default', name: 'web', drift: true, differences };
  const plan: FleetPlan = {
    ...noPlan,
    changes: [{ ...object, action: 'update', reason: 'Drift' }],
    held: [{ ...object, reason: 'Protected', message: `waits for ${hostile}`, actions: ['update'] }],
    summary: { ...noPlan.summary, update: 1, held: 1, drift: 2 },
  };
  const text = renderPlan(plan, plain);
  expect(text).not.toMatch(/(?!\n)\p{Cc}/u);
  expect(text.split('\n')).toHaveLength(7);
});

test('an interruption states whose protection it overrides, on one line', () => {
  const object = { kind: 'ContainerService', namespace: 'default', name: 'web', drift: false } as const;
  const overrides = `the activity "${hostile}"`;
  const change: Change = { ...object, action: 'update', reason: 'SpecChanged', differences: [], overrides };
  const lines = renderPlan({ ...noPlan, changes: [change] }, plain).split('\n');
  expect(lines[0]).toBe('  ~ ContainerService default/web  update  SpecChanged');
  expect(lines[1]).toMatch(/^ {6}although protected by the activity "A/);
  expect(lines[2]).toBe('');
});

test('a new ServiceFleet reads like a creation, and the summary counts its replicas', () => {
  const object = { kind: 'ServiceFleet', namespace: 'default', reason: 'ScalingOut', drift: false } as const;
  const difference = (path: string, observed: unknown, desired: unknown) => ({ path, observed, desired });
  const changes: Change[] = [
    {
      ...object,
      name: 'new',
      action: 'create',
      differences: [difference('replicas', null, 4), difference('template.image', null, 'a:1')],
    },
    {
      ...object,
      name: 'old',
      action: 'update',
      differences: [difference('revision', 'r7', 'r8')],
      replicas: [
        { name: 'old-0', action: 'update' },
        { name: 'old-1', action: 'replace' },
      ],
    },
    { ...object, name: 'small', action: 'scale', differences: [difference('replicas', 3, 1)] },
    { ...object, name: 'kept', action: 'leave', differences: [difference('replicas', 3, 0)] },
  ];
  const { cost, summary, ...rest } = noPlan;
  const counted = { ...summary, create: 1, update: 2, leave: 1, ...replicaCounts(changes) };
  const lines = renderPlan({ ...rest, cost, changes, summary: counted }, plain).split('\n');
  expect(lines.slice(0, 5)).toEqual([
    '  + ServiceFleet default/new  create  ScalingOut',
    '      replicas: 4',
    '      template.image: "a:1"',
    '  ~ ServiceFleet default/old  update  ScalingOut',
    '      revision: "r7" → "r8"',
  ]);
  expect(lines.at(-1)).toBe(
    'Plan: 1 to create, 2 to change, 0 to replace, 0 to delete, 1 to leave at the provider, 0 unchanged; replicas: 4 to create, 1 to change, 1 to replace, 2 to delete.',
  );
});

test('columns are as wide as their widest cell on a terminal, and no line ends in spaces', () => {
  const coloured = palette({ isTTY: true }, {});
  const text = renderTable(
    ['NAME', 'READY', 'MESSAGE'],
    [
      ['日本', coloured.good('True'), ''],
      ['training', 'False', 'no capacity'],
    ],
  );
  expect(text.split('\n')).toEqual([
    'NAME       READY   MESSAGE',
    `日本       ${coloured.good('True')}`,
    'training   False   no capacity',
  ]);
});

test('drift points from what is there to what is declared, in a status and in an Event alike', () => {
  const since = '2026-11-21T12:00:00Z';
  const drift: DriftEntry[] = [{ path: 'httpPort', kind: 'Changed', desired: 80, observed: 81, since }];
  const status = { observedGeneration: 1, conditions: [], drift };
  expect(renderDrift([aRecord(serviceKey, { status })], plain)).toContain('httpPort: 81 → 80');
  const plan = { kind: 'in-sync', differences: [], recheckAfterMs: undefined } as const;
  const { news } = newEvents({ plan, drift, lastIntent: undefined, id: undefined }, nothingReported, 0);
  expect(news.map(({ message }) => message)).toEqual(['httpPort: 81 → 80']);
});
