/** What an account has spent, and when that is stored: once a minute while something costs, and never for nothing. */
import { expect, test } from 'vitest';
import { nextTally } from '../../../../src/kinds/account/spent.ts';
import { microsOf, type Tally } from '../../../../src/engine/plan/index.ts';
import { aService } from '../../../support/plan.ts';

const noon = Date.UTC(2026, 10, 30, 12);
const rules = { longestPollSeconds: 3, isInCluster: false, isEnd: false };

/** After so many seconds. `hourly`: what its one service costs; null: there is none. */
function read(seconds: number, hourly: number | null, balance?: number) {
  const services = hourly === null ? [] : [aService({ hourlyMicros: hourly })];
  return {
    read: {
      at: noon + seconds * 1000,
      balanceMicros: balance,
      currency: 'USD',
      services: new Map(services.map((service) => [service.id, service])),
      volumes: new Map(),
    },
  };
}

/** The counts that are stored, each with its second and what was spent until then. */
function stored(reads: readonly (readonly [number, number | null, number?])[]): unknown[] {
  let tally: Tally | undefined;
  return reads.flatMap(([seconds, hourly, balance]) => {
    const next = nextTally(read(seconds, hourly, balance), tally, rules);
    const isStored = next !== tally;
    tally = next;
    return isStored && next
      ? [[seconds, Number(microsOf(next.spent)), Number(microsOf(next.estimated))]]
      : [];
  });
}

test('it is stored within each minute, with the burn from one read to the next', () => {
  const each = Array.from({ length: 61 }, (_, index) => [3 * index, 3600] as const);
  expect(stored(each)).toEqual([
    [0, 0, 0],
    [51, 51, 0],
    [102, 102, 0],
    [153, 153, 0],
  ]);
});

test('a change of the burn is stored at once, so nothing counts at a burn that was not there', () => {
  expect(
    stored([
      [0, 3600],
      [3, 3600],
      [6, 36_000],
      [9, 36_000],
      [12, null],
    ]),
  ).toEqual([
    [0, 0, 0],
    [6, 6, 0],
    [12, 66, 0],
  ]);
});

test('nothing is written while nothing costs, and that time is not missed later', () => {
  expect(
    stored([
      [0, null],
      [3600, null],
      [7200, null],
      [7203, 3600],
      [7263, 3600],
    ]),
  ).toEqual([
    [0, 0, 0],
    [7203, 0, 0],
    [7263, 60, 0],
  ]);
});

test('a time in which no manager was running counts, as estimated; a clock that is set back adds nothing', () => {
  expect(
    stored([
      [0, 3600],
      [3600, 3600],
      [1800, 3600],
      [1860, 3600],
    ]),
  ).toEqual([
    [0, 0, 0],
    [3600, 3600, 3600],
    [1800, 3600, 3600],
    [1860, 3660, 3600],
  ]);
});

test('a top-up between two counts hides no charge', () => {
  const tally = [read(0, null, 1000), read(3, null, 900), read(6, null, 5000), read(66, null, 4990)].reduce<
    Tally | undefined
  >((before, each) => nextTally(each, before, rules), undefined);
  expect(microsOf(tally?.unattributed ?? 0n)).toBe(10n);
});

test('at the end of the process, what was read last is stored', () => {
  const before = nextTally(read(0, 3600), undefined, rules);
  expect(nextTally(read(3, 3600), before, rules)).toBe(before);
  expect(microsOf(nextTally(read(3, 3600), before, { ...rules, isEnd: true })?.spent ?? 0n)).toBe(3n);
});

test('without a read the count stays', () => {
  const before = nextTally(read(0, 3600), undefined, rules);
  expect(nextTally({ read: undefined }, before, rules)).toBe(before);
});
