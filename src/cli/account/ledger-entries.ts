/**
 * The entries of a ledger that are new since it was read last. Pure. The API shows at most 100, and neither their order nor their fields
 * are promised (§2, "Gaps"): they are compared by their ids, or else whole, and by their order. So two equal entries are two.
 *
 * | the list now                                     | new entries                                        |
 * |--------------------------------------------------|----------------------------------------------------|
 * | begins like before, or with a part of it that begins later | those at its end                         |
 * | ends like before, or with a part of it that ends earlier   | those at its begin, which are the newest |
 * | has nothing of before                            | all, and some between may never have been shown    |
 */
import { stableJson } from '../../base/index.ts';

export interface NewEntries<Entry> {
  /** Oldest first. */
  readonly entries: readonly Entry[];
  /** Between the lists there may be others. */
  readonly hasGap: boolean;
}

/** The first list that is read. */
export function firstEntries<Entry extends { readonly createdAt?: unknown }>(
  entries: readonly Entry[],
): Entry[] {
  const [first, last] = [entries[0]?.createdAt, entries.at(-1)?.createdAt];
  const isNewestFirst = typeof first === 'number' && typeof last === 'number' && first > last;
  return isNewestFirst ? entries.toReversed() : [...entries];
}

export function newEntries<Entry>(before: readonly Entry[], now: readonly Entry[]): NewEntries<Entry> {
  if (before.length === 0) return { entries: now, hasGap: false };
  const [old, all] = [before.map(markOf), now.map(markOf)];
  for (let count = 0; count < all.length; count += 1) {
    if (isTail(old, all.slice(0, all.length - count)))
      return { entries: now.slice(all.length - count), hasGap: false };
    if (isHead(old, all.slice(count))) return { entries: now.slice(0, count).toReversed(), hasGap: false };
  }
  return {
    entries: firstEntries(now as readonly (Entry & { createdAt?: unknown })[]),
    hasGap: now.length > 0,
  };
}

/** By its id, where it has one: the amount of the newest may still grow. */
function markOf(entry: unknown): string {
  const { id } = entry as { readonly id?: unknown };
  return typeof id === 'string' ? `id ${id}` : stableJson(entry);
}

/** `part` is the end of `whole`. */
function isTail(whole: readonly string[], part: readonly string[]): boolean {
  const from = whole.length - part.length;
  return from >= 0 && part.every((each, index) => each === whole[from + index]);
}

/** `part` is the begin of `whole`. */
function isHead(whole: readonly string[], part: readonly string[]): boolean {
  return part.length <= whole.length && part.every((each, index) => each === whole[index]);
}
