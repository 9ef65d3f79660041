/** What a Budget announces: each threshold and each passed limit once, and again only after it was far enough below. */
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { apiVersion, type ObjectKey } from '../../../src/resources/index.ts';
import { desiredOf } from '../../support/desired.ts';
import {
  access,
  accountDocument,
  scriptedFleet,
  serviceId,
  shownService,
  stoppedAfterEach,
  type ScriptedFleet,
} from '../../support/scripted-fleet.ts';

const running = stoppedAfterEach();

const team: ObjectKey = 'Budget/default/team';
const usd = 1_000_000;
const hourMs = 3_600_000;

interface Watched extends ScriptedFleet {
  /** Everything in the account costs so much from now on. */
  readonly costs: (hourlyMicros: number) => Promise<void>;
  /** What was announced since it was asked last. */
  readonly news: () => string[];
  readonly status: () => Readonly<Record<string, unknown>> | undefined;
}

async function watched(limits: object, startMs = Date.UTC(2026, 10, 10), pollSeconds = 30): Promise<Watched> {
  const spec = { accountRef: { name: 'default' }, limits, warnAt: [80, 95] };
  const document = stringify({ apiVersion, kind: 'Budget', metadata: { name: 'team' }, spec });
  const all: string[] = [];
  const fleet = await scriptedFleet(
    desiredOf({
      ...access,
      'account.yaml': `${accountDocument}  pollSeconds: ${pollSeconds}\n`,
      'budget.yaml': document,
    }),
    {
      startMs,
      onPass: (key, { news = [] }) => {
        if (key === team) all.push(...news.map(({ reason, message }) => `${reason} ${message}`));
      },
    },
  );
  running.push(fleet);
  const costs = async (hourlyMicros: number) => {
    fleet.api.services = [shownService({ id: serviceId, name: 'theirs', hourlyMicros })];
    await fleet.clock.advance((2 * pollSeconds + 10) * 1000);
  };
  return { ...fleet, costs, news: () => all.splice(0), status: () => fleet.store.record(team)?.status };
}

test('each threshold is announced once, and a passed limit', async () => {
  const { costs, news } = await watched({ hourlyMicros: 100 * usd });
  await costs(79 * usd);
  expect(news()).toEqual([]);
  await costs(80 * usd);
  expect(news()).toEqual(['BudgetNearLimit hourlyMicros: $80.00 of $100.00 an hour, 80 %']);
  await costs(94 * usd);
  expect(news()).toEqual([]);
  await costs(95 * usd);
  expect(news()).toEqual(['BudgetNearLimit hourlyMicros: $95.00 of $100.00 an hour, 95 %']);
  await costs(100 * usd);
  expect(news()).toEqual([]);
  await costs(101 * usd);
  expect(news()).toEqual(['BudgetPassed hourlyMicros: $101.00 of $100.00 an hour, 101 %']);
  await costs(150 * usd);
  expect(news()).toEqual([]);
});

test('what falls by less than 5 points and rises again is not announced again, and by more it is', async () => {
  const { costs, news } = await watched({ hourlyMicros: 100 * usd });
  await costs(81 * usd);
  expect(news()).toHaveLength(1);
  await costs(76 * usd);
  await costs(81 * usd);
  expect(news()).toEqual([]);
  await costs(75 * usd);
  await costs(81 * usd);
  expect(news()).toEqual([expect.stringContaining('BudgetNearLimit')]);
  await costs(120 * usd);
  expect(news()).toEqual([expect.stringContaining('BudgetPassed')]);
  await costs(96 * usd);
  await costs(120 * usd);
  expect(news()).toEqual([]);
  await costs(94 * usd);
  await costs(120 * usd);
  expect(news()).toEqual([expect.stringContaining('BudgetPassed')]);
});

test('of a month, each threshold is announced once, and again in the next one', async () => {
  const { clock, costs, news } = await watched({ monthlyMicros: 100 * usd }, Date.UTC(2026, 10, 30, 22), 60);
  const minutes = (count: number) => clock.advance((count * hourMs) / 60);
  // A dollar a minute.
  await costs(60 * usd);
  await minutes(81);
  expect(news()).toEqual([expect.stringMatching(/^BudgetNearLimit monthlyMicros: .* this month, 80 %$/)]);
  await minutes(20);
  expect(news()).toEqual([
    expect.stringMatching(/^BudgetNearLimit .* 95 %$/),
    expect.stringMatching(/^BudgetPassed monthlyMicros: /),
  ]);
  await minutes(30);
  expect(news()).toEqual([]);
  // It is December.
  await minutes(75);
  expect(news()).toEqual([expect.stringMatching(/^BudgetNearLimit .* 80 %$/)]);
});

test('a balance that does not last long enough is announced once', async () => {
  // 5 USD.
  const { costs, news } = await watched({ runwayHours: 10 });
  await costs(usd / 2);
  expect(news()).toEqual([]);
  await costs(usd);
  expect(news()).toEqual([
    'BudgetPassed runwayHours: $10.00 are needed for that time, and the balance is $5.00, 200 %',
  ]);
  await costs(2 * usd);
  expect(news()).toEqual([]);
});

test('the status has the time at which the limit of the month is reached, if it is in this month', async () => {
  const startMs = Date.UTC(2026, 10, 10);
  const { costs, status } = await watched({ monthlyMicros: 100 * usd }, startMs);
  await costs(10 * usd);
  await costs(10 * usd);
  const reachedMs = Date.parse(String(status()?.['exhaustedAt']));
  expect(Math.abs(reachedMs - (startMs + 10 * hourMs))).toBeLessThan(180_000);
  // 21 days of it are 84 USD.
  await costs(usd / 6);
  expect(status()?.['exhaustedAt']).toBeUndefined();
  expect(Number(status()?.['forecastMicros'])).toBeGreaterThan(84 * usd);
});
