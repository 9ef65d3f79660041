/** What somebody else changed, in lines under the table of `status`. */
import { parseObjectKey } from '../../resources/index.ts';
import type { DriftEntry, ObjectRecord } from '../../state/index.ts';
import { show, type Palette } from './render.ts';
import { oneLine } from './terminal-text.ts';

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

function renderEntry(
  { path, desired, observed, since, cause }: DriftEntry,
  dim: (text: string) => string,
): string {
  const why = cause === undefined ? '' : `: ${cause}`;
  return `${oneLine(`${path}: ${show(desired)} → ${show(observed)}`)}  ${dim(`since ${since}${why}`)}`;
}
