/** What somebody else changed, in lines under the table of `status`. */
import { differenceText } from '../../engine/plan/index.ts';
import { parseObjectKey } from '../../resources/index.ts';
import type { DriftEntry, ObjectRecord } from '../../state/index.ts';
import type { Palette } from './render.ts';
import { longestLine, oneLine } from './terminal-text.ts';

/** Empty when there is none. */
export function renderDrift(records: readonly ObjectRecord[], { busy, dim }: Palette): string {
  const lines = records.flatMap(({ key, status }) => {
    const drift = status?.drift ?? [];
    if (drift.length === 0) return [];
    const { kind, namespace, name } = parseObjectKey(key);
    return [`  ${kind} ${namespace}/${name}`, ...drift.map((entry) => `    ${renderEntry(entry, dim)}`)];
  });
  return lines.length === 0 ? '' : [busy('Drift:'), ...lines].join('\n');
}

function renderEntry(entry: DriftEntry, dim: (text: string) => string): string {
  const { since, cause } = entry;
  const why = cause === undefined ? '' : `: ${cause}`;
  return `${oneLine(differenceText(entry, longestLine))}  ${dim(`since ${since}${why}`)}`;
}
