/**
 * `/api/v1/timeline`: mutations of all objects, newest first; in a cluster also Events. A page counts what its reader may see and nothing
 * else: where it ends, and whether another one follows, shows nothing of other namespaces (GI2).
 */
import type { ObjectKey } from '../../resources/index.ts';
import type { ShownIntent } from '../schemas/parts.ts';
import { shownMessage, type AnswerContext } from './context.ts';
import { shownEvent, shownIntent } from './intents.ts';

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
    const numbered = context.source.timeline(context.reader, at, rowsPerRead);
    for (const entry of numbered) {
      at = entry.number;
      const shown = 'event' in entry ? entry.event : entry.intent;
      const time = 'event' in entry ? entry.event.at : entry.intent.createdAt;
      if (!isMeant(context, query, shown.object, time)) continue;
      const account = accountOf(context, shown.object);
      items.push(
        'event' in entry
          ? shownEvent({ ...entry.event, message: shownMessage(context, shown.object, entry.event) }, account)
          : shownIntent(entry.intent, account),
      );
      if (items.length === query.limit) return { items, before: at };
    }
    if (numbered.length < rowsPerRead) return { items, before: undefined };
  }
  return { items, before: at };
}

function isMeant(
  context: AnswerContext,
  { object, account, from, to }: TimelineQuery,
  about: ObjectKey,
  atMs: number,
): boolean {
  return (
    (object === undefined || about === object) &&
    (account === undefined || accountOf(context, about) === account) &&
    (from === undefined || atMs >= from) &&
    (to === undefined || atMs <= to)
  );
}

function accountOf({ index }: AnswerContext, key: ObjectKey): string | undefined {
  return index.rows.get(key)?.row.account ?? undefined;
}
