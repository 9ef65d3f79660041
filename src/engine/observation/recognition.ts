/**
 * Recognizes an object's thing at the provider, with the functions of its kind (kind.ts), in the ways that
 * observe.ts describes. Everything is a function of a view and an account read.
 */
import type { wire } from '../../api/index.ts';
import { canonicalId } from '../../base/index.ts';
import type { AccountSnapshot } from '../../observed/index.ts';
import { describedDuplicate, unusableReason, type DescribedDuplicate } from '../plan/index.ts';
import type { CommonSpec } from '../../resources/index.ts';
import type { AnyRemote, RemoteThings, View } from '../kind.ts';
import { duplicatesOf, identify, type Observed } from './observe.ts';
import { itemsOf } from '../fleet/references.ts';

export type AnyView = View<CommonSpec, AnyRemote, unknown>;
export type AnyThings = RemoteThings<CommonSpec, AnyRemote, unknown>;

/** The things of the kind that an account read shows. Empty if they were not read. */
export function shown(things: AnyThings, snapshot: AccountSnapshot): ReadonlyMap<string, AnyRemote> {
  return itemsOf(things.listing(snapshot));
}

/** The things that may be the object's. */
function candidates(things: AnyThings, view: AnyView, snapshot: AccountSnapshot) {
  const items = shown(things, snapshot);
  return things.candidates?.(items, view.seen.account) ?? items;
}

/** `madeId`: an operator has named this as the thing that was made for the object. */
export function recognize(
  things: AnyThings,
  view: AnyView,
  snapshot: AccountSnapshot,
  madeId?: string,
): Observed<AnyRemote> {
  const listing = things.listing(snapshot);
  if (listing.kind !== 'read') {
    const message = listing.kind === 'failed' ? listing.message : 'waiting for the list to be read';
    return { observation: { kind: 'pending', message }, found: undefined, byMark: false };
  }
  const items = candidates(things, view, snapshot);
  if (things.identify) return things.identify(view, items, madeId);
  return identify(view.fleet.identity(view.record, madeId, view.seen.account), items, things.marks);
}

/** A thing in the account may be this object's without showing it. Then its absence is not concluded. */
export function mayBeHidden(things: AnyThings, view: AnyView, snapshot: AccountSnapshot): string | undefined {
  const { externalId } = view.record;
  const entry = unidentified(things, snapshot).find(
    (one) => externalId !== undefined || things.couldBe(one, view),
  );
  const problem = entry?.unreadable?.[0];
  if (problem) {
    const { field, expected, found } = problem;
    return `the account shows an entry that can't be identified (${field}: expected ${expected}, found ${found}), and it may be this object's; nothing is concluded until it can be identified`;
  }
  if (externalId !== undefined) return undefined;
  const unusable = unusableIn(shown(things, snapshot)).find(
    (value) => view.store.recordOf(value.id) === undefined && things.couldBe(value, view),
  );
  const reason = unusable && unusableReason(unusable);
  return reason && `${reason}; it may be this object's`;
}

const unusableThings = new WeakMap<ReadonlyMap<string, AnyRemote>, readonly AnyRemote[]>();

/** Found out once for a read: each object that is to be created asks. */
function unusableIn(items: ReadonlyMap<string, AnyRemote>): readonly AnyRemote[] {
  const known = unusableThings.get(items);
  if (known) return known;
  const found = [...items.values()].filter((value) => unusableReason(value) !== undefined);
  unusableThings.set(items, found);
  return found;
}

function unidentified(things: AnyThings, snapshot: AccountSnapshot): readonly wire.Unidentified<AnyRemote>[] {
  const listing = things.listing(snapshot);
  return listing.kind === 'read' ? (listing.unidentified ?? []) : [];
}

/**
 * Whether the mark was made with this state's digest key. The owner's name alone may belong to another fleet,
 * too.
 */
export function isMadeHere(things: AnyThings, view: AnyView, value: AnyRemote): boolean {
  return (
    view.store.ownerConfirmed || things.marks.byKey(value, { owner: view.fleet.owner, record: view.record })
  );
}

/** Whether unsigned bookkeeping is proven: by the thing, by the document, or by an operator. */
export function isProven(view: AnyView, { observation, isMarked }: Observed<AnyRemote>): boolean {
  const { fleet, record, store, seen } = view;
  if (seen.account && fleet.acceptsBookkeeping(record, seen.account)) return true;
  if (observation.kind !== 'present') return false;
  const { id } = observation.value;
  const isAdopted = fleet.identity(record).adoptId === id;
  const others = () => store.recordsWithId(id).some(({ key }) => key !== record.key);
  return isMarked === true || (isAdopted && !others());
}

/** Other things that carry the object's mark. While a creation is unresolved, one of them may be what it made. */
export function duplicates(things: AnyThings, view: AnyView): readonly DescribedDuplicate[] {
  const { record, fleet, seen } = view;
  const snapshot = seen.account?.informer.current;
  if (!snapshot || record.externalId === undefined) return [];
  const identity = fleet.identity(record);
  if (identity.awaits) return [];
  const found = duplicatesOf(identity, candidates(things, view, snapshot), things.marks);
  return found.map((item) => describedDuplicate(item, identity.owner.id));
}

/** Ids of things that belong to no object, and may carry the object's mark without showing it. */
export function unmarked(things: AnyThings, view: AnyView, snapshot: AccountSnapshot): readonly string[] {
  const mayBeItsOwn = (value: AnyRemote) => things.isNamedLike?.(value, view) ?? true;
  return hidingIn(things, shown(things, snapshot))
    .filter((value) => mayBeItsOwn(value) && view.store.recordOf(value.id) === undefined)
    .map(({ id }) => id);
}

const hidingThings = new WeakMap<ReadonlyMap<string, AnyRemote>, readonly AnyRemote[]>();

/** Found out once for a read: each creation asks. */
function hidingIn(things: AnyThings, items: ReadonlyMap<string, AnyRemote>): readonly AnyRemote[] {
  const known = hidingThings.get(items);
  if (known) return known;
  const found = [...items.values()].filter((value) => things.hidesMarks(value));
  hidingThings.set(items, found);
  return found;
}

/** Whether a snapshot shows a thing with this id but without the object's mark. */
export function showsOther(things: AnyThings, view: AnyView, id: string, snapshot: AccountSnapshot): boolean {
  const value = shown(things, snapshot).get(canonicalId(id));
  return value !== undefined && !things.marks.byKey(value, { owner: view.fleet.owner, record: view.record });
}

/** Why the thing with this id can't be what a creation for the object made. Undefined if it can. */
export function refutation(things: AnyThings, view: AnyView, id: string): string | undefined {
  const { snapshot } = view.seen;
  if (!snapshot) return 'the account has not been read yet';
  const { observation } = recognize(things, view, snapshot, id);
  if (observation.kind === 'conflict') return observation.message;
  if (observation.kind !== 'present' || observation.value.id !== canonicalId(id))
    return `there is nothing with the id ${id} in the account`;
  return things.refutes?.(observation.value, view);
}
