/** Objects that an admission concerns although their records did not change. */
import type { DesiredSnapshot } from '../../desired/index.ts';
import type { ObjectKey } from '../../resources/index.ts';
import type { SourceView } from '../fleet/fleet.ts';

type View = Pick<SourceView, 'snapshot' | 'lingering'>;

/** `changed`: the objects in which the snapshots differ. */
export function alsoConcerned(now: View, before: View, changed: ReadonlySet<ObjectKey> | 'all'): ObjectKey[] {
  const unusable = [now.snapshot, before.snapshot].map((snapshot) => snapshot.unusable);
  const examined = changed === 'all' ? unusable.flatMap((each) => [...each.keys()]) : [...changed];
  const isOrWasUnusable = (key: ObjectKey) => unusable.some((each) => each.has(key));
  return [
    ...new Set([...now.lingering.keys(), ...before.lingering.keys()]),
    ...(changed === 'all'
      ? []
      : [...changed].flatMap((key) => ownedOrOwner(key, now.snapshot, before.snapshot))),
    ...examined.filter(isOrWasUnusable),
  ];
}

/** What its owner allows may have changed, and nothing else of it. In a cluster, its owner sees that it is there, edited or gone. */
function ownedOrOwner(key: ObjectKey, now: DesiredSnapshot, before: DesiredSnapshot): ObjectKey[] {
  const derived = now.objects.get(key)?.derived;
  const owner = (derived ?? before.objects.get(key)?.derived)?.owner;
  return [...(derived ? [key] : []), ...(now.cluster && owner !== undefined ? [owner] : [])];
}
