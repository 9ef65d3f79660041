/** What members of a budget left at the provider, as it is stored. Pure. */
import type { StoredLeft } from '../../resources/index.ts';

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
  return [...left.filter((each) => each !== own), { account, ids: [...(own?.ids ?? []), ...added] }];
}

export function withoutLeft(left: readonly StoredLeft[], over: ReadonlySet<string>): readonly StoredLeft[] {
  if (over.size === 0) return left;
  return left
    .map(({ account, ids }) => ({ account, ids: ids.filter((id) => !over.has(id)) }))
    .filter(({ ids }) => ids.length > 0);
}
