/** What `npm run bench` makes of measurements. */
import { describe, expect, test } from 'vitest';
import { missedCounts, quantile, summarize, tableOf } from '../../../bench/support/report.ts';
import { selected } from '../../../bench/support/selection.ts';
import type { Benchmark } from '../../../bench/support/benchmark.ts';

const time = { what: 'time', unit: 's', target: { atMost: 4 } };
const count = { what: 'requests', unit: '', target: { atMost: 4 }, isCount: true };

describe('a summary', () => {
  test('is the median and the range', () => {
    const { median, lowest, highest } = summarize({ ...time, values: [9, 1, 2, 3] });
    expect({ median, lowest, highest }).toEqual({ median: 2.5, lowest: 1, highest: 9 });
  });

  test('of a time meets its target by the median, that of a count in every repetition', () => {
    expect(summarize({ ...time, values: [3, 3, 9] }).isMet).toBe(true);
    expect(summarize({ ...time, values: [3, 9, 9] }).isMet).toBe(false);
    expect(summarize({ ...count, values: [3, 3, 9] }).isMet).toBe(false);
    expect(summarize({ ...count, target: { atLeast: 3 }, values: [3, 3, 9] }).isMet).toBe(true);
    expect(summarize({ ...count, target: { atLeast: 3 }, values: [2, 3, 9] }).isMet).toBe(false);
    expect(summarize({ what: '', unit: '', values: [1] }).isMet).toBeNull();
  });

  test('without a value meets no target', () => {
    expect(summarize({ ...time, values: [] }).isMet).toBe(false);
    expect(summarize({ ...count, values: [] }).isMet).toBe(false);
  });
});

test('the gate knows counts only', () => {
  const summaries = [
    summarize({ ...time, values: [9] }),
    summarize({ ...count, values: [9] }),
    summarize({ ...count, what: 'met', values: [4] }),
    summarize({ what: 'no target', unit: '', isCount: true, values: [9] }),
  ];
  expect(missedCounts(summaries).map(({ what }) => what)).toEqual(['requests']);
});

test('the table has limit and target beside what was measured', () => {
  const summary = summarize({ ...time, values: [3, 5, 6], limit: 2, beside: 'the peer: 80 s' });
  expect(tableOf([summary]).split('\n')[1]?.split(/ {3,}/)).toEqual([
    'time',
    '5 s',
    '3 – 6',
    '2',
    '≤ 4',
    'NO',
    'the peer: 80 s',
  ]);
});

test('a quantile is a value that was measured', () => {
  const values = Array.from({ length: 100 }, (_, index) => 100 - index);
  expect(quantile(values, 0.99)).toBe(99);
  expect(quantile(values, 1)).toBe(100);
  expect(quantile([7], 0.5)).toBe(7);
  expect(quantile([], 0.5)).toBeNaN();
});

describe('benchmarks', () => {
  const benchmarks = ['B10', 'B2', 'B1'].map((id): Benchmark => ({
    id,
    title: '',
    workload: '',
    run: async () => [],
  }));

  test('run in the order of their numbers, or only those that are asked for', () => {
    expect(selected(benchmarks, undefined).map(({ id }) => id)).toEqual(['B1', 'B2', 'B10']);
    expect(selected(benchmarks, 'b10, B1').map(({ id }) => id)).toEqual(['B1', 'B10']);
  });

  test('that there are not are no benchmarks', () => {
    expect(() => selected(benchmarks, 'B1,B11')).toThrow('B11');
  });
});
