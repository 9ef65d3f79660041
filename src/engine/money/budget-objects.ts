/** What each object of a budget costs, and each service that an owner would have: for its ceiling in plans. */
import { parseObjectKey, traitsOf, type ObjectKey } from '../../resources/index.ts';
import type { Budget } from './budget.ts';
import { ownedMicros, type Part, type PartSources } from './budget-part.ts';

/** Micro-USD per hour. */
export interface ObjectCosts {
  /** Of the members now. */
  readonly now: ReadonlyMap<ObjectKey, bigint>;
  /** By owner: what one more of its services would cost. */
  readonly owned: ReadonlyMap<ObjectKey, bigint>;
}

/** Undefined: the budget has no ceiling for each object. `counts`: those that an owner has. */
export function objectCosts(
  { namespace, members, terms }: Budget,
  partOf: (key: ObjectKey) => Part | undefined,
  counts: (key: ObjectKey) => boolean,
  sources: PartSources,
): ObjectCosts | undefined {
  if (terms.limits.perObjectHourlyMicros === undefined) return undefined;
  const now = new Map([...members].map((key) => [key, partOf(key)?.burn ?? 0n] as const));
  const owned = new Map<ObjectKey, bigint>();
  for (const record of sources.store.recordsIn(namespace)) {
    const isOwner = traitsOf(parseObjectKey(record.key).kind).asksOfOwned !== undefined;
    if (isOwner && counts(record.key)) owned.set(record.key, ownedMicros(record, sources));
  }
  return { now, owned };
}
