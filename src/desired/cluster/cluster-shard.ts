/**
 * Divides a fleet by account. All objects of an account are in the same shard, so each account has one
 * manager, one limiter and one poll. The shard follows from the account's name alone, so every process
 * computes the same one.
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

/** All entries of the cluster, and which of them belong to this shard. */
export class ShardedEntries {
  readonly #shard: Shard | undefined;
  readonly #entries = new Map<ObjectKey, ClusterEntry>();
  /** The tasks that name a service, whether or not it exists. */
  readonly #tasks = new Map<ObjectKey, Set<ObjectKey>>();

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
   * Reads the account even if the schema refuses the rest. A task belongs to the account of its service. If
   * the service is unknown, the task belongs to the account of services that name none.
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
