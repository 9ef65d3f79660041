/**
 * The roster of a fleet whose state was lost, or that is new: the uid of a replica follows from its name, so the marks of all
 * slots are known. They are searched among the services of the account.
 */
import type { wire } from '../../api/index.ts';
import { derivedUid, isSameRegion } from '../../engine/plan/index.ts';
import type { Fleet } from '../../engine/index.ts';
import { objectKey, parseObjectKey, type ObjectKey } from '../../resources/index.ts';
import { containerService } from '../container-service/declaration.ts';
import { serviceMarks } from '../container-service/marks.ts';
import { isServiceOwned } from '../storage-volume/held.ts';
import { childName } from './roster.ts';
import { slotsAtMost } from './schema.ts';
import type { ReplicaPlace, RosterEntry } from './state.ts';

interface Contents {
  readonly services: Iterable<wire.Service>;
  readonly volumes: Iterable<wire.Volume>;
}

export function foundRoster(
  { owner, store }: Pick<Fleet, 'owner' | 'store'>,
  fleet: ObjectKey,
  { services, volumes }: Contents,
  place: ReplicaPlace,
  nowMs: number,
): RosterEntry[] {
  const byMark = new Map(
    [...services].flatMap((service) => serviceMarks.of(service).map((mark) => [mark, service] as const)),
  );
  if (byMark.size === 0) return [];
  const { namespace, name } = parseObjectKey(fleet);
  return Array.from({ length: slotsAtMost }, (_, slot) => slot).flatMap((slot): RosterEntry[] => {
    const key = objectKey(containerService.name, namespace, childName(name, slot));
    const record = { uid: derivedUid(store.ownerName, key) };
    const service = byMark.get(serviceMarks.own({ owner, record }));
    return service
      ? [{ slot, phase: 'wanted', since: nowMs, place: placeShown(service, volumes, place) }]
      : [];
  });
}

/**
 * The place of the fleet, unless the service is shown in another region, or with other storage. The API may show a geography
 * in another form. Storage of its own was asked for with `storage.scratch`, whatever the document asks for by now.
 */
function placeShown(
  service: wire.Service,
  volumes: Iterable<wire.Volume>,
  { volumeGb, ...place }: ReplicaPlace,
): ReplicaPlace {
  const { region, id, volumeId } = service;
  const volume = [...volumes].find((each) => each.id === volumeId || each.serviceId === id);
  const ownGb =
    volume && isServiceOwned(volume) ? (volume.requestedSizeGb ?? volume.sizeGb ?? undefined) : undefined;
  const sizeGb = volume || volumeId === null ? ownGb : volumeGb;
  return {
    ...place,
    ...(region && !isSameRegion(region, place.region) ? { region } : {}),
    ...(sizeGb === undefined ? {} : { volumeGb: sizeGb }),
  };
}
