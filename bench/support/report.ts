/** What the repetitions of a benchmark come to. */
import Table from 'cli-table3';

export interface Row {
  readonly what: string;
  readonly values: readonly number[];
  readonly unit: string;
  readonly target?: { readonly atLeast: number } | { readonly atMost: number };
  /** The theoretical limit, or what it is compared with. */
  readonly beside?: string;
}

export interface Summary extends Row {
  readonly median: number;
  readonly lowest: number;
  readonly highest: number;
  /** By the median; null without a target. */
  readonly isMet: boolean | null;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2;
}

export function summarize(row: Row): Summary {
  const middle = median(row.values);
  const { target } = row;
  const isMet = target ? ('atLeast' in target ? middle >= target.atLeast : middle <= target.atMost) : null;
  return {
    ...row,
    median: middle,
    lowest: Math.min(...row.values),
    highest: Math.max(...row.values),
    isMet,
  };
}

export function tableOf(summaries: readonly Summary[]): string {
  const table = new Table({
    head: ['', 'median', 'range', 'target', 'met', 'beside it'],
    style: { head: [] },
  });
  for (const { what, unit, median: middle, lowest, highest, target, isMet, beside } of summaries) {
    table.push([
      what,
      `${shown(middle)} ${unit}`.trim(),
      `${shown(lowest)} – ${shown(highest)}`,
      target ? ('atLeast' in target ? `≥ ${shown(target.atLeast)}` : `≤ ${shown(target.atMost)}`) : '',
      isMet === null ? '' : isMet ? 'yes' : 'NO',
      beside ?? '',
    ]);
  }
  return table.toString();
}

export function shown(value: number): string {
  return value.toLocaleString('en', { maximumFractionDigits: value < 10 ? 2 : value < 100 ? 1 : 0 });
}
