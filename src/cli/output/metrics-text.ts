/**
 * Metrics as text. Their shape is not documented (§4 "Gaps in endpoints"): a list of samples with numbers in them, wherever it
 * is, becomes a line per number; anything else is shown as it came.
 */
import { structured } from './output.ts';
import { renderTable } from './render.ts';
import { oneLine } from './terminal-text.ts';

type Sample = Readonly<Record<string, unknown>>;

const timeFields = new Set(['at', 'time', 'timestamp', 'ts', 't']);
const bars = '▁▂▃▄▅▆▇█';
const longestLine = 30;

export function metricsText(answer: unknown): string {
  const samples = samplesIn(answer);
  if (!samples) return structured('json', { metrics: answer });
  const note = isMap(answer) && typeof answer['note'] === 'string' ? [oneLine(answer['note'])] : [];
  const series = seriesOf(samples);
  if (series.size === 0) return [...note, 'No samples.'].join('\n');
  const rows = [...series].map(([name, values]) => row(name, values));
  return [...note, renderTable(['METRIC', 'LAST', 'MIN', 'MEAN', 'MAX', 'OVER TIME'], rows)].join('\n');
}

/** Undefined when there is no list of maps: neither the answer nor a field of it. */
function samplesIn(answer: unknown): readonly Sample[] | undefined {
  const candidates = isMap(answer) ? Object.values(answer) : [answer];
  return candidates.find((value): value is Sample[] => Array.isArray(value) && value.every(isMap));
}

function isMap(value: unknown): value is Sample {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function seriesOf(samples: readonly Sample[]): Map<string, number[]> {
  const series = new Map<string, number[]>();
  for (const sample of samples) {
    for (const [name, value] of Object.entries(sample)) {
      if (timeFields.has(name) || typeof value !== 'number') continue;
      series.set(name, [...(series.get(name) ?? []), value]);
    }
  }
  return series;
}

function row(name: string, values: readonly number[]): string[] {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const numbers = [values.at(-1) ?? 0, Math.min(...values), mean, Math.max(...values)];
  return [oneLine(name), ...numbers.map(short), sparkline(values)];
}

function short(value: number): string {
  return Number.isInteger(value) ? String(value) : value.toFixed(Math.abs(value) < 10 ? 2 : 1);
}

/** The highest value of each part of the time, from nothing to the highest of all. */
function sparkline(values: readonly number[]): string {
  const columns = Math.min(values.length, longestLine);
  const top = Math.max(...values);
  return Array.from({ length: columns }, (_, column) => {
    const start = Math.floor((column * values.length) / columns);
    const end = Math.floor(((column + 1) * values.length) / columns);
    const share = top > 0 ? Math.max(...values.slice(start, end)) / top : 0;
    return bars[Math.min(bars.length - 1, Math.floor(Math.max(share, 0) * bars.length))];
  }).join('');
}
