import type { AccountSnapshot } from '../../observed/index.ts';
import type { ObjectKey } from '../../resources/index.ts';
import type { AccountHandle } from '../accounts.ts';
import type { Fleet } from '../fleet/fleet.ts';
import type { Kinds } from '../kind.ts';
import { recordsNear } from '../fleet/members.ts';
import { shown } from './recognition.ts';

/** The objects whose mark a thing carries, by one of the snapshots. They have to report changes of such things. */
export function markedFor(
  kinds: Kinds,
  fleet: Pick<Fleet, 'store' | 'owner'>,
  account: AccountHandle,
  snapshot: AccountSnapshot,
  id: string,
): ObjectKey[] {
  const snapshots = [snapshot, account.informer.previous];
  return snapshots.flatMap((each) => (each ? holdersOf(kinds, fleet, account, each, id) : []));
}

function holdersOf(
  kinds: Kinds,
  { store, owner }: Pick<Fleet, 'store' | 'owner'>,
  account: AccountHandle,
  snapshot: AccountSnapshot,
  id: string,
): ObjectKey[] {
  for (const { name, remote } of Object.values(kinds)) {
    const item = remote && shown(remote, snapshot).get(id);
    if (!remote || !item) continue;
    const marks = remote.marks.of(item);
    if (marks.length === 0) return [];
    const ofKind = recordsNear(store, account).filter(({ key }) => key.startsWith(`${name}/`));
    return ofKind
      .filter((record) => marks.includes(remote.marks.own({ owner, record })))
      .map(({ key }) => key);
  }
  return [];
}
