import { expect, test } from 'vitest';
import { budget } from '../../../../src/kinds/budget/declaration.ts';
import { documents } from '../../../../src/resources/index.ts';

const document = {
  apiVersion: 'fleetkeeper.dev/v1alpha1',
  kind: 'Budget',
  metadata: { name: 'team' },
  spec: { namespace: true, limits: { hourlyMicros: 1 } },
};

test('what nobody has signed neither moves a budget elsewhere nor says what it has spent', () => {
  const tally = {
    month: '2026-11',
    since: 0,
    at: 0,
    estimated: '0',
    unattributed: '0',
    burnMicros: '0',
    days: {},
  };
  const written = { scope: { of: 'account', name: 'other' }, tally: { ...tally, spent: '-999' } };
  const read = budget.state.schema.parse(written);
  const unsigned = budget.state.unsigned?.(read, 'uid') ?? read;
  const { spec } = documents.Budget.parse(document);
  expect(budget.budget?.(spec, unsigned)).toMatchObject({
    terms: { scope: { of: 'namespace' } },
    tally: undefined,
  });
});

test.each([
  { scope: 'not JSON' },
  { scope: { of: 'everything' } },
  { tally: { month: '2026-11', spent: '1e9' } },
])('a record with %j is not read', (state) => {
  expect(budget.state.schema.safeParse(state).success).toBe(false);
});
