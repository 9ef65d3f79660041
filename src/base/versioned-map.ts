/**
 * A map that never changes, and of which a changed version costs as much as the change: an edit among 10,000 objects copies none of them.
 *
 *     oldest ──> older ──> newest     Each version knows the next newer one, and none knows an older one.
 *      was         was       map
 *
 * The newest version holds an ordinary map. A version that is made from it takes that map over, and leaves behind what was different before
 * (`was`). So the newest version, which is what passes read, is as fast as any map. An older version answers from its differences first. When
 * nobody holds an older version any more, its differences are garbage: nothing has to be compacted.
 *
 * A version that is held for long (nothing can be saved, say) would have many newer ones between itself and the newest one. Whenever it is
 * asked, it takes the differences of these into its own, and points to the newest one. So it holds at most one entry per key.
 *
 * Two versions of the same line differ at most in the keys in which one of them differs from the newest one: that is all that `changedSince`
 * compares. What is made from a version that is not the newest is a copy, and the first of another line.
 *
 * An index groups keys by terms, which a function makes of each value. It is made when it is asked for first, and then follows each change.
 */
export type TermsOf<Value> = (value: Value) => readonly string[];

type Place<Key, Value extends object> =
  | { readonly is: 'newest'; readonly map: Map<Key, Value> }
  | {
      readonly is: 'older';
      readonly was: Map<Key, Value | undefined>;
      readonly next: VersionedMap<Key, Value>;
    };

type Groups<Key> = VersionedMap<string, VersionedMap<Key, object>>;

const member = {};

export class VersionedMap<Key, Value extends object> implements ReadonlyMap<Key, Value> {
  readonly size: number;
  readonly #termsOf: TermsOf<Value>;
  #place: Place<Key, Value>;
  #groups: Groups<Key> | undefined;

  private constructor(map: Map<Key, Value>, termsOf: TermsOf<Value>, groups: Groups<Key> | undefined) {
    this.size = map.size;
    this.#place = { is: 'newest', map };
    this.#termsOf = termsOf;
    this.#groups = groups;
  }

  /** The first version of a line. */
  static of<Key, Value extends object>(
    entries: Iterable<readonly [Key, Value]> = [],
    termsOf: TermsOf<Value> = () => [],
  ): VersionedMap<Key, Value> {
    return new VersionedMap(new Map(entries), termsOf, undefined);
  }

  get(key: Key): Value | undefined {
    const place = this.#placeNow();
    if (place.is === 'newest') return place.map.get(key);
    return place.was.has(key) ? place.was.get(key) : place.next.get(key);
  }

  has(key: Key): boolean {
    return this.get(key) !== undefined;
  }

  /** With these entries, and without those that are undefined; the same version when nothing would be different. */
  with(changes: Iterable<readonly [Key, Value | undefined]>): VersionedMap<Key, Value> {
    const place = this.#placeNow();
    const map = place.is === 'newest' ? place.map : this.#copy();
    const was = new Map<Key, Value | undefined>();
    for (const [key, value] of new Map(changes)) {
      const before = map.get(key);
      if (before === value) continue;
      was.set(key, before);
      if (value === undefined) map.delete(key);
      else map.set(key, value);
    }
    if (was.size === 0) return this;
    const next = new VersionedMap(
      map,
      this.#termsOf,
      this.#groups && this.#regrouped(this.#groups, was, map),
    );
    if (place.is === 'newest') this.#place = { is: 'older', was, next };
    return next;
  }

  /** The version of this line that has these entries and no others. */
  become(
    wanted: ReadonlyMap<Key, Value>,
    isSame: (left: Value, right: Value) => boolean = Object.is,
  ): VersionedMap<Key, Value> {
    const changes: [Key, Value | undefined][] = [];
    let kept = 0;
    for (const [key, value] of wanted) {
      const before = this.get(key);
      if (before) kept += 1;
      if (!before || !isSame(before, value)) changes.push([key, value]);
    }
    if (kept < this.size) for (const key of this.keys()) if (!wanted.has(key)) changes.push([key, undefined]);
    return this.with(changes);
  }

