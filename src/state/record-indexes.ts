/**
 * Answers questions about many records at once. The store calls `move` for every change of a record, and `moveIntent` for
 * every change of a newest intent. So no question needs a loop over all records.
 *
 * | index | members |
 * |---|---|
 * | by account | records with something in an account, now or earlier (`record.account`) |
 * | by namespace, by kind | all records |
 * | by id | records with a thing at the provider; two may claim the same one |
 * | counts | records by account and kind |
 * | gauges | objects by readiness, conditions, unknown outcomes; start of the oldest drift and of the oldest waiting disruption |
 */
import { parseObjectKey, type ManagedKind, type ObjectKey } from '../resources/index.ts';
import type { Intent, ObjectRecord } from './records.ts';

/** Label values of a gauge, in the order of its labels, and its value. */
export interface GaugeValue {
  readonly labels: readonly string[];
  readonly value: number;
}

export interface RecordGauges {
  /** By kind and status of `Ready`. */
  readonly objects: Iterable<GaugeValue>;
  /** By kind, type, status and reason. */
  readonly conditions: Iterable<GaugeValue>;
  /** Unix milliseconds at which the oldest drift of each kind began. */
  readonly driftSince: ReadonlyMap<ManagedKind, number>;
  /** Unix milliseconds since when the oldest disruption has been waiting for an activity. */
  readonly protectedSince: number | undefined;
  /** Objects whose mutation has an unknown outcome. */
  readonly unknownOutcomes: ReadonlyMap<ManagedKind, number>;
}

const none: ReadonlySet<ObjectKey> = new Set();

export class RecordIndexes {
  readonly #byAccount = new Groups<string>();
  readonly #byNamespace = new Groups<string>();
  readonly #byKind = new Groups<ManagedKind>();
  readonly #byId = new Groups<string>();
  readonly #counts = new Tally();
  readonly #objects = new Tally();
  readonly #conditions = new Tally();
  readonly #unknown = new Groups<ManagedKind>();
  /** Only of records that have drift. */
  readonly #driftSince = new Map<ObjectKey, number>();
  readonly #protectedSince = new Map<ObjectKey, number>();

  ofAccount(account: string): ReadonlySet<ObjectKey> {
    return this.#byAccount.of(account);
  }

  inNamespace(namespace: string): ReadonlySet<ObjectKey> {
    return this.#byNamespace.of(namespace);
  }

  ofKind(kind: ManagedKind): ReadonlySet<ObjectKey> {
    return this.#byKind.of(kind);
  }

  withId(externalId: string): ReadonlySet<ObjectKey> {
    return this.#byId.of(externalId);
  }

  count(account: string, kind: ManagedKind): number {
    return this.#counts.of([account, kind]);
  }

  get gauges(): RecordGauges {
    const earliest = new Map<ManagedKind, number>();
    for (const [key, sinceMs] of this.#driftSince) {
      const { kind } = parseObjectKey(key);
      earliest.set(kind, Math.min(earliest.get(kind) ?? sinceMs, sinceMs));
    }
    let protectedSince: number | undefined;
    for (const sinceMs of this.#protectedSince.values())
      protectedSince = Math.min(protectedSince ?? sinceMs, sinceMs);
    return {
      objects: this.#objects.values(),
      conditions: this.#conditions.values(),
      driftSince: earliest,
      protectedSince,
      unknownOutcomes: this.#unknown.sizes(),
    };
  }

  /** A record changed. `before` is undefined for a new one, `after` for a removed one. */
  move(before: ObjectRecord | undefined, after: ObjectRecord | undefined): void {
    const { key } = after ?? before ?? {};
    if (key === undefined) return;
    if (before === undefined || after === undefined) this.#moveKey(key, after !== undefined);
    if (before?.externalId !== after?.externalId) this.#moveId(key, before?.externalId, after?.externalId);
    if (before?.account !== after?.account) this.#moveAccount(key, before?.account, after?.account);
    const isGauged = before !== undefined && after !== undefined && before.status === after.status;
    if (!isGauged) this.#moveStatus(key, before, after);
  }

  moveIntent(key: ObjectKey, after: Intent | undefined): void {
    this.#unknown.put(parseObjectKey(key).kind, key, after?.outcome === 'unknown');
  }

  #moveKey(key: ObjectKey, isThere: boolean): void {
    const { kind, namespace } = parseObjectKey(key);
    this.#byNamespace.put(namespace, key, isThere);
    this.#byKind.put(kind, key, isThere);
  }

