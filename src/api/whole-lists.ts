/**
 * Lists are whole (§2, §4): there are no pages, and a 2xx is no failure. An answer that contradicts this proves no
 * absence:
 *
 * | it has                                                     | what follows                                              |
 * |------------------------------------------------------------|-----------------------------------------------------------|
 * | an `error`                                                 | it can't be read                                          |
 * | a mark of more pages, beside the list or in `pagination` … | its entries count, and the list is incomplete             |
 * | two entries with one id that differ                        | the object is unusable until they agree; equal ones are one |
 */
import { sameValue } from '../base/index.ts';
import { isObject, problemOf, type Reading } from './reading.ts';

const pageMembers = ['pagination', 'paging', 'page', 'pageInfo', 'meta', 'metadata', 'links', '_links'];
const moreMembers = (
  'next nextPage next_page nextCursor next_cursor nextToken next_token nextPageToken next_page_token ' +
  'continuationToken continue hasMore has_more hasNext hasNextPage has_next_page truncated isTruncated partial incomplete'
).split(' ');

/** The member that announces more entries. */
export function moreIn(body: unknown): string | undefined {
  if (!isObject(body)) return undefined;
  const places = [body, ...pageMembers.map((name) => body[name]).filter(isObject)];
  return moreMembers.find((name) =>
    places.some((place) => Object.hasOwn(place, name) && hasMore(place[name])),
  );
}

function hasMore(value: unknown): boolean {
  const isText =
    typeof value === 'string' && !['', '0', 'false', 'null', 'none'].includes(value.toLowerCase());
  const isFilled = isObject(value) && Object.values(value).some(hasMore);
  return value === true || isText || isFilled || (typeof value === 'number' && value > 0);
}

/** The failure that a 2xx reports; undefined: none. */
export function failureIn(body: unknown): unknown {
  const error = isObject(body) ? body['error'] : undefined;
  const isNone = typeof error === 'object' && error !== null && Object.keys(error).length === 0;
  return error === null || error === false || error === '' || isNone ? undefined : error;
}

const once = { expected: 'one entry of an id', decides: true } as const;

/** Of one id, the entries that are shown more than once, in different ways, are one that can't be used. */
export function withoutDoubles<Item extends { readonly id: string }>(
  resource: string,
  items: readonly Item[],
  reading: Reading,
): Item[] {
  const byId = new Map<string, Item>();
  const differing = new Set<string>();
  for (const item of items) {
    const before = byId.get(item.id);
    if (before && (differing.has(item.id) || !sameValue(before, item))) {
      const problem = problemOf('id', 'several that differ', once, reading);
      reading.note(resource, problem);
      // Once for an id: an answer may repeat one entry after a very large one.
      if (!differing.has(item.id)) byId.set(item.id, { ...before, unreadable: [problem] });
      differing.add(item.id);
    } else if (!before) byId.set(item.id, item);
  }
  return [...byId.values()];
}
