/**
 * Which objects have a mark. That is asked for things that may be another object's, which are few: nothing is kept before the first
 * question about a kind. Then a record is examined again when it changes, as the store reports.
 */
import { parseObjectKey, type ManagedKind, type ObjectKey } from '../../resources/index.ts';
import type { ObjectRecord, StateStore } from '../../state/index.ts';

export type MarkOf = (record: ObjectRecord) => string;

class KindMarks {
  readonly #keys = new Map<string, Set<ObjectKey>>();
  readonly #marks = new Map<ObjectKey, string>();

  move(key: ObjectKey, mark: string | undefined): void {
    const before = this.#marks.get(key);
    if (before === mark) return;
    if (before !== undefined) this.#keys.get(before)?.delete(key);
    if (mark === undefined) {
      this.#marks.delete(key);
      return;
    }
    this.#marks.set(key, mark);
    this.#keys.set(mark, (this.#keys.get(mark) ?? new Set()).add(key));
  }

  keysOf(mark: string): Iterable<ObjectKey> {
    return this.#keys.get(mark) ?? [];
  }
}

export class MarkHolders {
  readonly #store: StateStore;
  readonly #kinds = new Map<ManagedKind, KindMarks>();
  readonly #moved = new Set<ObjectKey>();

  constructor(store: StateStore) {
    this.#store = store;
    store.listen((key) => {
      if (this.#kinds.has(parseObjectKey(key).kind)) this.#moved.add(key);
    });
  }

  /** The objects of the kind of `than` that have the mark, but for itself. `markOf`: the same function of a record for all of a kind. */
  others(than: ObjectKey, mark: string, markOf: MarkOf): ObjectKey[] {
    const { kind } = parseObjectKey(than);
    const marks = this.#kinds.get(kind) ?? this.#begin(kind);
    for (const key of this.#moved) {
      if (parseObjectKey(key).kind !== kind) continue;
      this.#moved.delete(key);
      const record = this.#store.record(key);
      marks.move(key, record && markOf(record));
    }
    return [...marks.keysOf(mark)].filter((key) => key !== than);
  }

  #begin(kind: ManagedKind): KindMarks {
    const marks = new KindMarks();
    this.#kinds.set(kind, marks);
    for (const key of this.#store.everyKey()) if (parseObjectKey(key).kind === kind) this.#moved.add(key);
    return marks;
  }
}
