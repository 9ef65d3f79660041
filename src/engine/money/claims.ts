/** Claims on the room of a budget, in the order of their rank. To add or remove one does not walk over the others. */
import { byRank, type Claim } from '../plan/index.ts';
import type { ObjectKey } from '../../resources/index.ts';

export class Claims {
  readonly #sorted: Claim[] = [];
  readonly #byKey = new Map<ObjectKey, Claim>();
  /** Of all of them. */
  micros = 0n;
  /** Those whose price is not known yet. */
  unpriced = 0;

  get size(): number {
    return this.#sorted.length;
  }

  get(key: ObjectKey): Claim | undefined {
    return this.#byKey.get(key);
  }

  /** In place of an earlier one of the same object. */
  put(key: ObjectKey, claim: Claim): void {
    this.take(key);
    this.#sorted.splice(this.#placeOf(claim), 0, claim);
    this.#byKey.set(key, claim);
    this.micros += claim.micros;
    if (claim.micros === 0n) this.unpriced += 1;
  }

  /** Removes it. Undefined: there was none. */
  take(key: ObjectKey): Claim | undefined {
    const claim = this.#byKey.get(key);
    if (!claim) return undefined;
    this.#sorted.splice(this.#placeOf(claim), 1);
    this.#byKey.delete(key);
    this.micros -= claim.micros;
    if (claim.micros === 0n) this.unpriced -= 1;
    return claim;
  }

  ranked(): Iterator<Claim> {
    return this.#sorted.values();
  }

  /** The first ones that fit into the room by themselves. */
  fitting(room: bigint | undefined, most: number): readonly ObjectKey[] {
    const found: ObjectKey[] = [];
    for (const { key, micros } of this.#sorted) {
      if (found.length === most) break;
      if (room === undefined || micros <= room) found.push(key as ObjectKey);
    }
    return found;
  }

  keys(): Iterable<ObjectKey> {
    return this.#byKey.keys();
  }

  /** Where it is, or belongs: ranks of different objects are never the same. */
  #placeOf(claim: Claim): number {
    let [from, to] = [0, this.#sorted.length];
    while (from < to) {
      const middle = Math.floor((from + to) / 2);
      const other = this.#sorted[middle];
      if (other && byRank(other, claim) < 0) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}
