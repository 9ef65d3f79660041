/** What is observed of the volumes of a fleet's slots. */
import { objectKey, parseObjectKey, type ObjectKey } from '../../resources/index.ts';
import type { OwnerRevision } from '../../state/index.ts';
import { storageVolume } from '../storage-volume/declaration.ts';
import type { FleetView } from './look.ts';
import { accountOf } from './markets.ts';
import { volumeSizeOf, type PresentContent } from './revisions.ts';
import type { RosterEntry, VolumeEntry } from './state.ts';
import { volumeName, type FleetVolumes, type VolumeFacts } from './volumes.ts';

/**
 * `areFound`: they were found by their marks just now, so no object stands for them yet. `documentAt`: where a document has this name
 * that is not the fleet's own.
 */
export function volumesSeen(
  view: FleetView,
  volumes: readonly VolumeEntry[],
  roster: readonly RosterEntry[],
  areFound: boolean,
  documentAt: (key: ObjectKey) => string | undefined,
): FleetVolumes {
  const own = new Map(volumes.map((volume) => [volume.slot, volume]));
  const highest = Math.max(-1, ...own.keys(), ...roster.map(({ slot }) => slot));
  const last = highest + view.object.spec.maxReplicas + 1;
  const taken = new Map<number, string>();
  const leaving = new Set<number>();
  const withVolumes = view.object.spec.storage?.perReplica ? last : highest;
  for (let slot = 0; slot <= withVolumes; slot += 1) {
    const key = keyOf(view.key, slot);
    const place = documentAt(key);
    if (place !== undefined) taken.set(slot, place);
    else if (!own.has(slot) && view.store.record(key)) leaving.add(slot);
  }
  return {
    facts: new Map(volumes.map((volume) => [volume.slot, factsOf(view, volume, areFound)])),
    taken,
    leaving,
  };
}

function keyOf(fleet: ObjectKey, slot: number): ObjectKey {
  const { namespace, name } = parseObjectKey(fleet);
  return objectKey(storageVolume.name, namespace, volumeName(name, slot));
}

function factsOf(view: FleetView, { slot, account, sizeGb }: VolumeEntry, isFound: boolean): VolumeFacts {
  const { store, key: owner } = view;
  const key = keyOf(owner, slot);
  const record = store.record(key);
  const own = record?.derived?.owner === owner ? record : undefined;
  const intent = store.openIntent(key);
  const { externalId: id, creationInDoubt, report } = own ?? {};
  const shown = accountOf(view, account).handle?.informer.current?.volumes;
  const volume = id === undefined ? undefined : shown?.get(id);
  const { pending, ready } = report ?? {};
  const isLost = pending === undefined && ready?.reason === 'NotThere' && id !== undefined;
  const shownGb = volume?.requestedSizeGb ?? volume?.sizeGb ?? (isFound ? sizeGb : undefined);
  return {
    isMade: isFound || id !== undefined || creationInDoubt !== undefined || intent !== undefined,
    shownGb: intent === undefined ? shownGb : undefined,
    geography: volume?.geography ?? undefined,
    pending: isLost ? 'DataLost' : pending?.reason,
  };
}

/** A replica with this content has a volume that has not grown yet. */
export function isSmallerThan(
  volume: Pick<VolumeFacts, 'shownGb'> | undefined,
  revision: OwnerRevision | PresentContent | undefined,
): boolean {
  const asked = volumeSizeOf(revision);
  return volume?.shownGb !== undefined && asked !== undefined && volume.shownGb < asked;
}
