/** BI5: what `cost` shows adds up to what the accounts cost, whatever it is divided by. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { costReport, type CostBy, type CostInputs } from '../../../src/shown/cost.ts';
import { burnMicrosPerHour, serviceBurn } from '../../../src/engine/plan/index.ts';
import { objectKey, ownerLabel, type ObjectKey } from '../../../src/resources/index.ts';

const states = ['running', 'provisioning', 'paused', 'sleeping', 'deleting', 'error'];

interface Thing {
  readonly id: string;
  readonly state: string;
  readonly hourlyMicros: number | undefined;
  /** Undefined: it is not managed. */
  readonly namespace: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
}

const thing: fc.Arbitrary<Thing> = fc.record({
  id: fc.uuid(),
  state: fc.constantFrom(...states),
  hourlyMicros: fc.option(fc.integer({ min: 0, max: 1_000_000 }), { nil: undefined }),
  namespace: fc.option(fc.constantFrom('shop', 'search'), { nil: undefined }),
  labels: fc.dictionary(fc.constantFrom('team', 'tier', ownerLabel), fc.constantFrom('a', 'b', '')),
});
const accounts = fc.array(fc.uniqueArray(thing, { selector: ({ id }) => id, maxLength: 12 }), {
  maxLength: 4,
});
const divided: fc.Arbitrary<CostBy> = fc.oneof(
  fc.constantFrom('namespace', 'account', 'fleet').map((by) => ({ by })),
  fc.constantFrom('team', 'tier', 'missing').map((key): CostBy => ({ by: 'label', key })),
);

function inputsOf(all: readonly (readonly Thing[])[]): CostInputs {
  const labels = new Map<ObjectKey, Thing['labels']>();
  const held = all.map((things, index) => ({
    account: `default/account-${index}`,
    holdings: things.map((value) => {
      const key = objectKey('ContainerService', value.namespace ?? 'default', value.id);
      labels.set(key, value.labels);
      const managedBy = value.namespace === undefined ? { is: 'nobody' } : { is: 'fleet', key };
      return { things: { burn: serviceBurn }, value, managedBy };
    }),
  })) as unknown as CostInputs['accounts'];
  return { accounts: held, labelsOf: (key) => labels.get(key) ?? {}, records: [], month: undefined };
}

test('the rows and what is not managed are what all accounts cost', () => {
  fc.assert(
    fc.property(accounts, divided, (all, by) => {
      const { rows, unmanaged, total } = costReport(inputsOf(all), by);
      const parts = [...rows, unmanaged];
      const sum = (field: 'hourlyMicros' | 'things' | 'unpriced') =>
        parts.reduce((before, part) => before + part[field], 0);
      expect(total.hourlyMicros).toBe(Number(burnMicrosPerHour(all.flat() as never, [])));
      expect(sum('hourlyMicros')).toBe(total.hourlyMicros);
      expect([sum('things'), sum('unpriced')]).toEqual([total.things, total.unpriced]);
      expect(new Set(rows.map(({ name }) => name)).size).toBe(rows.length);
    }),
  );
});