  #moveId(key: ObjectKey, before: string | undefined, after: string | undefined): void {
    if (before !== undefined) this.#byId.put(before, key, false);
    if (after !== undefined) this.#byId.put(after, key, true);
  }

  #moveAccount(key: ObjectKey, before: string | undefined, after: string | undefined): void {
    const { kind } = parseObjectKey(key);
    if (before !== undefined) {
      this.#byAccount.put(before, key, false);
      this.#counts.add([before, kind], -1);
    }
    if (after === undefined) return;
    this.#byAccount.put(after, key, true);
    this.#counts.add([after, kind], 1);
  }

  #moveStatus(key: ObjectKey, before: ObjectRecord | undefined, after: ObjectRecord | undefined): void {
    const { kind } = parseObjectKey(key);
    for (const [record, by] of [
      [before, -1],
      [after, 1],
    ] as const) {
      if (!record) continue;
      this.#objects.add([kind, readyOf(record)], by);
      for (const { type, status, reason } of record.status?.conditions ?? [])
        this.#conditions.add([kind, type, status, reason], by);
    }
    keepTime(this.#driftSince, key, after && driftSince(after));
    keepTime(this.#protectedSince, key, after && waitingSince(after));
  }
}

/** Sets of keys by a name. Empty sets are deleted. */
class Groups<Name> {
  /** Most groups of ids have one member, and need no set for it. */
  readonly #groups = new Map<Name, ObjectKey | Set<ObjectKey>>();

  /** As it is now. */
  of(name: Name): ReadonlySet<ObjectKey> {
    const group = this.#groups.get(name) ?? none;
    return typeof group === 'string' ? new Set([group]) : group;
  }

  put(name: Name, key: ObjectKey, isMember: boolean): void {
    const group = this.#groups.get(name);
    if (isMember) {
      if (group === undefined) this.#groups.set(name, key);
      else if (typeof group !== 'string') group.add(key);
      else if (group !== key) this.#groups.set(name, new Set([group, key]));
    } else if (group === key) this.#groups.delete(name);
    else if (typeof group === 'object' && group.delete(key) && group.size === 0) this.#groups.delete(name);
  }

  sizes(): ReadonlyMap<Name, number> {
    return new Map(
      [...this.#groups].map(([name, group]) => [name, typeof group === 'string' ? 1 : group.size]),
    );
  }
}

/** Numbers by labels. Zeros are deleted. */
class Tally {
  readonly #values = new Map<string, { readonly labels: readonly string[]; value: number }>();

  of(labels: readonly string[]): number {
    return this.#values.get(nameOf(labels))?.value ?? 0;
  }

  add(labels: readonly string[], by: number): void {
    const name = nameOf(labels);
    const known = this.#values.get(name);
    const value = (known?.value ?? 0) + by;
    if (value === 0) this.#values.delete(name);
    else if (known) known.value = value;
    else this.#values.set(name, { labels, value });
  }

  values(): Iterable<GaugeValue> {
    return this.#values.values();
  }
}

/** No label contains a line break. */
function nameOf(labels: readonly string[]): string {
  return labels.join('\n');
}

function keepTime(times: Map<ObjectKey, number>, key: ObjectKey, sinceMs: number | undefined): void {
  if (sinceMs === undefined) times.delete(key);
  else times.set(key, sinceMs);
}

function readyOf({ status }: ObjectRecord): string {
  return status?.conditions.find(({ type }) => type === 'Ready')?.status ?? 'Unknown';
}

function driftSince({ status }: ObjectRecord): number | undefined {
  const drift = status?.drift ?? [];
  return drift.length === 0 ? undefined : Math.min(...drift.map(({ since }) => Date.parse(since)));
}

function waitingSince({ status }: ObjectRecord): number | undefined {
  const waits = status?.conditions.find((item) => item.type === 'Protected' && item.status === 'True');
  return waits && Date.parse(waits.lastTransitionTime);
}
