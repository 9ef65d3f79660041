/**
 * Divides a fleet by account. All objects of an account are in the same shard, so each account has one
 * manager, one limiter and one poll. The shard follows from the account's name alone, so every process
 * computes the same one.
 */
import { digestOf } from '../../base/index.ts';
import { accountPlaceOf, type ObjectKey } from '../../resources/index.ts';
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

/** All entries of the cluster, and which of them belong to this shard. */
export class ShardedEntries {
  readonly #shard: Shard | undefined;
  readonly #entries = new Map<ObjectKey, ClusterEntry>();
  /** By an object that others follow into its account, whether or not it exists: tasks follow their service. */
  readonly #followers = new Map<ObjectKey, Set<ObjectKey>>();

  constructor(shard: Shard | undefined) {
    this.#shard = shard;
  }

  /** Of any shard. */
  get(key: ObjectKey): ClusterEntry | undefined {
    return this.#entries.get(key);
  }

  /** Undefined if it belongs to another shard. */
  shown(key: ObjectKey): ClusterEntry | undefined {
    const entry = this.#entries.get(key);
    if (!entry || !this.#shard) return entry;
    return shardOf(this.#accountOf(entry), this.#shard.count) === this.#shard.index ? entry : undefined;
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
