/** What is left to be done for a fleet, by the words of its document. Its replicas are judged as services are (liveness.ts). */
import { parseObjectKey, type ObjectKey } from '../../src/resources/index.ts';
import type { Document } from './documents.ts';
import { fleetOf, replicaKey, rosterOf, volumeKey, volumesOf, wantedCount } from './fleets.ts';
import { marked } from './truth.ts';
import type { View } from './watch.ts';

/** No fleet of the simulation has as many. */
const highestSlot = 24;

/** Undefined: there are as many replicas as are wanted, and no others are left. */
export function fleetProblem(view: View, key: ObjectKey, { spec }: Document): string | undefined {
  const roster = rosterOf(view.disk, key);
  if (!roster) return 'nothing is known of its replicas';
  const leaving = roster.filter(({ phase }) => phase !== 'wanted');
  if (leaving.length > 0) return `replica ${leaving[0]?.slot} is ${leaving[0]?.phase}`;
  const want = wantedCount(spec, view.wallMs);
  if (roster.length !== want) return `${roster.length} replicas, and ${want} are wanted`;
  const left = leftBeside(view, key) ?? volumeBeside(view, key);
  return left && `${left} was made for it, and is in no roster`;
}

/** What carries the mark of a replica that is in no roster. What was to be kept may be. */
function leftBeside(view: View, key: ObjectKey): string | undefined {
  if (view.history(key).some(({ spec }) => spec.deletionPolicy === 'Retain')) return undefined;
  const used = new Set(rosterOf(view.disk, key)?.map(({ slot }) => slot));
  const free = Array.from({ length: highestSlot + 1 }, (_, slot) => slot).filter((slot) => !used.has(slot));
  return free
    .map((slot) => replicaKey(key, slot))
    .filter((replica) => view.history(replica).every(({ name }) => name !== parseObjectKey(replica).name))
    .flatMap((replica) => marked(view, replica, 'alive'))[0];
}

/** What carries the mark of a volume that the fleet does not have. What was to be kept may be. */
function volumeBeside(view: View, key: ObjectKey): string | undefined {
  const own = new Set(volumesOf(view.disk, key));
  return Array.from({ length: highestSlot + 1 }, (_, slot) => slot)
    .filter((slot) => !own.has(slot))
    .map((slot) => volumeKey(key, slot))
    .filter((volume) => view.history(volume).every(({ spec }) => spec.deletionPolicy === 'Delete'))
    .flatMap((volume) => marked(view, volume, 'alive'))[0];
}

/** The fleet of a replica, a volume or a fleet, and all that it owns: while one of them waits for people, the others may have to wait for it. */
export function siblingsOf(view: View, key: ObjectKey): ObjectKey[] {
  const fleet = parseObjectKey(key).kind === 'ServiceFleet' ? key : fleetOf(key);
  if (fleet === undefined) return [];
  const replicas = (rosterOf(view.disk, fleet) ?? []).map(({ slot }) => replicaKey(fleet, slot));
  return [fleet, ...replicas, ...volumesOf(view.disk, fleet).map((slot) => volumeKey(fleet, slot))];
}
