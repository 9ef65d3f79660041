/** Objects that an admission concerns although their records did not change. */
import { canonicalId } from '../../base/index.ts';
import { adoptersOf, type DesiredSnapshot } from '../../desired/index.ts';
import { parseObjectKey, type ObjectKey } from '../../resources/index.ts';
import type { SourceView } from '../fleet/fleet.ts';

type View = Pick<SourceView, 'snapshot' | 'lingering'>;

/** `changed`: the objects in which the snapshots differ. */
export function alsoConcerned(now: View, before: View, changed: ReadonlySet<ObjectKey> | 'all'): ObjectKey[] {
  const unusable = [now.snapshot, before.snapshot].map((snapshot) => snapshot.unusable);
  const examined = changed === 'all' ? unusable.flatMap((each) => [...each.keys()]) : [...changed];
  const isOrWasUnusable = (key: ObjectKey) => unusable.some((each) => each.has(key));
  return [
    ...new Set([...now.lingering.keys(), ...before.lingering.keys()]),
    ...(changed === 'all' ? [] : [...changed].flatMap((key) => related(key, now.snapshot, before.snapshot))),
    ...examined.filter(isOrWasUnusable),
  ];
}

function related(key: ObjectKey, now: DesiredSnapshot, before: DesiredSnapshot): ObjectKey[] {
  return [...ownedOrOwner(key, now, before), ...otherAdopters(key, now, before)];
}

/** What its owner allows may have changed, and nothing else of it. In a cluster, its owner sees that it is there, edited or gone. */
function ownedOrOwner(key: ObjectKey, now: DesiredSnapshot, before: DesiredSnapshot): ObjectKey[] {
  const derived = now.objects.get(key)?.derived;
  const owner = (derived ?? before.objects.get(key)?.derived)?.owner;
  return [...(derived ? [key] : []), ...(now.cluster && owner !== undefined ? [owner] : [])];
}

/** Which of the documents that adopt one thing comes first may have changed (adopters.ts). */
function otherAdopters(key: ObjectKey, now: DesiredSnapshot, before: DesiredSnapshot): ObjectKey[] {
  const ids = [now, before].flatMap(({ objects }) => {
    const spec = objects.get(key)?.spec;
    return spec && 'adopt' in spec && spec.adopt ? [canonicalId(spec.adopt.id)] : [];
  });
  const { kind } = parseObjectKey(key);
  return ids.flatMap((id) => adoptersOf(now.objects, kind, id).map((other) => other.key));
}
