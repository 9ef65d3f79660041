/**
 * The roster of a fleet whose state was lost, or that is new: the uid of a replica follows from its name, so the marks of all
 * slots are known. They are searched among the services of all accounts of its candidates. Volumes of slots are found, too,
 * by the marks in their names. One without a replica is a kept one.
 */
import type { wire } from '../../api/index.ts';
import { invariant } from '../../base/index.ts';
import { derivedUid, isSameRegion } from '../../engine/plan/index.ts';
import type { Fleet } from '../../engine/index.ts';
import {
  objectKey,
  parseObjectKey,
  type ContainerServiceSpec,
  type ManagedKind,
  type ObjectKey,
  type StorageVolumeSpec,
} from '../../resources/index.ts';
import { containerService } from '../container-service/declaration.ts';
import { serviceMarks } from '../container-service/marks.ts';
import { storageVolume } from '../storage-volume/declaration.ts';
import { isServiceOwned } from '../storage-volume/held.ts';
import { volumeMarks } from '../storage-volume/marks.ts';
import type { Candidate } from './candidates.ts';
import { childName } from './roster.ts';
import { slotsAtMost } from './schema.ts';
import type { RosterEntry, VolumeEntry } from './state.ts';
import { volumeName } from './volumes.ts';

export interface FoundAgain {
  readonly roster: RosterEntry[];
  readonly volumes: VolumeEntry[];
}

interface Contents {
  readonly services: Iterable<wire.Service>;
  readonly volumes: Iterable<wire.Volume>;
}

interface Found extends Pick<Contents, 'volumes'> {
  readonly account: string;
  readonly service: wire.Service;
}

interface FoundVolume {
  readonly account: string;
  readonly volume: wire.Volume;
}

/** `contents`: by account, as candidates name it. */
export function foundRoster(
  { owner, store }: Pick<Fleet, 'owner' | 'store'>,
  fleet: ObjectKey,
  contents: ReadonlyMap<string, Contents>,
  candidates: readonly Candidate[],
  nowMs: number,
): FoundAgain {
  const services = new Map<string, Found>();
  const volumes = new Map<string, FoundVolume>();
  for (const [account, content] of contents) {
    for (const service of content.services)
      for (const mark of serviceMarks.of(service))
        services.set(mark, { account, volumes: content.volumes, service });
    for (const volume of content.volumes)
      for (const mark of volumeMarks.of(volume)) volumes.set(mark, { account, volume });
  }
  const { namespace, name } = parseObjectKey(fleet);
  const recordOf = (kind: ManagedKind, own: string) => ({
    uid: derivedUid(store.ownerName, objectKey(kind, namespace, own)),
  });
  const slots =
    services.size + volumes.size === 0 ? [] : Array.from({ length: slotsAtMost }, (_, slot) => slot);
  const ofSlots = slots.map((slot) => {
    const replica = recordOf(containerService.name, childName(name, slot));
    const data = recordOf(storageVolume.name, volumeName(name, slot));
    return {
      slot,
      service: services.get(serviceMarks.own({ owner, record: replica })),
      volume: volumes.get(volumeMarks.own({ owner, record: data })),
    };
  });
  return {
    roster: ofSlots.flatMap(({ slot, service, volume }): RosterEntry[] =>
      service
        ? [{ slot, phase: 'wanted', since: nowMs, ...placeShown(service, volume?.volume, candidates) }]
        : [],
    ),
    volumes: ofSlots.flatMap(({ slot, volume }) => (volume ? [volumeShown(slot, volume, candidates)] : [])),
  };
}

/** Replicas and volumes of all numbers, whatever number the document wants. */
export function everyOwned(fleet: ObjectKey): ObjectKey[] {
  const { namespace, name } = parseObjectKey(fleet);
  return Array.from({ length: slotsAtMost }, (_, slot) => [
    objectKey(containerService.name, namespace, childName(name, slot)),
    objectKey(storageVolume.name, namespace, volumeName(name, slot)),
  ]).flat();
}

