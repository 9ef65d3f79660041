/**
 * Owners whose state was lost. Their first pass finds again what they own, and a preview records that in its copy of the state.
 * So what they own has passes, and only the pass of the owner after the last of these shows what is to be changed.
 */
import type { PassResult } from '../../engine/index.ts';
import type { Difference } from '../../engine/plan/index.ts';
import type { Manager } from '../../manager/index.ts';
import type { ObjectKey } from '../../resources/index.ts';
import type { StateStore } from '../../state/index.ts';

export class Recalled {
  readonly #store: Pick<StateStore, 'record'>;
  readonly #manager: () => Pick<Manager, 'recheck' | 'snapshot'>;
  readonly #onFound: (snapshot: Manager['snapshot']) => void;
  /** With what differed when they were found. */
  readonly #owners = new Map<ObjectKey, readonly Difference[]>();

  /** `onFound`: there are more records than before. */
  constructor(
    store: Pick<StateStore, 'record'>,
    manager: () => Pick<Manager, 'recheck' | 'snapshot'>,
    onFound: (snapshot: Manager['snapshot']) => void,
  ) {
    this.#store = store;
    this.#manager = manager;
    this.#onFound = onFound;
  }

  /** Whether the pass only found again what is there: the next one counts. */
  takes(key: ObjectKey, { plan }: PassResult): boolean {
    if (plan.kind !== 'arrange' || !plan.recalls) return false;
    const noted = plan.differences.length > 0 ? plan.differences : this.#owners.get(key);
    this.#owners.set(key, noted ?? []);
    this.#onFound(this.#manager().snapshot);
    return true;
  }

  /** The owner of this object, if it is planned again because of this object's pass. */
  ownersOf(key: ObjectKey): ObjectKey[] {
    const owner = this.#store.record(key)?.derived?.owner;
    if (owner === undefined || !this.#owners.has(owner)) return [];
    this.#manager().recheck(owner);
    return [owner];
  }

  /** The same plan, with the notes on what differed when it was found. */
  noted(key: ObjectKey, result: PassResult): PassResult {
    const { plan } = result;
    const found = this.#owners.get(key);
    if (!found || plan.kind !== 'arrange') return result;
    const differences = plan.differences.map((difference) => {
      const { from } = found.find(({ path }) => path === difference.path) ?? {};
      return from === undefined ? difference : { ...difference, from };
    });
    return { ...result, plan: { ...plan, differences } };
  }
}
