import type { AccountSnapshot } from '../../observed/index.ts';
import { parseObjectKey, type ObjectKey } from '../../resources/index.ts';
import type { ObjectRecord } from '../../state/index.ts';
import type { AccountHandle } from '../accounts.ts';
import type { Fleet } from '../fleet/fleet.ts';
import type { Members } from '../fleet/members.ts';
import type { Kinds } from '../kind.ts';
import type { QueueLane } from '../workqueue.ts';
import { markedFor } from './marked-for.ts';
import { shown } from './recognition.ts';

interface Context {
  readonly kinds: Kinds;
  readonly fleet: Fleet;
  readonly members: Members;
}

type Recheck = readonly [ObjectKey, QueueLane];

/** The objects to check again because a read of the account shows another thing with that id than the read before, or none. */
export function concernedBy(
  id: string,
  account: AccountHandle,
  snapshot: AccountSnapshot,
  { kinds, fleet, members }: Context,
): Recheck[] {
  const record = fleet.store.recordOf(id);
  const others = record ? members.dependentsOf(record.key) : markedFor(kinds, fleet, account, snapshot, id);
  const rechecks = others.map((key): Recheck => [key, 'resync']);
  if (!record) return rechecks;
  return [[record.key, hasMoved(kinds, record, snapshot) ? 'moved' : 'resync'], ...rechecks];
}

/** All of these, by the first read of their account. Workers take keys as they come, so what has moved comes first. */
export function movedFirst(
  keys: readonly ObjectKey[],
  snapshot: AccountSnapshot,
  { kinds, fleet }: Omit<Context, 'members'>,
): Recheck[] {
  const moved = new Set(
    keys.filter((key) => {
      const record = fleet.store.record(key);
      return record !== undefined && hasMoved(kinds, record, snapshot);
    }),
  );
  const rest = keys.filter((key) => !moved.has(key));
  return [
    ...Array.from(moved, (key): Recheck => [key, 'moved']),
    ...rest.map((key): Recheck => [key, 'resync']),
  ];
}

/** Its thing has another revision or state than the last pass saw, or is gone. After a start, most have not. */
function hasMoved(kinds: Kinds, { key, externalId, seen }: ObjectRecord, snapshot: AccountSnapshot): boolean {
  const { remote } = kinds[parseObjectKey(key).kind];
  if (!remote || externalId === undefined || seen?.id !== externalId) return false;
  if (remote.listing(snapshot).kind !== 'read') return false;
  const thing = shown(remote, snapshot).get(externalId);
  return !thing || thing.revision !== seen.revision || thing.state !== seen.state;
}
