/**
 * A fleet divided by account: every object of an account belongs to the same shard, so that each account has one manager, one
 * limiter and one poll. Which shard that is follows from the account's name alone, and is the same in every process.
 */
import { digestOf } from '../../base/index.ts';
import { objectKey, parseObjectKey, type ObjectKey } from '../../resources/index.ts';
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

/** All entries that the cluster has, and which of them are of the shard. */
export class ShardedEntries {
  readonly #shard: Shard | undefined;
  readonly #entries = new Map<ObjectKey, ClusterEntry>();
  /** The tasks that name a service, whether it is there or not. */
  readonly #tasks = new Map<ObjectKey, Set<ObjectKey>>();

  constructor(shard: Shard | undefined) {
    this.#shard = shard;
  }

  /** Of any shard. */
  get(key: ObjectKey): ClusterEntry | undefined {
    return this.#entries.get(key);
  }

  /** Undefined also when it belongs to another shard. */
  shown(key: ObjectKey): ClusterEntry | undefined {
    const entry = this.#entries.get(key);
    if (!entry || !this.#shard) return entry;
    return shardOf(this.#accountOf(entry), this.#shard.count) === this.#shard.index ? entry : undefined;
  }

  /** Undefined: it is no more. Returns the keys of which another entry may be shown now: a task is where its service is. */
  put(key: ObjectKey, entry: ClusterEntry | undefined): Iterable<ObjectKey> {
    if (this.#shard) this.#linkTask(key, entry);
    if (entry) this.#entries.set(key, entry);
    else this.#entries.delete(key);
    return [key, ...(this.#tasks.get(key) ?? [])];
  }

  #linkTask(key: ObjectKey, entry: ClusterEntry | undefined): void {
    const before = this.#entries.get(key);
    if (before?.kind === 'ProtectedTask') {
      const service = serviceOf(before);
      const others = this.#tasks.get(service);
      others?.delete(key);
      if (others?.size === 0) this.#tasks.delete(service);
    }
    if (entry?.kind !== 'ProtectedTask') return;
    const service = serviceOf(entry);
    this.#tasks.set(service, (this.#tasks.get(service) ?? new Set()).add(key));
  }

  /**
   * As it is written, whether the schema takes the rest or not. A task is where its service is; one whose service
   * nobody knows is where a service that names no account would be.
   */
  #accountOf(entry: ClusterEntry): string {
    const { namespace, name } = parseObjectKey(entry.key);
    if (entry.kind === 'Account') return `${namespace}/${name}`;
    if (entry.kind !== 'ProtectedTask')
      return `${namespace}/${nameIn(entry.spec, 'accountRef') ?? 'default'}`;
    const service = this.#entries.get(serviceOf(entry));
    return service ? this.#accountOf(service) : `${namespace}/default`;
  }
}

function serviceOf({ key, spec }: ClusterEntry): ObjectKey {
  return objectKey('ContainerService', parseObjectKey(key).namespace, nameIn(spec, 'serviceRef') ?? '');
}

function nameIn(spec: unknown, field: string): string | undefined {
  const reference = memberOf(spec, field);
  const name = memberOf(reference, 'name');
  return typeof name === 'string' ? name : undefined;
}

function memberOf(value: unknown, field: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[field] : undefined;
}
