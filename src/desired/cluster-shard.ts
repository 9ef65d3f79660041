/**
 * A fleet divided by account: every object of an account belongs to the same shard, so that each account has one manager, one
 * limiter and one poll. Which shard that is follows from the account's name alone, and is the same in every process.
 */
import { digestOf } from '../base/index.ts';
import { objectKey, parseObjectKey, type ObjectKey } from '../resources/index.ts';
import type { ClusterEntry } from './cluster-object.ts';

export interface Shard {
  /** From 0. */
  readonly index: number;
  readonly count: number;
}

/** `account` is `namespace/name`. */
export function shardOf(account: string, count: number): number {
  return Number.parseInt(digestOf(account).slice(0, 12), 16) % count;
}

/** Those of the shard, out of all that the cluster has. */
export function entriesOfShard(
  entries: ReadonlyMap<ObjectKey, ClusterEntry>,
  shard: Shard | undefined,
): Iterable<ClusterEntry> {
  if (!shard) return entries.values();
  const shards = new Map<string, number>();
  return [...entries.values()].filter((entry) => {
    const account = accountOf(entry, entries);
    const index = shards.get(account) ?? shardOf(account, shard.count);
    shards.set(account, index);
    return index === shard.index;
  });
}

/**
 * As it is written, whether the schema takes the rest or not. A task is where its service is; one whose service
 * nobody knows is where a service that names no account would be.
 */
function accountOf(entry: ClusterEntry, entries: ReadonlyMap<ObjectKey, ClusterEntry>): string {
  const { namespace, name } = parseObjectKey(entry.key);
  if (entry.kind === 'Account') return `${namespace}/${name}`;
  if (entry.kind !== 'ProtectedTask') return `${namespace}/${nameIn(entry.spec, 'accountRef') ?? 'default'}`;
  const service = objectKey('ContainerService', namespace, nameIn(entry.spec, 'serviceRef') ?? '');
  const known = entries.get(service);
  return known ? accountOf(known, entries) : `${namespace}/default`;
}

function nameIn(spec: unknown, field: string): string | undefined {
  const reference = memberOf(spec, field);
  const name = memberOf(reference, 'name');
  return typeof name === 'string' ? name : undefined;
}

function memberOf(value: unknown, field: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[field] : undefined;
}
