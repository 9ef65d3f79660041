/**
 * The roster of a fleet whose state was lost, or that is new: the uid of a replica follows from its name, so the marks of all
 * slots are known. They are searched among the services of all accounts of its candidates.
 */
import type { wire } from '../../api/index.ts';
import { invariant } from '../../base/index.ts';
import { derivedUid, isSameRegion } from '../../engine/plan/index.ts';
import type { Fleet } from '../../engine/index.ts';
import { objectKey, parseObjectKey, type ObjectKey } from '../../resources/index.ts';
import { containerService } from '../container-service/declaration.ts';
import { serviceMarks } from '../container-service/marks.ts';
import { isServiceOwned } from '../storage-volume/held.ts';
import type { Candidate } from './candidates.ts';
import { childName } from './roster.ts';
import { slotsAtMost } from './schema.ts';
import type { RosterEntry } from './state.ts';

interface Contents {
  readonly services: Iterable<wire.Service>;
  readonly volumes: Iterable<wire.Volume>;
}

interface Found extends Pick<Contents, 'volumes'> {
  readonly account: string;
  readonly service: wire.Service;
}

/** `contents`: by account, as candidates name it. */
export function foundRoster(
  { owner, store }: Pick<Fleet, 'owner' | 'store'>,
  fleet: ObjectKey,
  contents: ReadonlyMap<string, Contents>,
  candidates: readonly Candidate[],
  nowMs: number,
): RosterEntry[] {
  const byMark = new Map(
    [...contents].flatMap(([account, { services, volumes }]) =>
      [...services].flatMap((service) =>
        serviceMarks.of(service).map((mark) => [mark, { account, volumes, service }] as const),
      ),
    ),
  );
  if (byMark.size === 0) return [];
  const { namespace, name } = parseObjectKey(fleet);
  return Array.from({ length: slotsAtMost }, (_, slot) => slot).flatMap((slot): RosterEntry[] => {
    const key = objectKey(containerService.name, namespace, childName(name, slot));
    const record = { uid: derivedUid(store.ownerName, key) };
    const found = byMark.get(serviceMarks.own({ owner, record }));
    return found ? [{ slot, phase: 'wanted', since: nowMs, ...placeShown(found, candidates) }] : [];
  });
}

/**
/**
 * The place of the first candidate with its account, region and geography. The API may show a geography in another form, so that
 * one counts only if it is the name of one. Storage of its own was asked for with `storage.scratch`, whatever the document asks
 * for by now.
 */
function placeShown(
  { account, volumes, service }: Found,
  candidates: readonly Candidate[],
): Pick<RosterEntry, 'place' | 'candidate'> {
  const { region, geography, id, volumeId } = service;
  const there = candidates.filter(
    ({ place }) => place.account === account && (!region || isSameRegion(region, place.region)),
  );
  const candidate = there.find((each) => each.place.geography === geography) ?? there[0];
  const known = candidate ?? candidates[0];
  invariant(known, 'a fleet without candidates');
  const { volumeGb, ...place } = known.place;
  const volume = [...volumes].find((each) => each.id === volumeId || each.serviceId === id);
  const ownGb =
    volume && isServiceOwned(volume) ? (volume.requestedSizeGb ?? volume.sizeGb ?? undefined) : undefined;
  const sizeGb = volume || volumeId === null ? ownGb : volumeGb;
  return {
    place: {
      ...place,
      ...(candidate ? {} : { account, region: region ?? place.region }),
      ...(sizeGb === undefined ? {} : { volumeGb: sizeGb }),
    },
    ...(candidate ? { candidate: candidate.name } : {}),
  };
}
