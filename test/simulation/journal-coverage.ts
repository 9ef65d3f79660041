/**
 * Which kinds of faults have met which states of the journal. A fault of a request meets the state of the object that it is for; a read of
 * the whole account, and a fault of a process, of the place or of people, those of all objects.
 */
import type { ObjectKey } from '../../src/resources/index.ts';
import { intentOutcomes } from '../../src/state/index.ts';
import { faultsOf, type PlaceName } from './script.ts';
import type { DurableState } from './state.ts';
import { idIn, type Exchange } from './watch.ts';

/** Of an object: the outcome of its newest intent, or that it has none. */
const journalStates = ['none', ...intentOutcomes] as const;
type JournalState = (typeof journalStates)[number];

/** What may be refused for want of something has just been written down, or is sent again. */
const statesOfScarce: readonly JournalState[] = ['pending', 'unknown'];

/** All that there can be in a place. */
export function possiblePairs(place: PlaceName): string[] {
  return faultsOf(place).flatMap((kind) =>
    (kind === 'scarce' ? statesOfScarce : journalStates).map((state) => pairOf(kind, state)),
  );
}

function pairOf(kind: string, state: JournalState): string {
  return `${kind} × ${state}`;
}

export class JournalCoverage {
  readonly #journal: DurableState;
  readonly #pairs = new Set<string>();

  constructor(journal: DurableState) {
    this.#journal = journal;
  }

  get pairs(): ReadonlySet<string> {
    return this.#pairs;
  }

  hit(kind: string, exchange?: Exchange): void {
    const object = exchange && this.#objectOf(exchange);
    const objects = object === undefined ? this.#journal.records().map(({ key }) => key) : [object];
    for (const key of objects) this.#pairs.add(pairOf(kind, this.#stateOf(key)));
  }

  #stateOf(key: ObjectKey): JournalState {
    return this.#journal.intent(key)?.outcome ?? 'none';
  }

  #objectOf({ object, path }: Exchange): ObjectKey | undefined {
    if (object !== undefined) return object;
    const id = idIn(path);
    return id === undefined
      ? undefined
      : this.#journal.records().find(({ externalId }) => externalId === id)?.key;
  }
}
