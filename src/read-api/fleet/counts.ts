/** Numbers of objects by namespace, kind, health and reason, kept while rows change. */
import type { Row } from '../schemas/parts.ts';
import type { IndexedRow } from './row.ts';
import { sees, type Reader } from './reader.ts';

export interface Counted extends Pick<Row, 'namespace' | 'kind' | 'health' | 'reason' | 'severity'> {
  readonly count: number;
}

export class Counts {
  readonly #counted = new Map<string, { -readonly [Field in keyof Counted]: Counted[Field] }>();

  change(before: IndexedRow | undefined, after: IndexedRow | undefined): void {
    if (before) this.#add(before.row, -1);
    if (after) this.#add(after.row, 1);
  }

  *of(reader: Reader): Generator<Counted> {
    for (const counted of this.#counted.values()) if (sees(reader, counted.namespace)) yield counted;
  }

  #add({ namespace, kind, health, reason, severity }: Row, by: number): void {
    const name = `${namespace}\n${kind}\n${health}\n${reason}`;
    const known = this.#counted.get(name);
    const count = (known?.count ?? 0) + by;
    if (count === 0) this.#counted.delete(name);
    else if (known) known.count = count;
    else this.#counted.set(name, { namespace, kind, health, reason, severity, count });
  }
}
