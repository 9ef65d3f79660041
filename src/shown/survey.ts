/**
 * What an account holds, and who manages it. Pure. A thing is managed by the folder that was given, when that has
 * written down its id, adopts it, or made its mark; by another owner, when it carries any other mark; else by nobody,
 * as far as can be seen: what another folder adopted without its environment, and registries, carry no mark.
 */
import { canonicalId } from '../base/index.ts';
import type { DesiredSnapshot } from '../desired/index.ts';
import { derivedUid, ownerId } from '../engine/plan/index.ts';
import { kinds } from '../kinds/index.ts';
import type { AccountContents, AnyRemote, HeldThings, MarkHolder, Marks } from '../engine/index.ts';
import {
  managedKinds,
  objectKey,
  parseObjectKey,
  traitsOf,
  type ManagedKind,
  type ObjectKey,
} from '../resources/index.ts';
import { newRecord, type StateStore } from '../state/index.ts';

/** What is known of a fleet. */
export interface KnownFleet {
  readonly snapshot: Pick<DesiredSnapshot, 'objects'>;
  readonly store: Pick<StateStore, 'ownerName' | 'digestKey' | 'identityPin' | 'record' | 'records'>;
}

export type ManagedBy =
  | { readonly is: 'nobody' }
  | { readonly is: 'fleet'; readonly key: ObjectKey }
  /** It carries the mark of an object of this fleet that stands for something else. */
  | { readonly is: 'duplicate'; readonly key: ObjectKey }
  /** `isOurs`: of this fleet's name, and none of its objects stands for it; as what `deletionPolicy: Retain` has left. */
  | { readonly is: 'owner'; readonly owner: string; readonly isOurs: boolean };

export interface Holding {
  readonly kind: ManagedKind;
  readonly things: HeldThings<AnyRemote>;
  readonly id: string;
  /** As the provider shows it, mark included. */
  readonly name: string | undefined;
  readonly managedBy: ManagedBy;
  /** The owner in its mark, as the annotation `adopt-from` names it. */
  readonly markedBy: string | undefined;
  /** Which digest key its mark was made with: that of the fleet that was given, or another one. `hidden`: it has no mark, or one that does not show it. */
  readonly markKey: () => 'own' | 'other' | 'hidden';
  readonly value: AnyRemote;
}

const nobody: ManagedBy = { is: 'nobody' };

/** What is known of the fleet is gathered once, for all accounts. */
export function surveyor(fleet: KnownFleet | undefined): (contents: AccountContents) => Holding[] {
  const known = fleetKnowledge(fleet);
  return (contents) => survey(contents, known);
}

function survey(contents: AccountContents, known: FleetKnowledge): Holding[] {
  const holdings = managedKinds.flatMap((kind) => {
    const { list } = traitsOf(kind);
    const values: readonly AnyRemote[] = list === undefined ? [] : contents[list];
    return values.flatMap((value) => holdingOf(kind, value, known) ?? []);
  });
  const managersById = new Map(holdings.map(({ id, managedBy }) => [id, managedBy]));
  return holdings.map((holding) => withManagerOfWhole(holding, contents, managersById));
}

function holdingOf(kind: ManagedKind, value: AnyRemote, known: FleetKnowledge): Holding | undefined {
  const { remote } = kinds[kind];
  if (!remote?.held) return undefined;
  const { held: things, marks } = remote;
  const name = things.name(value);
  const { markedBy, managedBy } = managers(value, marks, known, (carried) => {
    const called = name === undefined ? undefined : (things.bestName?.(name) ?? name);
    return known.ownedBy(kind, called, (identity) => carried.includes(marks.own(identity)));
  });
  const isNamedSo = () =>
    name !== undefined &&
    known.mayBe(kind, things.bestName?.(name) ?? name).some((identity) => marks.byKey(value, identity));
  // A short mark does not show its owner.
  const isOurs = marks.isShort === true && managedBy.is === 'owner' && isNamedSo();
  return {
    kind,
    things,
    id: value.id,
    name,
    value,
    markedBy,
    markKey: () => {
      const ids = markedBy === undefined ? [] : marks.keyIds(value);
      if (ids.some((id) => id === known.keyId) || (markedBy !== undefined && isNamedSo())) return 'own';
      return ids.length > 0 ? 'other' : 'hidden';
    },
    managedBy: isOurs ? { ...managedBy, isOurs } : managedBy,
  };
}

/** Whether an object of this fleet has left it (`deletionPolicy: Retain`), as far as its state has that. */
export function leftBy(
  store: Pick<StateStore, 'ownerName' | 'digestKey' | 'leftUids'>,
): (holding: Holding) => boolean {
  const owner = { id: ownerId(store.ownerName), digestKey: store.digestKey };
  const uids = [...store.leftUids()];
  const marksOfKind = new Map<ManagedKind, ReadonlySet<string>>();
  return ({ kind, value }) => {
    const marks = kinds[kind].remote?.marks;
    if (!marks) return false;
    const left = marksOfKind.get(kind) ?? new Set(uids.map((uid) => marks.own({ owner, record: { uid } })));
    marksOfKind.set(kind, left);
    return marks.of(value).some((mark) => left.has(mark));
  };
}

/** The storage of a service is deleted with it, and is managed by whoever manages the service. */
function withManagerOfWhole(
  holding: Holding,
  contents: AccountContents,
  managersById: ReadonlyMap<string, ManagedBy>,
): Holding {
  const { things, value, managedBy } = holding;
  const whole = things.isPart?.(value) ? things.wholeOf?.(value, contents) : undefined;
  const manager = whole === undefined ? undefined : managersById.get(whole);
  return manager && managedBy.is === 'nobody' ? { ...holding, managedBy: manager } : holding;
}

