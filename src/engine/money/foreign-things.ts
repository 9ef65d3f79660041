import type { AccountSnapshot } from '../../observed/index.ts';
import type { AnyKind, Kinds } from '../kind.ts';
import type { Owner } from '../plan/index.ts';

/**
 * The thing carries marks, and all are of other owners. A volume that belongs to a service follows that. Marks of a kind that are
 * short don't show their owner.
 */
export function isForeign(id: string, snapshot: AccountSnapshot, kinds: Kinds, { id: ours }: Owner): boolean {
  const volume = snapshot.volumes.get(id);
  const carrier = volume?.mode === 'attached' && volume.serviceId ? volume.serviceId : id;
  return Object.values<AnyKind>(kinds).some(({ remote }) => {
    const listing = remote?.listing(snapshot);
    const item = listing?.kind === 'read' ? listing.items.get(carrier) : undefined;
    if (!remote || item === undefined || remote.marks.isShort) return false;
    const owners = remote.marks.of(item).map((mark) => remote.marks.ownerIn(mark));
    return owners.length > 0 && !owners.includes(ours);
  });
}
