/**
 * Lists that are read beside the account, and only for fleets that have use for them: templates and registries are
 * not in the account read. A list that can't be read leaves the rest of the snapshot as it is; of what is in
 * the list, nothing is concluded then.
 */
import { describeOutcome, type Outcome, type wire } from '../api/index.ts';
import { sameValue, type SharedValues } from '../base/index.ts';

export type Listing<Item> =
  | { readonly kind: 'not-read' }
  | {
      readonly kind: 'failed';
      readonly message: string;
      readonly outcome: Exclude<Outcome<unknown>, { kind: 'applied' }>;
      /** Reads in a row that failed. */
      readonly failures: number;
      /** What it showed before that. */
      readonly last: ReadonlyMap<string, Item>;
    }
  | {
      readonly kind: 'read';
      readonly items: ReadonlyMap<string, Item>;
      /** Entries without an id that can be read: what is not among `items` may be one of them. */
      readonly unidentified?: readonly wire.Unidentified<Item>[];
    };

interface Identified {
  readonly id: string;
}

/** After so many failed reads in a row, what is in the list counts as changed: nobody knows it any more. */
const blindAfterReads = 3;
const nothing: ReadonlyMap<string, never> = new Map<string, never>();

/** `name`: what people call the list. `outcome` undefined: it was not asked for. */
export function nextListing<Item extends Identified>(
  name: string,
  previous: Listing<Item> | undefined,
  outcome: Outcome<wire.Shown<Item>> | undefined,
): Listing<Item> {
  if (!outcome) return { kind: 'not-read' };
  const last = lastShown(previous);
  if (outcome.kind === 'applied') {
    const { items, unidentified } = outcome.value;
    return { kind: 'read', items: keepUnchanged(items, last), unidentified };
  }
  const failures = previous?.kind === 'failed' ? previous.failures + 1 : 1;
  const message = `the ${name} of the account could not be read: ${describeOutcome(outcome)}`;
  return { kind: 'failed', message, outcome, failures, last };
}

/** Ids of what is new, gone or different, or of what nobody knows any more. */
export function differingInList<Item>(
  before: Listing<Item> | undefined,
  after: Listing<Item>,
): readonly string[] {
  const wasBlind = before?.kind === 'failed' && before.failures >= blindAfterReads;
  if (after.kind === 'read') return differingIds(wasBlind ? nothing : lastShown(before), after.items);
  return after.kind === 'failed' && after.failures === blindAfterReads ? [...after.last.keys()] : [];
}

/** Whether a list that could be read both times lacks something that it had. */
export function listHasLost(before: Listing<unknown>, after: Listing<unknown>): boolean {
  if (after.kind !== 'read') return false;
  return [...lastShown(before).keys()].some((id) => !after.items.has(id));
}

function lastShown<Item>(listing: Listing<Item> | undefined): ReadonlyMap<string, Item> {
  if (listing?.kind === 'failed') return listing.last;
  return listing?.kind === 'read' ? listing.items : nothing;
}

/** Which list a map was made from, for the list that comes again as it is (api/quiet-reads.ts). */
const madeOf = new WeakMap<ReadonlyMap<string, unknown>, readonly unknown[]>();

/**
 * An object that did not change stays the same one, so that "changed?" is a comparison of references. So does a list as a whole.
 * `shared`: new objects have equal texts and parts from there.
 */
export function keepUnchanged<Item extends Identified>(
  items: readonly Item[],
  previous: ReadonlyMap<string, Item> | undefined,
  shared?: SharedValues,
): ReadonlyMap<string, Item> {
  if (previous && madeOf.get(previous) === items) return previous;
  const kept = new Map(
    items.map((item) => {
      const before = previous?.get(item.id);
      if (before !== undefined && sameValue(before, item)) return [item.id, before];
      return [item.id, shared?.share(item) ?? item];
    }),
  );
  madeOf.set(kept, items);
  return kept;
}

/** Ids that are new, gone, or different. */
export function differingIds(
  before: ReadonlyMap<string, unknown> | undefined,
  after: ReadonlyMap<string, unknown>,
): string[] {
  if (before === after) return [];
  const gone = [...(before?.keys() ?? [])].filter((id) => !after.has(id));
  return [...[...after].filter(([id, item]) => before?.get(id) !== item).map(([id]) => id), ...gone];
}