interface FleetKnowledge {
  readonly ownerId: string | undefined;
  readonly byId: ReadonlyMap<string, ObjectKey>;
  readonly byMark: (mark: string) => ObjectKey | undefined;
  /** Objects that stand for something by its id. */
  readonly recordedElsewhere: ReadonlySet<ObjectKey>;
  readonly keyId: string | undefined;
  /** The objects, there or not, whose things are called so: the mark of a volume does not show its owner in any other way. */
  readonly mayBe: (kind: ManagedKind, name: string) => readonly MarkHolder[];
  /** What a declared object may own, recorded or not: the one with the mark, among those that are called so. `name`: undefined if it is not shown. */
  readonly ownedBy: (
    kind: ManagedKind,
    name: string | undefined,
    hasMark: (identity: MarkHolder) => boolean,
  ) => ObjectKey | undefined;
}

function fleetKnowledge(fleet: KnownFleet | undefined): FleetKnowledge {
  const byId = new Map<string, ObjectKey>();
  if (!fleet) return { ...nothingKnown, byId };
  const { store, snapshot } = fleet;
  for (const { key, spec } of snapshot.objects.values()) {
    if ('adopt' in spec && spec.adopt) byId.set(canonicalId(spec.adopt.id), key);
  }
  for (const { key, externalId } of store.records()) if (externalId !== undefined) byId.set(externalId, key);
  // The marks of all objects are computed for the first thing with a mark whose id is not known: usually never.
  let marks: ReadonlyMap<string, ObjectKey> | undefined;
  return {
    ownerId: ownerId(store.ownerName),
    byId,
    byMark: (mark) => (marks ??= marksOf(fleet)).get(mark),
    recordedElsewhere: new Set(byId.values()),
    keyId: store.digestKey.id,
    mayBe: holdersCalled(fleet),
    ownedBy: ownedCalled(fleet),
  };
}

const nothingKnown: Omit<FleetKnowledge, 'byId'> = {
  ownerId: undefined,
  byMark: () => undefined,
  recordedElsewhere: new Set(),
  keyId: undefined,
  mayBe: () => [],
  ownedBy: () => undefined,
};

function holdersCalled({ store, snapshot }: KnownFleet): FleetKnowledge['mayBe'] {
  const { ownerName, digestKey } = store;
  const owner = { id: ownerId(ownerName), digestKey };
  const keys = [...snapshot.objects.keys()];
  const namespaces = new Set(['default', ...keys.map((key) => parseObjectKey(key).namespace)]);
  return (kind, name) =>
    Array.from(namespaces, (namespace) => {
      const uid = derivedUid(ownerName, objectKey(kind, namespace, name));
      return { owner, record: { uid } };
    });
}

function ownedCalled({ store, snapshot }: KnownFleet): FleetKnowledge['ownedBy'] {
  const { ownerName, digestKey } = store;
  const owner = { id: ownerId(ownerName), digestKey };
  let owned: ReadonlyMap<string, readonly ObjectKey[]> | undefined;
  const everyOwned = () =>
    [...snapshot.objects.keys()].flatMap((key) => kinds[parseObjectKey(key).kind].mayOwn?.(key) ?? []);
  const calledSo = (kind: ManagedKind, name: string) => {
    owned ??= Map.groupBy(everyOwned(), (key) => nameOf(key));
    return owned.get(`${kind} ${name}`) ?? [];
  };
  return (kind, name, hasMark) => {
    const among =
      name === undefined
        ? everyOwned().filter((key) => parseObjectKey(key).kind === kind)
        : calledSo(kind, name);
    return among.find((key) => hasMark({ owner, record: { uid: derivedUid(ownerName, key) } }));
  };
}

function nameOf(key: ObjectKey): string {
  const { kind, name } = parseObjectKey(key);
  return `${kind} ${name}`;
}

function marksOf({ store, snapshot }: KnownFleet): ReadonlyMap<string, ObjectKey> {
  const owner = { id: ownerId(store.ownerName), digestKey: store.digestKey };
  const unrecorded = [...snapshot.objects.keys()].filter((key) => !store.record(key));
  const records = [
    ...store.records(),
    ...unrecorded.map((key) => newRecord(key, derivedUid(store.ownerName, key))),
  ];
  return new Map(
    records.flatMap((record) => {
      const own = kinds[parseObjectKey(record.key).kind].remote?.marks.own({ record, owner });
      return own === undefined ? [] : [[own, record.key] as const];
    }),
  );
}

function managers<Value extends { readonly id: string }>(
  value: Value,
  marks: Pick<Marks<Value>, 'of' | 'ownerIn' | 'isShort'>,
  { ownerId: ourId, byId, byMark, recordedElsewhere }: FleetKnowledge,
  ownedWith: (carried: readonly string[]) => ObjectKey | undefined,
): Pick<Holding, 'managedBy' | 'markedBy'> {
  const carried = marks.of(value);
  const [mark] = carried;
  const markedBy = mark === undefined ? undefined : marks.ownerIn(mark);
  const recorded = byId.get(value.id);
  if (recorded !== undefined) return { markedBy, managedBy: { is: 'fleet', key: recorded } };
  const marked = carried.map((one) => byMark(one)).find((found) => found);
  if (marked !== undefined) {
    return {
      markedBy,
      managedBy: { is: recordedElsewhere.has(marked) ? 'duplicate' : 'fleet', key: marked },
    };
  }
  if (markedBy === undefined) return { markedBy, managedBy: nobody };
  const owned = marks.isShort === true || markedBy === ourId ? ownedWith(carried) : undefined;
  if (owned !== undefined) return { markedBy, managedBy: { is: 'fleet', key: owned } };
  return { markedBy, managedBy: { is: 'owner', owner: markedBy, isOurs: markedBy === ourId } };
}
