/**
 * Per account: the objects that have a thing there, and those of them that the newest read lacks. The mass-change brake for
 * reads counts them (engine/plan/brake.ts).
 *
 * A record is checked when it changes, as the store reports. A list of an account is checked when a read shows another one. An
 * unchanged list is the same JavaScript object (observed/listing.ts), so a read without changes costs nothing here.
 */
import type { AccountSnapshot, Listing } from '../../observed/index.ts';
import { parseObjectKey, traitsOf, type ManagedKind, type ObjectKey } from '../../resources/index.ts';
import type { ObjectRecord, StateStore } from '../../state/index.ts';

type Shown = ReadonlyMap<string, unknown>;

/** The objects of one kind in one account with their ids, and those that the last list lacks. */
interface Managed {
  readonly ids: Map<ObjectKey, string>;
  readonly missing: Set<ObjectKey>;
  shown: Shown | undefined;
}

export class ManagedIds {
  readonly #store: StateStore;
  /** By account, then by kind. */
  readonly #accounts = new Map<string, Map<ManagedKind, Managed>>();
  readonly #accountOf = new Map<ObjectKey, string>();
  readonly #moved = new Set<ObjectKey>();

  constructor(store: StateStore) {
    this.#store = store;
    store.listen((key) => this.#moved.add(key));
    for (const key of store.everyKey()) this.#moved.add(key);
  }

  /** `account`: `namespace/name`. Things of a list that was not read are not counted. */
  count(account: string, snapshot: AccountSnapshot): { readonly known: number; readonly missing: number } {
    for (const key of this.#moved) this.#move(key);
    this.#moved.clear();
    let [known, missing] = [0, 0];
    for (const [kind, managed] of this.#accounts.get(account) ?? []) {
      const shown = shownOf(kind, snapshot);
      if (!shown) continue;
      if (managed.shown !== shown) compare(managed, shown);
      known += managed.ids.size;
      missing += managed.missing.size;
    }
    return { known, missing };
  }

  #move(key: ObjectKey): void {
    const { kind } = parseObjectKey(key);
    const before = this.#accountOf.get(key);
    const managedBefore = before === undefined ? undefined : this.#accounts.get(before)?.get(kind);
    managedBefore?.ids.delete(key);
    managedBefore?.missing.delete(key);
    this.#accountOf.delete(key);
    const record = this.#store.record(key);
    const id = record && managedId(record);
    if (id === undefined || record?.account === undefined) return;
    this.#accountOf.set(key, record.account);
    const kinds = this.#accounts.get(record.account) ?? new Map<ManagedKind, Managed>();
    this.#accounts.set(record.account, kinds);
    const managed = kinds.get(kind) ?? { ids: new Map(), missing: new Set(), shown: undefined };
    kinds.set(kind, managed);
    managed.ids.set(key, id);
    if (managed.shown && !managed.shown.has(id)) managed.missing.add(key);
  }
}

/** A thing that was made but never shown can't be missing. */
function managedId(record: ObjectRecord): string | undefined {
  const { externalId, seen, deletedByUs, deletionRequestedAt } = record;
  return seen?.id === externalId && !deletedByUs && deletionRequestedAt === undefined
    ? externalId
    : undefined;
}

function compare(managed: Managed, shown: Shown): void {
  managed.shown = shown;
  managed.missing.clear();
  for (const [key, id] of managed.ids) if (!shown.has(id)) managed.missing.add(key);
}

/** All things of the kind. Undefined if they have not been read. */
function shownOf(kind: ManagedKind, snapshot: AccountSnapshot): Shown | undefined {
  const { list } = traitsOf(kind);
  if (list === undefined) return undefined;
  const shown: Shown | Listing<unknown> = snapshot[list];
  if (!('kind' in shown)) return shown;
  return shown.kind === 'read' ? shown.items : undefined;
}
