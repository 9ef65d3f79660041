import { expect, test } from 'vitest';
import { renderDrift } from '../../../src/cli/output/render-drift.ts';
import { palette, renderPlan, renderTable } from '../../../src/cli/output/render.ts';
import { newEvents, nothingReported } from '../../../src/engine/status/events.ts';
import type { FleetPlan } from '../../../src/manager/index.ts';
import type { DriftEntry } from '../../../src/state/index.ts';
import { aRecord, serviceKey } from '../../support/plan.ts';

const plain = palette({}, {});
const hostile = 'A\u001b]0;title\u0007\u009b2J\nB';

test('names and texts that others wrote stay on their line, and a terminal obeys nothing of them', () => {
  const differences = [{ path: `env.${hostile}`, desired: null, observed: hostile, cause: hostile }];
  const object = { kind: 'ContainerService', namespace: 'default', name: 'web', drift: true, differences };
  const plan: FleetPlan = {
    changes: [{ ...object, action: 'update', reason: 'Drift' }],
    unclear: [],
    held: [{ ...object, reason: 'Protected', message: `waits for ${hostile}`, actions: ['update'] }],
    duplicates: [],
    problems: [],
    unreadAccounts: [],
    cost: {
      currency: 'USD',
      nowHourlyMicros: 0,
      thenHourlyMicros: 0,
      deltaHourlyMicros: 0,
      unpriced: 0,
      changes: 0,
    },
    summary: {
      create: 0,
      update: 1,
      replace: 0,
      delete: 0,
      leave: 0,
      held: 1,
      drift: 2,
      duplicates: 0,
      unchanged: 0,
      waiting: 0,
      problems: 0,
    },
  };
  const text = renderPlan(plan, plain);
  expect(text).not.toMatch(/(?!\n)\p{Cc}/u);
  expect(text.split('\n')).toHaveLength(7);
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
