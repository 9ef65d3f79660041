/** BI5: what `cost` shows adds up to what the accounts cost, now and until the month ends, whatever it is divided by. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { costReport, type CostBy, type CostInputs } from '../../../src/shown/cost.ts';
import { burnMicrosPerHour, serviceBurn } from '../../../src/engine/plan/index.ts';
import { accountKey, objectKey, ownerLabel, type ObjectKey } from '../../../src/resources/index.ts';
import { storedTally, tallied, firstTally, type Tally } from '../../../src/engine/plan/index.ts';

/** Ten hours before the month ends. */
const nowMs = Date.UTC(2026, 10, 30, 14);
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

function burnOf(things: readonly Thing[]): bigint {
  const services = new Map(things.map((one, at) => [String(at), one]));
  return burnMicrosPerHour({ services: services as never, volumes: new Map() });
}

function inputsOf(all: readonly (readonly Thing[])[]): CostInputs {
  const labels = new Map<ObjectKey, Thing['labels']>();
  const held = all.map((things, index) => ({
    account: `default/account-${index}`,
    origin: `https://${index}.example`,
    holdings: things.map((value) => {
      const key = objectKey('ContainerService', value.namespace ?? 'default', value.id);
      labels.set(key, value.labels);
      const managedBy = value.namespace === undefined ? { is: 'nobody' } : { is: 'fleet', key };
      const { id } = value;
      return { kind: 'ContainerService', id, things: { burn: serviceBurn }, value, managedBy };
    }),
  })) as unknown as CostInputs['accounts'];
  return {
    accounts: held,
    labelsOf: (key) => labels.get(key) ?? {},
    records: [],
    month: undefined,
    fleet: undefined,
    nowMs,
  };
}

test('the rows and what is not managed are what all accounts cost', () => {
  fc.assert(
    fc.property(accounts, divided, (all, by) => {
      const { rows, unmanaged, total } = costReport(inputsOf(all), by);
      const parts = [...rows, unmanaged];
      const sum = (field: 'hourlyMicros' | 'things' | 'unpriced') =>
        parts.reduce((before, part) => before + part[field], 0);
      expect(total.hourlyMicros).toBe(Number(burnOf(all.flat())));
      expect(sum('hourlyMicros')).toBe(total.hourlyMicros);
      expect(total.aheadMicros).toBe(10 * total.hourlyMicros);
      expect([sum('things'), sum('unpriced')]).toEqual([total.things, total.unpriced]);
      expect(new Set(rows.map(({ name }) => name)).size).toBe(rows.length);
    }),
  );
});

test('what several Accounts of one account at the provider show is paid once', () => {
  fc.assert(
    fc.property(accounts, fc.integer({ min: 1, max: 3 }), divided, (all, times, by) => {
      const inputs = inputsOf(all);
      const again = Array.from({ length: times }, (_, index) =>
        inputs.accounts.map((held) => ({ ...held, account: `team-${index}/${held.account}` })),
      );
      const repeated = { ...inputs, accounts: [...inputs.accounts, ...again.flat()] };
      const { accounts: _, ...report } = costReport(repeated, by);
      const { accounts: __, ...once } = costReport(inputs, by);
      expect(report).toEqual(once);
    }),
  );
});

const hourMs = 3_600_000;
const llm = objectKey('ServiceFleet', 'shop', 'llm');

/** Of a fleet with two replicas, one labelled `a`, that is to have six for two of the ten hours: from 18:00 to 20:00. */
function scheduled(tally?: Tally): CostInputs {
  const all: Thing[] = ['a', 'b'].map((team) => ({
    id: `llm-${team}`,
    state: 'running',
    hourlyMicros: 1000,
    namespace: 'shop',
    labels: { team },
  }));
  const other: Thing = { id: 'web', state: 'running', hourlyMicros: 70, namespace: undefined, labels: {} };
  const schedules = [
    { name: 'evening', cron: '0 18 * * *', timeZone: 'UTC', durationMinutes: 120, replicas: 6 },
  ];
  const spec = { replicas: 2, minReplicas: 0, maxReplicas: 10, schedules };
  const records = new Map<ObjectKey, object>([
    [llm, { key: llm, kind: {}, manifest: { spec } }],
    ...all.map(({ id }) => {
      const key = objectKey('ContainerService', 'shop', id);
      return [key, { key, derived: { owner: llm } }] as const;
    }),
    [
      accountKey('default/account-0'),
      { key: accountKey('default/account-0'), kind: tally ? { tally: storedTally(tally) } : {} },
    ],
  ]);
  const fleet = {
    snapshot: { objects: new Map() },
    store: { record: (key: ObjectKey) => records.get(key), identityPin: () => undefined },
  } as unknown as NonNullable<CostInputs['fleet']>;
  const inputs = inputsOf([[...all, other]]);
  return { ...inputs, fleet };
}

