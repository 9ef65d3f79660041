import type { ObjectKey } from '../../resources/index.ts';

/** Volumes that are no object's own, by id: the service that uses them counts them with itself. */
export class Extras {
  readonly #members = new Map<string, ObjectKey>();
  readonly #moved = new Set<string>();

  /** The service counts these now, or is counted by other budgets. */
  put(member: ObjectKey, before: readonly string[], after: readonly string[]): void {
    for (const id of before) if (this.#members.get(id) === member) this.#members.delete(id);
    for (const id of after) this.#members.set(id, member);
    for (const id of [...before, ...after]) this.#moved.add(id);
  }

  memberWith(id: string): ObjectKey | undefined {
    return this.#members.get(id);
  }

  /** Ids that may count elsewhere since this was called last. */
  takeMoved(): ReadonlySet<string> {
    const moved = new Set(this.#moved);
    this.#moved.clear();
    return moved;
  }
}
