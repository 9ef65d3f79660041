/** The numbers of a fleet as its planner sees them: what else has their names, and what carries their marks at the provider. */
import type { wire } from '../../api/index.ts';
import { placeText } from '../../desired/index.ts';
import { markIndex } from '../../engine/index.ts';
import { derivedUid } from '../../engine/plan/index.ts';
import { parseObjectKey, type ObjectKey } from '../../resources/index.ts';
import type { ObjectRecord } from '../../state/index.ts';
import { serviceMarks } from '../container-service/marks.ts';
import type { Candidate } from './candidates.ts';
import type { FleetInputs } from './inputs.ts';
import type { FleetView } from './look.ts';
import { accountOf } from './markets.ts';
import { replicaKey } from './roster.ts';
import type { RosterEntry } from './state.ts';
import type { ShownReplica } from './template.ts';

/** Where a document is that has the name of an object of the fleet. */
export function documentAt({ fleet, key: owner }: FleetView): (key: ObjectKey) => string | undefined {
  const { objects, unusable } = fleet.snapshot;
  return (key) => {
    const problem = unusable.get(key)?.[0];
    const document = objects.get(key);
    const location =
      problem ?? (document && document.derived?.owner !== owner ? document.location : undefined);
    return location && `${key} at ${placeText(location)}`;
  };
}

/** Slots whose names something else has, or had until it is gone: up to the first ones that are free. */
export function otherSlots(
  view: FleetView,
  roster: readonly RosterEntry[],
  candidates: readonly Candidate[],
): Pick<FleetInputs, 'taken' | 'leaving'> {
  const { key, object, fleet } = view;
  const placeOf = documentAt(view);
  const most = Math.max(-1, ...roster.map(({ slot }) => slot)) + object.spec.maxReplicas + 1;
  const taken = new Map<number, string>();
  const leaving = new Set<number>();
  const used = new Set(roster.map(({ slot }) => slot));
  const accounts = [...new Set(candidates.map(({ place }) => place.account))];
  // A document may have left it there under this name.
  const isAtProvider = (slot: number) =>
    accounts.some(
      (account) =>
        markedService(view, { slot, place: { account } }) !== undefined || isLeftAt(view, slot, account),
    );
  let free = 0;
  for (let slot = 0; slot <= most && free <= object.spec.replicas + used.size; slot += 1) {
    const name = replicaKey(key, slot);
    const place = placeOf(name);
    if (place !== undefined) taken.set(slot, place);
    else if (used.has(slot)) continue;
    else if (fleet.store.record(name) || isAtProvider(slot)) leaving.add(slot);
    else free += 1;
  }
  return { taken, leaving };
}

/**
 * A service of this owner has the name of the replica, and no object has the service. In a cluster it carries the uid of an object that is
 * gone, and so no mark of a replica. Two services of one name would be taken for each other.
 */
function isLeftAt(view: FleetView, slot: number, account: string): boolean {
  const services = accountOf(view, account).handle?.informer.current?.services;
  if (!services) return false;
  const { name } = parseObjectKey(replicaKey(view.key, slot));
  const { owner, store } = view.fleet;
  return (servicesByName(services).get(name) ?? []).some(
    (service) =>
      serviceMarks.of(service).some((mark) => serviceMarks.ownerIn(mark) === owner.id) &&
      store.recordsWithId(service.id).length === 0,
  );
}

/** Of an account read. */
const byName = new WeakMap<ReadonlyMap<string, wire.Service>, ReadonlyMap<string, wire.Service[]>>();

function servicesByName(services: ReadonlyMap<string, wire.Service>): ReadonlyMap<string, wire.Service[]> {
  const known = byName.get(services) ?? Map.groupBy(services.values(), ({ name }) => name ?? '');
  byName.set(services, known);
  return known;
}

/** The first of those that were found again. */
export function shownReplica(view: FleetView, roster: readonly RosterEntry[]): ShownReplica | undefined {
  for (const entry of roster) {
    const service = entry.revision === undefined ? markedService(view, entry) : undefined;
    if (service) return { service, place: entry.place };
  }
  return undefined;
}

/**
 * What carries the mark of a slot is there, and its object does not know it yet: it was found again a moment ago. Without that, a
 * replica that leaves at once would be taken for one that was never made.
 */
export function isShown(view: FleetView, entry: RosterEntry, record: ObjectRecord | undefined): boolean {
  return record?.externalId === undefined && markedService(view, entry, record) !== undefined;
}

function markedService(
  view: FleetView,
  { slot, place }: { readonly slot: number; readonly place: Pick<RosterEntry['place'], 'account'> },
  record?: ObjectRecord,
): wire.Service | undefined {
  const services = accountOf(view, place.account).handle?.informer.current?.services;
  if (!services) return undefined;
  const { owner, store } = view.fleet;
  const uid = derivedUid(store.ownerName, replicaKey(view.key, slot));
  const [service] =
    markIndex(services, serviceMarks).get(serviceMarks.own({ owner, record: record ?? { uid } })) ?? [];
  return service;
}
