/** `/api/v1/timeline`: mutations of all objects, newest first. */
import type { ObjectKey } from '../../resources/index.ts';
import { seesKey } from '../fleet/reader.ts';
import type { ShownIntent } from '../schemas/parts.ts';
import type { AnswerContext } from './context.ts';
import { shownIntent } from './intents.ts';

export interface TimelineQuery {
  readonly object?: ObjectKey | undefined;
  readonly account?: string | undefined;
  /** Unix milliseconds. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  readonly limit: number;
}

/** Read from the disk at once. */
const rowsPerRead = 200;
/** For one page. A page that needs more is short, and the next one continues. */
const readsPerPage = 5;

export interface TimelinePage {
  readonly items: readonly ShownIntent[];
  /** Where the next page begins; undefined: there is nothing more. */
  readonly before: number | undefined;
}

/** `before`: mutations with a lower number. */
export function timelinePage(
  context: AnswerContext,
  query: TimelineQuery,
  before: number | undefined,
): TimelinePage {
  const items: ShownIntent[] = [];
  let at = before;
  for (let read = 0; read < readsPerPage; read++) {
    const numbered = context.source.timeline(at, rowsPerRead);
    for (const { number, intent } of numbered) {
      at = number;
      if (!isMeant(context, query, intent)) continue;
      items.push(shownIntent(intent, accountOf(context, intent.object)));
      if (items.length === query.limit) return { items, before: at };
    }
    if (numbered.length < rowsPerRead) return { items, before: undefined };
  }
  return { items, before: at };
}

function isMeant(
  context: AnswerContext,
  { object, account, from, to }: TimelineQuery,
  intent: { readonly object: ObjectKey; readonly createdAt: number },
): boolean {
  return (
    seesKey(context.reader, intent.object) &&
    (object === undefined || intent.object === object) &&
    (account === undefined || accountOf(context, intent.object) === account) &&
    (from === undefined || intent.createdAt >= from) &&
    (to === undefined || intent.createdAt <= to)
  );
}

function accountOf({ index }: AnswerContext, key: ObjectKey): string | undefined {
  return index.rows.get(key)?.row.account ?? undefined;
}
