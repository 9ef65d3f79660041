/** The StorageVolume of a service. */
import type { wire } from '../../api/index.ts';
import type { Fleet } from '../../engine/index.ts';
import { objectKey, parseObjectKey } from '../../resources/index.ts';
import type { ObjectRecord } from '../../state/index.ts';

/** The one that the document of the service refers to. `dangling`: there is no such object. */
export function namedVolumeOf(fleet: Fleet, record: ObjectRecord): ObjectRecord | 'dangling' | undefined {
  const { store } = fleet;
  const { namespace } = parseObjectKey(record.key);
  const { storage } = fleet.planned(record, 'ContainerService').spec;
  if (storage?.volumeRef) {
    return store.record(objectKey('StorageVolume', namespace, storage.volumeRef.name)) ?? 'dangling';
  }
  return storage?.volumeId === undefined ? undefined : store.recordOf(storage.volumeId);
}

/** Those that are attached to a service whose document names no storage. Either of the two may show it (§2). */
export function attachedVolumesOf(
  { store }: Fleet,
  { id, volumeId }: wire.Service,
  volumes: ReadonlyMap<string, wire.Volume>,
): ObjectRecord[] {
  const attached = [...volumes.values()].filter(({ serviceId }) => serviceId === id).map((each) => each.id);
  const ids = new Set(volumeId ? [volumeId, ...attached] : attached);
  return [...ids].flatMap((each) => store.recordOf(each) ?? []);
}
