/** What else carries the marks of objects, in lines under the table of `status`. */
import { parseObjectKey } from '../../resources/index.ts';
import type { ObjectRecord } from '../../state/index.ts';
import type { Palette } from './render.ts';
import { oneLine } from './terminal-text.ts';

/** So many objects are named. */
const mostNamed = 20;

/** Empty when there is none. */
export function renderDuplicates(records: readonly ObjectRecord[], { bad, dim }: Palette): string {
  const found = records.flatMap(({ key, status }) => {
    const ids = (status?.duplicates ?? []).map(({ id }) => id);
    const { kind, namespace, name } = parseObjectKey(key);
    return ids.length === 0
      ? []
      : [`  ${kind} ${namespace}/${name}  ${dim(oneLine(`by ${ids.join(', ')}`))}`];
  });
  if (found.length === 0) return '';
  const more = found.length > mostNamed ? [dim(`  and ${found.length - mostNamed} more`)] : [];
  return [bad(head), ...found.slice(0, mostNamed), ...more].join('\n');
}

const head =
  'Duplicated: something else carries the mark of these, and may cost as much. Has another manager a copy of this state? `fleetkeeper describe` shows what to do';