/** Of the least size, if nothing shows it: it is not made larger before its turn. The API has chosen its geography. */
function volumeShown(
  slot: number,
  { account, volume: { region, requestedSizeGb, sizeGb } }: FoundVolume,
  candidates: readonly Candidate[],
): VolumeEntry {
  const there = candidates.find(
    ({ place }) => place.account === account && (!region || isSameRegion(region, place.region)),
  );
  const own = there?.place.region ?? region ?? candidates[0]?.place.region ?? '';
  return { slot, account, region: own, sizeGb: requestedSizeGb ?? sizeGb ?? leastGb };
}

const leastGb = 10;

/**
 * In a cluster, the objects of the replicas are there with their places, whatever was lost of the status of their fleet. One that
 * is being deleted is left to end.
 */
export function foundInCluster(
  { snapshot }: Pick<Fleet, 'snapshot'>,
  fleet: ObjectKey,
  candidates: readonly Candidate[],
  nowMs: number,
): FoundAgain {
  const { namespace, name } = parseObjectKey(fleet);
  const ownSpec = (kind: ManagedKind, own: string) => {
    const object = snapshot.objects.get(objectKey(kind, namespace, own));
    const isOwn = object?.derived?.owner === fleet && object.cluster?.deletionRequestedAt === undefined;
    return isOwn ? object.spec : undefined;
  };
  const slots = Array.from({ length: slotsAtMost }, (_, slot) => slot);
  return {
    roster: slots.flatMap((slot): RosterEntry[] => {
      const spec = ownSpec(containerService.name, childName(name, slot));
      if (!spec) return [];
      return [{ slot, phase: 'wanted', since: nowMs, ...placeIn(spec as ContainerServiceSpec, candidates) }];
    }),
    volumes: slots.flatMap((slot): VolumeEntry[] => {
      const spec = ownSpec(storageVolume.name, volumeName(name, slot)) as StorageVolumeSpec | undefined;
      if (!spec) return [];
      const { accountRef, region, geography, sizeGb, deletionPolicy } = spec;
      const retired = deletionPolicy === 'Delete' ? { retired: true as const } : {};
      return [{ slot, account: accountRef.name, region, geography, sizeGb, ...retired }];
    }),
  };
}

function placeIn(
  { accountRef, region, geography, storage }: ContainerServiceSpec,
  candidates: readonly Candidate[],
): Pick<RosterEntry, 'place' | 'candidate'> {
  const account = accountRef.name;
  const candidate = candidates.find(
    ({ place }) => place.account === account && place.region === region && place.geography === geography,
  );
  const volume = storage?.volumeRef === undefined ? undefined : (true as const);
  const place = { ...candidate?.place, account, region, geography, volumeGb: storage?.volumeGb, volume };
  return { place, ...(candidate ? { candidate: candidate.name } : {}) };
}

/**
 * The place of the first candidate with its account, region and geography. The API may show a geography in another form, so that
 * one counts only if it is the name of one. Storage of its own was asked for with `storage.scratch`, whatever the document asks
 * for by now. `data`: the volume of its slot.
 */
function placeShown(
  { account, volumes, service }: Found,
  data: wire.Volume | undefined,
  candidates: readonly Candidate[],
): Pick<RosterEntry, 'place' | 'candidate'> {
  const { region, geography, id, volumeId } = service;
  const there = candidates.filter(
    ({ place }) => place.account === account && (!region || isSameRegion(region, place.region)),
  );
  const candidate = there.find((each) => each.place.geography === geography) ?? there[0];
  const known = candidate ?? candidates[0];
  invariant(known, 'a fleet without candidates');
  const { volumeGb, volume: _volume, ...place } = known.place;
  const attached = [...volumes].find((each) => each.id === volumeId || each.serviceId === id);
  const isShown = attached !== undefined || volumeId !== undefined;
  const hasData = data !== undefined && (isShown ? attached?.id === data.id : !data.serviceId);
  const ownGb =
    attached && isServiceOwned(attached)
      ? (attached.requestedSizeGb ?? attached.sizeGb ?? undefined)
      : undefined;
  const sizeGb = attached || volumeId === null ? ownGb : volumeGb;
  return {
    place: {
      ...place,
      ...(candidate ? {} : { account, region: region ?? place.region }),
      ...(hasData ? { volume: true } : sizeGb === undefined ? {} : { volumeGb: sizeGb }),
    },
    ...(candidate ? { candidate: candidate.name } : {}),
  };
}
