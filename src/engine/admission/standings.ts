/**
 * Compares the source with the records: which objects are missing, and how many others their part of the source has. The
 * standing of an object follows from its record, its newest intent and its document alone. Admission calls `move` when one of
 * these may have changed, so no loop over all objects is needed.
 *
 * | standing | the object | counts as |
 * |---|---|---|
 * | `there` | is in the source | live |
 * | `missing` | is not, or is being deleted in a cluster | live and missing, until it is marked for deletion |
 * | `harmless` | is being deleted in a cluster, which destroys nothing | nothing: it is marked at once |
 * | undefined | is marked for deletion, has no record, or its deletion would destroy nothing | nothing |
 */
import { isMassChange } from '../plan/index.ts';
import { parseObjectKey, type ManagedKind, type ObjectKey } from '../../resources/index.ts';

export interface Standing {
  /** The part of the source that can be lost separately. */
  readonly part: string;
  readonly is: 'there' | 'missing' | 'harmless';
}

export interface Part {
  readonly live: number;
  readonly missing: ReadonlySet<ObjectKey>;
}

interface Counted {
  live: number;
  readonly missing: Set<ObjectKey>;
}

export class Standings {
  readonly #standings = new Map<ObjectKey, Standing>();
  readonly #parts = new Map<string, Counted>();
  readonly #shortParts = new Set<string>();
  /** Over all parts. */
  readonly #kinds = new Map<ManagedKind, Counted>();
  readonly #harmless = new Set<ObjectKey>();

  /** Objects that are marked at once. */
  get harmless(): ReadonlySet<ObjectKey> {
    return this.#harmless;
  }

  part(name: string): Part {
    return this.#parts.get(name) ?? { live: 0, missing: new Set() };
  }

  /** The parts that lack objects. */
  get shortParts(): ReadonlySet<string> {
    return this.#shortParts;
  }

  /** Kinds of which more than a few objects exist, and all are being deleted. Probably somebody deleted the CRD. */
  kindsThatGoAsAWhole(): ReadonlySet<ManagedKind> {
    const whole = [...this.#kinds].filter(
      ([, { live, missing }]) => missing.size === live && isMassChange(live, live, 0),
    );
    return new Set(whole.map(([kind]) => kind));
  }

  /** The current standing of the object. Undefined: it does not count. */
  move(key: ObjectKey, now: Standing | undefined): void {
    const before = this.#standings.get(key);
    if (before?.is === now?.is && before?.part === now?.part) return;
    this.#count(key, before, -1);
    this.#count(key, now, 1);
    if (now) this.#standings.set(key, now);
    else this.#standings.delete(key);
  }

  #count(key: ObjectKey, standing: Standing | undefined, by: 1 | -1): void {
    if (!standing) return;
    if (standing.is === 'harmless') {
      if (by === 1) this.#harmless.add(key);
      else this.#harmless.delete(key);
      return;
    }
    for (const counted of [
      countedIn(this.#parts, standing.part),
      countedIn(this.#kinds, parseObjectKey(key).kind),
    ]) {
      counted.live += by;
      if (by === -1) counted.missing.delete(key);
      else if (standing.is === 'missing') counted.missing.add(key);
    }
    const { live, missing } = countedIn(this.#parts, standing.part);
    if (missing.size > 0) this.#shortParts.add(standing.part);
    else this.#shortParts.delete(standing.part);
    if (live === 0) this.#parts.delete(standing.part);
  }
}

function countedIn<Name>(groups: Map<Name, Counted>, name: Name): Counted {
  const counted = groups.get(name) ?? { live: 0, missing: new Set() };
  groups.set(name, counted);
  return counted;
}