test('until the month ends, the schedule of a fleet counts, and its replicas share it among their groups', () => {
  const { rows, unmanaged, total } = costReport(scheduled(), { by: 'label', key: 'team' });
  const whole = 8 * 2000 + 2 * 6 * 1000;
  expect(rows.map(({ name, aheadMicros }) => [name, aheadMicros])).toEqual([
    ['a', whole / 2],
    ['b', whole / 2],
  ]);
  expect([unmanaged.aheadMicros, total.aheadMicros]).toEqual([700, whole + 700]);
});

test('without a budget, the forecast of an account is what was counted, and what is ahead', () => {
  const counting = { timeZone: 'UTC', gapMs: 600_000, mostDays: 400 };
  const read = (at: number) => ({ at, burnMicros: 2070n, balanceMicros: undefined });
  const began = firstTally(read(nowMs - 3 * hourMs), 'UTC');
  const tally = tallied(began, read(nowMs - hourMs), counting);
  const { accounts: found, total } = costReport(scheduled(tally), { by: 'account' });
  expect(found).toEqual([
    {
      account: 'default/account-0',
      month: '2026-11',
      since: '2026-11-30T11:00:00Z',
      spentMicros: 2 * 2070,
      estimatedMicros: 2 * 2070,
      unattributedMicros: 0,
      // The hour since the last count is not shown as spent.
      forecastMicros: 3 * 2070 + total.aheadMicros,
      sharesWith: null,
    },
  ]);
  const later = costReport({ ...scheduled(tally), nowMs: nowMs + 11 * hourMs }, { by: 'account' });
  expect(later.accounts).toMatchObject([{ month: '2026-11', forecastMicros: null }]);
  const past = (month: string) => costReport({ ...scheduled(tally), month }, { by: 'account' }).accounts;
  expect(past('2026-10')).toEqual([]);
  expect(past('2026-11')).toEqual(found);
});

test('an earlier month of an account names the first of its days that is kept, if it is not the first of the month', () => {
  const counting = { timeZone: 'UTC', gapMs: 600_000, mostDays: 62 };
  const read = (at: number) => ({ at, burnMicros: 10n, balanceMicros: undefined });
  const tally = tallied(firstTally(read(Date.UTC(2026, 7, 20)), 'UTC'), read(nowMs), counting);
  const past = (month: string) => costReport({ ...scheduled(tally), month }, { by: 'account' }).accounts;
  const unknown = { estimatedMicros: null, unattributedMicros: null, forecastMicros: null };
  expect(past('2026-09')).toMatchObject([{ spentMicros: 240, since: '2026-09-30T00:00:00Z', ...unknown }]);
  expect(past('2026-10')).toMatchObject([{ spentMicros: 31 * 240, since: null, ...unknown }]);
});

test('what is not counted has no row, and its burn of now is ahead', () => {
  const { accounts: found, total } = costReport(scheduled(), { by: 'account' });
  expect(found).toEqual([]);
  expect(total.aheadMicros).toBeGreaterThan(0);
});

test.each(['__proto__', 'constructor', 'toString'])('nothing has the label %s by itself', (key) => {
  const things = [
    { id: 'a', state: 'running', hourlyMicros: 5, namespace: 'shop', labels: { team: 'web' } },
  ] as const;
  const { rows } = costReport(inputsOf([things]), { by: 'label', key });
  expect(rows).toMatchObject([{ name: null, things: 1, hourlyMicros: 5 }]);
});
