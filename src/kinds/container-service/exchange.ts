/** Services that are to have each other's volumes (engine/admission/exchanges.ts). */
import type { AccountSnapshot } from '../../observed/index.ts';
import type { Fleet } from '../../engine/index.ts';
import { parseObjectKey } from '../../resources/index.ts';
import type { ObjectRecord } from '../../state/index.ts';
import { namedVolumeOf } from './volume-object.ts';

/**
 * The other services that have to be deleted before `record` can be created anew with the volume that it names. Each
 * gets the volume of the next one, and the last one that of `record`. There are none if they can be replaced one
 * after the other: the service whose volume another one waits for is deleted first.
 */
export function exchangeOf(
  fleet: Fleet,
  record: ObjectRecord,
  { services, volumes }: AccountSnapshot,
): readonly ObjectRecord[] {
  const others: ObjectRecord[] = [];
  let last = record;
  // Each volume has one user, and each service names one volume: it is a round, or it ends.
  while (others.length <= services.size) {
    const wanted = volumeToMoveTo(fleet, last);
    if (wanted === undefined) return [];
    const user =
      volumes.get(wanted)?.serviceId ??
      [...services.values()].find(({ volumeId }) => volumeId === wanted)?.id;
    const next = user ? fleet.store.recordOf(user) : undefined;
    if (!next || parseObjectKey(next.key).kind !== 'ContainerService') return [];
    if (next.key === record.key) return others;
    others.push(next);
    last = next;
  }
  return [];
}

/** Of a service whose document names another volume than it has, and which is to be created anew for that. */
function volumeToMoveTo(fleet: Fleet, record: ObjectRecord): string | undefined {
  const { spec, deleting } = fleet.planned(record, 'ContainerService');
  if (spec.replacement !== 'Recreate' || deleting) return undefined;
  const volume = namedVolumeOf(fleet, record);
  const wanted = spec.storage?.volumeId ?? (typeof volume === 'object' ? volume.externalId : undefined);
  const isThere = wanted === undefined || record.applied['volumeId'] === fleet.owner.digestKey.digest(wanted);
  return isThere ? undefined : wanted;
}
