/**
 * The conditions of a fleet that is at rest are a few dozen different lists. Equal ones are kept once, not once for each object.
 * Bounded: in a fleet where all differ, nothing is saved and nothing lost.
 */
import type { Condition } from '../resources/index.ts';
import type { ObjectRecord, ObjectStatus } from './records.ts';

const mostLists = 2000;

export class SharedConditions {
  readonly #lists = new Map<string, readonly Condition[]>();

  /** The same record; its conditions may be the equal ones of another. */
  of(record: ObjectRecord): ObjectRecord {
    const { status } = record;
    if (!status) return record;
    const conditions = this.#shared(status.conditions);
    return conditions === status.conditions ? record : { ...record, status: { ...status, conditions } };
  }

  #shared(conditions: ObjectStatus['conditions']): ObjectStatus['conditions'] {
    const text = JSON.stringify(conditions);
    const known = this.#lists.get(text);
    if (known) return known;
    if (this.#lists.size >= mostLists) this.#lists.clear();
    this.#lists.set(text, conditions);
    return conditions;
  }
}
