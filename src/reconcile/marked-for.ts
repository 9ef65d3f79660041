import type { AccountSnapshot } from '../observed/index.ts';
import type { ObjectKey } from '../resources/index.ts';
import type { AccountHandle } from './accounts.ts';
import type { Fleet } from './fleet.ts';
import { recordsNear } from './members.ts';
import { serviceMarks, templateMarks, volumeMarks } from './observe.ts';

/** The objects whose mark a thing carries, as one of the snapshots shows it: what appears or goes beside them is theirs to report. */
export function markedFor(
  fleet: Pick<Fleet, 'store' | 'owner'>,
  account: AccountHandle,
  snapshot: AccountSnapshot,
  id: string,
): ObjectKey[] {
  const snapshots = [snapshot, account.informer.previous];
  return snapshots.flatMap((each) => (each ? holdersOf(fleet, account, each, id) : []));
}

function holdersOf(
  { store, owner }: Pick<Fleet, 'store' | 'owner'>,
  account: AccountHandle,
  snapshot: AccountSnapshot,
  id: string,
): ObjectKey[] {
  const service = snapshot.services.get(id);
  const volume = snapshot.volumes.get(id);
  const template = snapshot.templates.kind === 'read' ? snapshot.templates.items.get(id) : undefined;
  const carried = service
    ? { kind: 'ContainerService', kindMarks: serviceMarks, marks: serviceMarks.of(service) }
    : volume
      ? { kind: 'StorageVolume', kindMarks: volumeMarks, marks: volumeMarks.of(volume) }
      : template && { kind: 'ServiceTemplate', kindMarks: templateMarks, marks: templateMarks.of(template) };
  if (!carried || carried.marks.length === 0) return [];
  const { kind, kindMarks, marks } = carried;
  const ofKind = recordsNear(store, account).filter(({ key }) => key.startsWith(`${kind}/`));
  return ofKind.filter((record) => marks.includes(kindMarks.own({ owner, record }))).map(({ key }) => key);
}
