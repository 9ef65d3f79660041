/** The StorageVolume of a service. */
import type { wire } from '../../api/index.ts';
import type { Fleet } from '../../engine/index.ts';
import { objectKey, parseObjectKey } from '../../resources/index.ts';
import type { ObjectRecord } from '../../state/index.ts';

/** The one that the service refers to, or that stands for the volume attached to it. */
export function volumeOf(
  fleet: Fleet,
  record: ObjectRecord,
  service: wire.Service | undefined,
): ObjectRecord | 'dangling' | undefined {
  const { store } = fleet;
  const { namespace } = parseObjectKey(record.key);
  const { storage } = fleet.planned(record, 'ContainerService').spec;
  if (storage?.volumeRef) {
    return store.record(objectKey('StorageVolume', namespace, storage.volumeRef.name)) ?? 'dangling';
  }
  const id = storage?.volumeId ?? service?.volumeId ?? undefined;
  return id === undefined ? undefined : store.recordOf(id);
}
