/**
 * Compares a run with an earlier one. Only figures with a target are compared. A figure that follows the speed of the machine is
 * divided by the yardstick of its own run first (yardstick.ts).
 *
 * | ratio of worse to better | is |
 * |---|---|
 * | above 1.2 | a regression |
 * | anything else, also a figure that only one run has | none |
 */
import { renderTable } from '../../src/cli/output/render.ts';
import { shown, type Summary } from './report.ts';

export interface Measured {
  readonly id: string;
  /** Of the machine, around the benchmark. */
  readonly yardstickMs: number;
  readonly rows: readonly Summary[];
}

export interface Compared {
  readonly id: string;
  readonly what: string;
  readonly unit: string;
  /** Medians, as they were measured. Undefined: that run has no such figure. */
  readonly before: number | undefined;
  readonly now: number | undefined;
  /** Above 1: worse. Undefined with only one figure. */
  readonly ratio: number | undefined;
  readonly isRegression: boolean;
}

const tolerated = 1.2;

export function compare(now: readonly Measured[], baseline: readonly Measured[]): readonly Compared[] {
  const before = figuresOf(baseline);
  const after = figuresOf(now);
  const measured = new Set(now.map(({ id }) => id));
  const names = new Set([...after.keys(), ...before.keys()]);
  return [...names]
    .map((name) => comparedOf(before.get(name), after.get(name)))
    .filter((one) => one !== undefined)
    .filter(({ id }) => measured.has(id));
}

interface Figure {
  readonly id: string;
  readonly yardstickMs: number;
  readonly row: Summary;
}

function figuresOf(measured: readonly Measured[]): ReadonlyMap<string, Figure> {
  const figures = measured.flatMap(({ id, yardstickMs, rows }) =>
    rows
      .filter(({ target }) => target)
      .map((row) => [`${id} ${row.what}`, { id, yardstickMs, row }] as const),
  );
  return new Map(figures);
}

function comparedOf(before: Figure | undefined, now: Figure | undefined): Compared | undefined {
  const one = now ?? before;
  if (!one) return undefined;
  const ratio = before && now && ratioOf(before, now);
  return {
    id: one.id,
    what: one.row.what,
    unit: one.row.unit,
    before: before?.row.median,
    now: now?.row.median,
    ratio,
    isRegression: ratio !== undefined && ratio > tolerated,
  };
}

function ratioOf(before: Figure, now: Figure): number {
  const { target, isOfMachine } = now.row;
  const slower = isOfMachine ? now.yardstickMs / before.yardstickMs : 1;
  const isRate = target !== undefined && 'atLeast' in target;
  if (before.row.median === now.row.median && !isOfMachine) return 1;
  return isRate
    ? before.row.median / (now.row.median * slower)
    : now.row.median / (before.row.median * slower);
}

export function comparisonTable(compared: readonly Compared[]): string {
  return renderTable(
    ['', 'WHAT', 'BASELINE', 'NOW', 'WORSE BY', ''],
    compared.map(({ id, what, unit, before, now, ratio, isRegression }) => [
      id,
      what,
      amount(before, unit),
      amount(now, unit),
      ratio === undefined ? '' : `× ${shown(ratio)}`,
      isRegression ? 'REGRESSION' : '',
    ]),
  );
}

function amount(value: number | undefined, unit: string): string {
  return value === undefined ? 'not measured' : `${shown(value)} ${unit}`.trim();
}
