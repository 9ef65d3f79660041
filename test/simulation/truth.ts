/** What really exists at the provider, and whose mark it carries. */
import {
  compactUid,
  derivedUid,
  markedUid,
  ownerId,
  parseBeacon,
  readTemplateMark,
  readVolumeMark,
  volumeMark,
  volumeMarkId,
} from '../../src/engine/plan/index.ts';
import type { ObjectKey } from '../../src/resources/index.ts';
import { userKindOf } from './documents.ts';
import type { View } from './watch.ts';

/** Ids of what carries the mark of the object; what is being deleted is there until it is gone. */
export function marked({ plane, disk }: View, key: ObjectKey, how: 'alive' | 'any'): string[] {
  const { store } = plane;
  if (!store) return [];
  const owner = { id: ownerId(disk.owner.ownerName), digestKey: disk.owner.digestKey };
  const record = disk.record(key);
  const uid = record ? markedUid(record) : derivedUid(disk.owner.ownerName, key);
  switch (userKindOf(key)) {
    case 'ContainerService': {
      const isOurs = (names: readonly string[]) =>
        names.some((name) => {
          const beacon = parseBeacon(name);
          return beacon?.ownerId === owner.id && beacon.uid === compactUid(uid);
        });
      return [...store.services.all()]
        .filter(
          ({ state, environmentNames }) =>
            (how === 'any' || state !== 'deleting') && isOurs(environmentNames),
        )
        .map(({ id }) => id);
    }
    case 'StorageVolume': {
      const own = volumeMarkId(volumeMark(owner, uid));
      return [...store.volumes.all()]
        .filter(({ status }) => how === 'any' || status !== 'deleting')
        .filter(({ name }) => volumeMarkId(readVolumeMark(name) ?? '') === own)
        .map(({ id }) => id);
    }
    case 'ServiceTemplate':
      return [...store.templates.all()]
        .filter(({ description }) => readTemplateMark(description)?.uid === compactUid(uid))
        .map(({ id }) => id);
    case 'ImageRegistry':
    case 'ProtectedTask':
    case 'ServiceFleet':
    case undefined:
      return [];
  }
}
