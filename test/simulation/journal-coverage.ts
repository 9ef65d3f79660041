/**
 * Which kinds of faults have met which states of the journal. A fault of a request meets the state of the object that it is for; a read of
 * the whole account, and a fault of a process, of the place or of people, those of all objects.
 */
import type { ObjectKey } from '../../src/resources/index.ts';
import { intentOutcomes, type IntentOutcome } from '../../src/state/index.ts';
import type { FaultKind } from './faults.ts';
import { faultsOf, type PlaceName } from './script.ts';
import type { DurableState } from './state.ts';
import { idIn, type Exchange } from './watch.ts';

/** Of an object: the outcome of its newest intent, or that it has none. */
type JournalState = 'none' | IntentOutcome;
/** What is outdated is sent again in the same pass: hardly a fault can meet it. */
const journalStates: readonly JournalState[] = [
  'none',
  ...intentOutcomes.filter((outcome) => outcome !== 'outdated'),
];

/**
 * Those that a fault can meet, where not all. What may be refused for want of something has just been written down, or is sent again, as a
 * creation is when it is delayed; what it makes may appear when its outcome has been settled.
 */
const statesMet: Partial<Record<FaultKind, readonly JournalState[]>> = {
  scarce: ['pending', 'unknown'],
  'late-creation': ['pending'],
  'shown-late': ['pending', 'applied', 'unknown', 'not-applied'],
};

/** All that there can be in a place. */
export function possiblePairs(place: PlaceName): string[] {
  return faultsOf(place).flatMap((kind) =>
    (statesMet[kind] ?? journalStates).map((state) => pairOf(kind, state)),
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
