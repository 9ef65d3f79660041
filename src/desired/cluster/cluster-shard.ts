/**
 * Divides a fleet by account, or by namespace. Either way all objects of an Account are in the same shard, so each Account has one
 * manager, one limiter and one poll. The shard follows from the name alone, so every process computes the same one.
 *
 * | `by`        | what is in one shard    | a fleet over several Accounts                                            |
 * |-------------|-------------------------|--------------------------------------------------------------------------|
 * | `account`   | each Account by itself  | can't be used (`InvalidSpec`) if they are in several shards               |
 * | `namespace` | all Accounts of one     | as without shards                                                        |
 */
import { digestOf } from '../../base/index.ts';
import { accountPlaceOf, traitsOf, type ObjectKey } from '../../resources/index.ts';
import { refusedEntry, type ClusterEntry } from './cluster-object.ts';

export interface Shard {
  /** From 0. */
  readonly index: number;
  readonly count: number;
  readonly by: ShardBy;
}

export const shardBys = ['account', 'namespace'] as const;
export type ShardBy = (typeof shardBys)[number];

/** The index of the shard that has the account (`namespace/name`) and all of its objects. */
export function shardOfAccount(account: string, { by, count }: Pick<Shard, 'by' | 'count'>): number {
  return shardOf(by === 'account' ? account : account.slice(0, account.indexOf('/')), count);
}

/** `name`: of an account (`namespace/name`), or of a namespace. */
export function shardOf(name: string, count: number): number {
  return Number.parseInt(digestOf(name).slice(0, 12), 16) % count;
}

/** All entries of the cluster, and which of them belong to this shard. */
export class ShardedEntries {
  readonly #shard: Shard | undefined;
  readonly #entries = new Map<ObjectKey, ClusterEntry>();
  /** By an object that others follow into its account, whether or not it exists: tasks follow their service. */
  readonly #followers = new Map<ObjectKey, Set<ObjectKey>>();

  /** The same one for the same entry, so that nothing changes. */
  readonly #refused = new WeakMap<ClusterEntry, ClusterEntry>();

  constructor(shard: Shard | undefined) {
    this.#shard = shard;
  }

  /** Of any shard. */
  get(key: ObjectKey): ClusterEntry | undefined {
    return this.#entries.get(key);
  }

  /** Of all shards. */
  all(): Iterable<readonly [ObjectKey, ClusterEntry]> {
    return this.#entries;
  }

  /** Undefined if it belongs to another shard. */
  shown(key: ObjectKey): ClusterEntry | undefined {
    const entry = this.#entries.get(key);
    if (!entry || !this.#shard) return entry;
    if (shardOfAccount(this.#accountOf(entry), this.#shard) !== this.#shard.index) return undefined;
    return this.#shard.by === 'account' ? this.#ofOneShard(entry, this.#shard) : entry;
  }

  /** What it may have in the accounts of other shards, their operators would manage, too. */
  #ofOneShard(entry: ClusterEntry, shard: Shard): ClusterEntry {
    if (entry.read.is !== 'object') return entry;
    const known = this.#refused.get(entry);
    if (known) return known;
    const { namespace, spec } = entry.read.object;
    const accounts = traitsOf(entry.kind).accounts?.(spec) ?? [];
    const isElsewhere = (name: string) => shardOfAccount(`${namespace}/${name}`, shard) !== shard.index;
    if (!accounts.some(isElsewhere)) return entry;
    const refused = refusedEntry(entry, {
      path: ['spec', 'placement', 'candidates'],
      message: `the operators divide the cluster by account, and of the accounts of this fleet (${accounts.join(', ')}), ${accounts.filter(isElsewhere).join(', ')} are of another part, so its replicas would have several managers`,
      remedy: 'use one account, or run the operators with `--shard-by namespace`',
    });
    this.#refused.set(entry, refused);
    return refused;
  }

  /**
   * Takes in an entry; undefined removes it. Returns the keys whose entry may differ now: a task is in the
   * shard of its service.
   */
  put(key: ObjectKey, entry: ClusterEntry | undefined): Iterable<ObjectKey> {
    if (this.#shard) this.#link(key, entry);
    if (entry) this.#entries.set(key, entry);
    else this.#entries.delete(key);
    return [key, ...(this.#followers.get(key) ?? [])];
  }

  #link(key: ObjectKey, entry: ClusterEntry | undefined): void {
    const before = followedBy(this.#entries.get(key));
    if (before !== undefined) {
      const others = this.#followers.get(before);
      others?.delete(key);
      if (others?.size === 0) this.#followers.delete(before);
    }
    const followed = followedBy(entry);
    if (followed !== undefined)
      this.#followers.set(followed, (this.#followers.get(followed) ?? new Set()).add(key));
  }

  /**
   * As it is written, whether the schema accepts the rest or not. An object that follows one that does not exist is where that one would be
   * if it named no account.
   */
  #accountOf({ key, spec }: Pick<ClusterEntry, 'key' | 'spec'>): string {
    const place = accountPlaceOf(key, spec);
    if ('account' in place) return place.account;
    return this.#accountOf({ key: place.with, spec: this.#entries.get(place.with)?.spec });
  }
}

/** The object whose account is also that of the entry. */
function followedBy(entry: ClusterEntry | undefined): ObjectKey | undefined {
  const place = entry && accountPlaceOf(entry.key, entry.spec);
  return place && 'with' in place ? place.with : undefined;
}
