/**
 * What is left out of a folder that is beyond a bound, so that a sub-folder with very much in it does not stop the others. Pure.
 *
 * Names are paths relative to the source, with `/`.
 */
import { compareText } from '../problem.ts';

/** Of a folder, with all that is below it. */
interface Branch {
  readonly name: string;
  /** All that was found in it. */
  found: number;
  /** What of that is not left out. */
  used: number;
  readonly below: Map<string, Branch>;
}

/** The weight of each folder or file, added up for the folders above it. */
export class Weights {
  readonly #root = branch('');

  get used(): number {
    return this.#root.used;
  }

  add(name: string, weight: number): void {
    for (const each of this.#wayTo(name)) {
      each.found += weight;
      each.used += weight;
    }
  }

  /** What is below it can't be used either. */
  leaveOut(name: string): void {
    const way = [...this.#wayTo(name)];
    const weight = way.at(-1)?.used ?? 0;
    for (const each of way) each.used -= weight;
    way.at(-1)?.below.clear();
  }

  /**
   * The folder that most was found in: below the source, and deeper as long as one folder has more than half of what is in the one above it.
   * Parts of a folder that were left out before count, so many large parts lead to the folder that they are in. Empty: no folder below the
   * source has anything.
   */
  heaviestFolder(): string {
    let current = heaviestBelow(this.#root);
    for (;;) {
      const next = current && heaviestBelow(current);
      if (!current || !next || next.used * 2 <= current.found) return current?.name ?? '';
      current = next;
    }
  }

  /** In the folder that has most, and of what it has, again the one with most. */
  heaviestFile(): string {
    let current = this.#root;
    for (;;) {
      const next = heaviestBelow(current);
      if (!next) return current.name;
      current = next;
    }
  }

  *#wayTo(name: string): Iterable<Branch> {
    let current = this.#root;
    yield current;
    let end = name === '' ? -1 : 0;
    while (end !== -1) {
      end = name.indexOf('/', end + 1);
      const place = end === -1 ? name : name.slice(0, end);
      const next = current.below.get(place) ?? branch(place);
      current.below.set(place, next);
      yield (current = next);
    }
  }
}

function branch(name: string): Branch {
  return { name, found: 0, used: 0, below: new Map() };
}

/** Of equal ones the last by name. */
function heaviestBelow({ below }: Branch): Branch | undefined {
  let heaviest: Branch | undefined;
  for (const each of below.values()) {
    const order = heaviest ? each.used - heaviest.used || compareText(each.name, heaviest.name) : 1;
    if (each.used > 0 && order > 0) heaviest = each;
  }
  return heaviest;
}
