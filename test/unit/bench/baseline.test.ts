/** When a run of the benchmarks is worse than an earlier one. */
import { describe, expect, test } from 'vitest';
import { compare, comparisonTable, type Measured } from '../../../bench/support/baseline.ts';
import { summarize, type Row } from '../../../bench/support/report.ts';

function run(value: number, row: Partial<Row> = {}, yardstick = 100): Measured[] {
  const summary = summarize({ what: 'memory', unit: 'MB', target: { atMost: 100 }, ...row, values: [value] });
  return [{ id: 'B4', yardstickMs: yardstick, rows: [summary] }];
}

function regressions(now: Measured[], baseline: Measured[]): string[] {
  return compare(now, baseline).flatMap(({ what, isRegression }) => (isRegression ? [what] : []));
}

describe('a figure is a regression', () => {
  test('when it is more than a fifth worse', () => {
    expect(regressions(run(120), run(100))).toEqual([]);
    expect(regressions(run(121), run(100))).toEqual(['memory']);
    expect(regressions(run(50), run(100))).toEqual([]);
  });

  test('of a rate, when less is done', () => {
    const rate = { what: 'creates', unit: '/s', target: { atLeast: 3000 } };
    expect(regressions(run(2600, rate), run(3000, rate))).toEqual([]);
    expect(regressions(run(2400, rate), run(3000, rate))).toEqual(['creates']);
    expect(regressions(run(9000, rate), run(3000, rate))).toEqual([]);
  });

  test('of a count that was zero, when it is not any more', () => {
    const count = { what: 'duplicates', unit: '', target: { atMost: 0 }, isCount: true };
    expect(regressions(run(0, count), run(0, count))).toEqual([]);
    expect(regressions(run(1, count), run(0, count))).toEqual(['duplicates']);
  });

  test('by the speed of each machine, when it follows that', () => {
    const time = { what: 'time', unit: 's', isOfMachine: true };
    const rate = { what: 'creates', unit: '/s', target: { atLeast: 3000 }, isOfMachine: true };
    // The machine is half as fast now.
    expect(regressions(run(2, time, 200), run(1, time, 100))).toEqual([]);
    expect(regressions(run(1, time, 50), run(1, time, 100))).toEqual(['time']);
    expect(regressions(run(1500, rate, 200), run(3000, rate, 100))).toEqual([]);
    expect(regressions(run(3000, rate, 50), run(3000, rate, 100))).toEqual(['creates']);
    // A limit of the API is the same on each machine.
    expect(regressions(run(200, {}, 200), run(100, {}, 100))).toEqual(['memory']);
  });

  test('only of figures with a target, which both runs have', () => {
    const { target: _, ...bare } = { ...run(1)[0]?.rows[0] };
    const without: Measured[] = [{ id: 'B4', yardstickMs: 1, rows: [summarize(bare as Row)] }];
    expect(compare(without, run(1))).toMatchObject([{ what: 'memory', before: 1, ratio: undefined }]);
    expect(regressions(without, run(1))).toEqual([]);
    expect(compare([], run(1))).toEqual([]);
    expect(regressions(run(1), [])).toEqual([]);
  });
});

test('the table has both figures and by how much the newer one is worse', () => {
  const [, line = ''] = comparisonTable(compare(run(150), run(100))).split('\n');
  expect(line.split(/ {3,}/)).toEqual(['B4', 'memory', '100 MB', '150 MB', '× 1.5', 'REGRESSION']);
});
