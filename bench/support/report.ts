/** What the repetitions of a benchmark come to. */
import { renderTable } from '../../src/cli/output/render.ts';

export interface Row {
  readonly what: string;
  readonly values: readonly number[];
  readonly unit: string;
  readonly target?: { readonly atLeast: number } | { readonly atMost: number };
  /** Requests, writes, refusals, duplicates: the same on every machine, so that a missed target fails `--gate`. */
  readonly isCount?: boolean;
  /** It follows the speed of the machine, and is compared with that of another run by their yardsticks. */
  readonly isOfMachine?: boolean;
  /** The theoretical limit, in the same unit. */
  readonly limit?: number;
  /** What it is compared with, or made of. */
  readonly beside?: string;
}

export interface Summary extends Row {
  readonly median: number;
  readonly lowest: number;
  readonly highest: number;
  /** By the median, but a count by its worst repetition; null without a target. */
  readonly isMet: boolean | null;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2;
}

export function summarize(row: Row): Summary {
  const spread = {
    median: median(row.values),
    lowest: Math.min(...row.values),
    highest: Math.max(...row.values),
  };
  return { ...row, ...spread, isMet: isMet(row, spread) };
}

function isMet(
  { target, isCount, values }: Row,
  { median: middle, lowest, highest }: Pick<Summary, 'median' | 'lowest' | 'highest'>,
): boolean | null {
  if (!target) return null;
  if (values.length === 0) return false;
  if ('atLeast' in target) return (isCount ? lowest : middle) >= target.atLeast;
  return (isCount ? highest : middle) <= target.atMost;
}

export function tableOf(summaries: readonly Summary[]): string {
  return renderTable(
    ['WHAT', 'MEDIAN', 'RANGE', 'LIMIT', 'TARGET', 'MET', 'BESIDE IT'],
    summaries.map(cellsOf),
  );
}

function cellsOf(summary: Summary): string[] {
  const { what, unit, median: middle, lowest, highest, limit, target, isMet: met, beside } = summary;
  return [
    what,
    `${shown(middle)} ${unit}`.trim(),
    `${shown(lowest)} – ${shown(highest)}`,
    limit === undefined ? '' : shown(limit),
    target ? ('atLeast' in target ? `≥ ${shown(target.atLeast)}` : `≤ ${shown(target.atMost)}`) : '',
    met === null ? '' : met ? 'yes' : 'NO',
    beside ?? '',
  ];
}

/** Those that `--gate` fails for. */
export function missedCounts(summaries: readonly Summary[]): readonly Summary[] {
  return summaries.filter((summary) => summary.isCount && summary.isMet === false);
}

/** The value below which `share` (0 to 1) of all lie. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

export function shown(value: number): string {
  return value.toLocaleString('en', { maximumFractionDigits: value < 10 ? 2 : value < 100 ? 1 : 0 });
}
