/**
 * The roster of a fleet whose state was lost, or that is new: the uid of a replica follows from its name, so the marks of all
 * slots are known. They are searched among the services of the account.
 */
import type { wire } from '../../api/index.ts';
import { derivedUid } from '../../engine/plan/index.ts';
import type { Fleet } from '../../engine/index.ts';
import { objectKey, parseObjectKey, type ObjectKey } from '../../resources/index.ts';
import { containerService } from '../container-service/declaration.ts';
import { serviceMarks } from '../container-service/marks.ts';
import { childName } from './roster.ts';
import { slotsAtMost } from './schema.ts';
import type { ReplicaPlace, RosterEntry } from './state.ts';

export function foundRoster(
  { owner, store }: Pick<Fleet, 'owner' | 'store'>,
  fleet: ObjectKey,
  services: Iterable<wire.Service>,
  place: ReplicaPlace,
  nowMs: number,
): RosterEntry[] {
  const marked = new Set([...services].flatMap((service) => serviceMarks.of(service)));
  if (marked.size === 0) return [];
  const { namespace, name } = parseObjectKey(fleet);
  const slots = Array.from({ length: slotsAtMost }, (_, slot) => slot);
  return slots
    .filter((slot) => {
      const key = objectKey(containerService.name, namespace, childName(name, slot));
      return marked.has(serviceMarks.own({ owner, record: { uid: derivedUid(store.ownerName, key) } }));
    })
    .map((slot) => ({ slot, phase: 'wanted', since: nowMs, place }));
}
