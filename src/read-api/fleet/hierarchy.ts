/**
 * What is below what: account → fleet → replica → volume, task. Each node has the number of objects below it by health, kept while rows
 * change: a change costs as much as there are nodes above the object.
 *
 * - An object is below its owner, a volume below the service that refers to it, a task below its service. Where that object is not there,
 *   it is below its account.
 * - The node of an account has the key of its Account, whether there is such an object or not.
 * - Only an account has things of several namespaces, so what is below a node is counted by namespace.
 */
import { accountKey, accountKind, parseObjectKey, type ObjectKey } from '../../resources/index.ts';
import { healths, type Health } from '../schemas/parts.ts';
import type { IndexedRow } from './row.ts';

/** By the index of the health in `healths`. */
export type Tally = readonly number[];

interface Part {
  readonly children: Set<ObjectKey>;
  readonly below: number[];
}

const ranks = new Map<Health, number>(healths.map((health, rank) => [health, rank]));

export function rankOf(health: Health): number {
  return ranks.get(health) ?? 0;
}

export class Hierarchy {
  readonly #rows: ReadonlyMap<ObjectKey, IndexedRow>;
  /** By node and namespace of what is below. A node without anything below it has no entry. */
  readonly #nodes = new Map<ObjectKey, Map<string, Part>>();
  readonly #parents = new Map<ObjectKey, ObjectKey>();
  /** Below what it is if that is there. */
  readonly #wanted = new Map<ObjectKey, ObjectKey>();
  /** The same, by what is wanted. */
  readonly #wanting = new Map<ObjectKey, Set<ObjectKey>>();
  /** The services that refer to a volume. */
  readonly #users = new Map<ObjectKey, ObjectKey>();

  constructor(rows: ReadonlyMap<ObjectKey, IndexedRow>) {
    this.#rows = rows;
  }

  parentOf(key: ObjectKey): ObjectKey | undefined {
    return this.#parents.get(key);
  }

  /** Nodes that nothing is above. */
  *tops(): Generator<ObjectKey> {
    for (const key of this.#nodes.keys()) if (!this.#parents.has(key)) yield key;
    for (const key of this.#rows.keys()) if (!this.#parents.has(key) && !this.#nodes.has(key)) yield key;
  }

  /** What is directly below it, by namespace, with the tally of all that is below it there. */
  parts(
    key: ObjectKey,
  ): ReadonlyMap<string, { readonly children: ReadonlySet<ObjectKey>; readonly below: Tally }> {
    return this.#nodes.get(key) ?? none;
  }

  /** To be called after the rows have changed. */
  change(before: IndexedRow | undefined, after: IndexedRow | undefined): void {
    const key = (after ?? before)?.row.key as ObjectKey | undefined;
    if (key === undefined) return;
    const { namespace } = parseObjectKey(key);
    if (before) this.#count(this.#parents.get(key), namespace, before.row.health, -1);
    if (after) this.#count(this.#parents.get(key), namespace, after.row.health, 1);
    for (const volume of before?.volumes ?? []) {
      if (after?.volumes.includes(volume) || this.#users.get(volume) !== key) continue;
      this.#users.delete(volume);
      this.#want(volume, this.#rows.get(volume));
    }
    for (const volume of after?.volumes ?? []) {
      if (this.#users.get(volume) === key) continue;
      this.#users.set(volume, key);
      this.#want(volume, this.#rows.get(volume));
    }
    if (before?.parent !== after?.parent || !before || !after) this.#want(key, after);
    else this.#place(key);
    if (!before || !after) for (const child of this.#wanting.get(key) ?? []) this.#place(child);
  }

  /** Where it wants to be from now on. */
  #want(key: ObjectKey, row: IndexedRow | undefined): void {
    const earlier = this.#wanted.get(key);
    const wanted = this.#wantedBy(key, row);
    if (earlier !== wanted) {
      const before = earlier && this.#wanting.get(earlier);
      if (earlier && before?.delete(key) && before.size === 0) this.#wanting.delete(earlier);
      if (wanted === undefined) this.#wanted.delete(key);
      else {
        this.#wanted.set(key, wanted);
        this.#wanting.set(wanted, (this.#wanting.get(wanted) ?? new Set()).add(key));
      }
    }
    this.#place(key);
  }

  #wantedBy(key: ObjectKey, row: IndexedRow | undefined): ObjectKey | undefined {
    return row && (this.#users.get(key) ?? row.parent);
  }

  /** Puts it, with all that is below it, where it belongs now. */
  #place(key: ObjectKey): void {
    const row = this.#rows.get(key);
    const earlier = this.#parents.get(key);
    const parent = row && this.#belongsBelow(key, row);
    if (parent === earlier) return;
    const { namespace } = parseObjectKey(key);
    // The row that is gone was taken out of the counts before.
    const own = row ? [[namespace, tallyOf(row.row.health)] as const] : [];
    const moved = [...own, ...Array.from(this.parts(key), ([name, { below }]) => [name, below] as const)];
    for (const [name, tally] of moved) this.#addAll(earlier, name, tally, -1);
    if (earlier !== undefined) this.#leave(earlier, namespace, key);
    if (parent === undefined) this.#parents.delete(key);
    else {
      this.#parents.set(key, parent);
      this.#part(parent, namespace).children.add(key);
      for (const [name, tally] of moved) this.#addAll(parent, name, tally, 1);
    }
  }

  #belongsBelow(key: ObjectKey, indexed: IndexedRow): ObjectKey | undefined {
    const wanted = this.#wanted.get(key);
    if (wanted !== undefined && wanted !== key && this.#rows.has(wanted)) return wanted;
    const { account } = indexed.row;
    return account === null || parseObjectKey(key).kind === accountKind ? undefined : accountKey(account);
  }

  #leave(parent: ObjectKey, namespace: string, key: ObjectKey): void {
    const parts = this.#nodes.get(parent);
    const part = parts?.get(namespace);
    part?.children.delete(key);
    if (!parts || part?.children.size !== 0) return;
    parts.delete(namespace);
    if (parts.size === 0) this.#nodes.delete(parent);
  }

  #part(key: ObjectKey, namespace: string): Part {
    const parts = this.#nodes.get(key) ?? new Map<string, Part>();
    this.#nodes.set(key, parts);
    const part = parts.get(namespace) ?? { children: new Set(), below: healths.map(() => 0) };
    parts.set(namespace, part);
    return part;
  }

  #count(from: ObjectKey | undefined, namespace: string, health: Health, by: number): void {
    for (let key = from; key !== undefined; key = this.#parents.get(key)) {
      const { below } = this.#part(key, namespace);
      below[rankOf(health)] = (below[rankOf(health)] ?? 0) + by;
    }
  }

  #addAll(from: ObjectKey | undefined, namespace: string, tally: Tally, by: number): void {
    for (let key = from; key !== undefined; key = this.#parents.get(key)) {
      const { below } = this.#part(key, namespace);
      for (const [rank, number] of tally.entries()) below[rank] = (below[rank] ?? 0) + by * number;
    }
  }
}

const none: ReadonlyMap<string, Part> = new Map();

function tallyOf(health: Health): Tally {
  return healths.map((each) => (each === health ? 1 : 0));
}