  /** The keys of which the two versions have different values; `all` when they are not of the same line. */
  changedSince(before: VersionedMap<Key, Value>): ReadonlySet<Key> | 'all' {
    if (before === this) return new Set();
    if (before.#newest() !== this.#newest()) return 'all';
    const changed = new Set<Key>();
    for (const key of [...before.#differing(), ...this.#differing()])
      if (before.get(key) !== this.get(key)) changed.add(key);
    return changed;
  }

  /** The keys of the values that have this term. */
  withTerm(term: string): Iterable<Key> {
    return this.#indexed().get(term)?.keys() ?? [];
  }

  hasTerm(term: string): boolean {
    return this.#indexed().has(term);
  }

  /** By term, for a comparison with a full count. */
  terms(): ReadonlyMap<string, ReadonlyMap<Key, object>> {
    return this.#indexed();
  }

  // Whoever walks over all entries may wait in between, and meanwhile another version takes the map over.

  entries(): MapIterator<[Key, Value]> {
    return this.#copy().entries();
  }

  keys(): MapIterator<Key> {
    return this.#copy().keys();
  }

  values(): MapIterator<Value> {
    return this.#copy().values();
  }

  [Symbol.iterator](): MapIterator<[Key, Value]> {
    return this.entries();
  }

  forEach(visit: (value: Value, key: Key, map: ReadonlyMap<Key, Value>) => void): void {
    for (const [key, value] of this) visit(value, key, this);
  }

  /** With at most one step to the newest version. */
  #placeNow(): Place<Key, Value> {
    const place = this.#place;
    if (place.is === 'newest') return place;
    let { next } = place;
    while (next.#place.is === 'older') {
      for (const [key, value] of next.#place.was) if (!place.was.has(key)) place.was.set(key, value);
      next = next.#place.next;
    }
    if (next === place.next) return place;
    return (this.#place = { ...place, next });
  }

  #newest(): VersionedMap<Key, Value> {
    const place = this.#placeNow();
    return place.is === 'newest' ? this : place.next;
  }

  /** From the newest version. */
  #differing(): Iterable<Key> {
    const place = this.#placeNow();
    return place.is === 'newest' ? [] : place.was.keys();
  }

  #copy(): Map<Key, Value> {
    const place = this.#placeNow();
    if (place.is === 'newest') return new Map(place.map);
    const copy = place.next.#copy();
    for (const [key, value] of place.was) {
      if (value === undefined) copy.delete(key);
      else copy.set(key, value);
    }
    return copy;
  }

  #indexed(): Groups<Key> {
    if (this.#groups) return this.#groups;
    const keys = new Map<string, Map<Key, object>>();
    for (const [key, value] of this) {
      for (const term of this.#termsOf(value)) {
        const group = keys.get(term);
        if (group) group.set(key, member);
        else keys.set(term, new Map([[key, member]]));
      }
    }
    const groups = [...keys].map(([term, group]) => [term, VersionedMap.of(group)] as const);
    return (this.#groups = VersionedMap.of(groups));
  }

  #regrouped(
    groups: Groups<Key>,
    was: ReadonlyMap<Key, Value | undefined>,
    now: ReadonlyMap<Key, Value>,
  ): Groups<Key> {
    const moves = new Map<string, Map<Key, object | undefined>>();
    const move = (term: string, key: Key, to: object | undefined) => {
      const moved = moves.get(term) ?? new Map<Key, object | undefined>();
      moves.set(term, moved.set(key, to));
    };
    for (const [key, before] of was) {
      const after = now.get(key);
      const [left, right] = [before, after].map((value) => new Set(value && this.#termsOf(value)));
      for (const term of left ?? []) if (!right?.has(term)) move(term, key, undefined);
      for (const term of right ?? []) if (!left?.has(term)) move(term, key, member);
    }
    return groups.with(
      [...moves].map(([term, moved]) => {
        const group = (groups.get(term) ?? VersionedMap.of<Key, object>()).with(moved);
        return [term, group.size === 0 ? undefined : group] as const;
      }),
    );
  }
}
