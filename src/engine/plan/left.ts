/** What members of a budget left at the provider, as it is stored. Pure. */
import type { StoredLeft } from '../../resources/index.ts';

/** Of more than these it is not stored since when reads lack them: a status has less than 32 KiB. */
const mostMissing = 100;

export function leftIds(left: readonly StoredLeft[]): readonly string[] {
  return left.flatMap(({ ids }) => ids);
}

/** With these, too. Undefined: they are among them. */
export function withLeft(
  left: readonly StoredLeft[],
  account: string,
  more: readonly string[],
): readonly StoredLeft[] | undefined {
  const known = new Set(leftIds(left));
  const added = more.filter((id) => !known.has(id));
  if (added.length === 0) return undefined;
  const own = left.find((each) => each.account === account);
  return [...left.filter((each) => each !== own), { ...own, account, ids: [...(own?.ids ?? []), ...added] }];
}

export function withoutLeft(left: readonly StoredLeft[], over: ReadonlySet<string>): readonly StoredLeft[] {
  if (over.size === 0) return left;
  return left
    .map(({ account, ids, missing = {} }) => {
      const kept = ids.filter((id) => !over.has(id));
      return storedLeft(account, kept, new Map(Object.entries(missing)));
    })
    .filter(({ ids }) => ids.length > 0);
}

/** `since`: since when reads lack them (Unix milliseconds), as far as they do. */
export function withMissing(
  left: readonly StoredLeft[],
  since: ReadonlyMap<string, number>,
): readonly StoredLeft[] {
  const lacking = leftIds(left).flatMap((id) => {
    const at = since.get(id);
    return at === undefined ? [] : [[id, at] as const];
  });
  const stored = new Map(lacking.slice(0, mostMissing));
  return left.map(({ account, ids }) => storedLeft(account, ids, stored));
}

function storedLeft(account: string, ids: readonly string[], since: ReadonlyMap<string, number>): StoredLeft {
  const missing = [...since].filter(([id]) => ids.includes(id));
  return missing.length > 0 ? { account, ids, missing: Object.fromEntries(missing) } : { account, ids };
}
