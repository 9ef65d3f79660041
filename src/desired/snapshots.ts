/** What is the same in two snapshots, and what is not. */
import { sameValue } from '../base/index.ts';
import type { ObjectKey } from '../resources/index.ts';
import type { DesiredSnapshot } from './source.ts';

/**
 * The objects of which one of the two says something else than the other; `all` when that is not known without a look at each (there is none
 * before, or it is of another source). An object that did not change is the same one in both.
 *
 * Nobody delivers what has changed: who takes a snapshot in compares it with the one that was taken in last. So no change is lost with a snapshot
 * that is passed over, overtaken, or could not be saved.
 */
export function changedKeys(
  now: DesiredSnapshot,
  before: DesiredSnapshot | undefined,
): ReadonlySet<ObjectKey> | 'all' {
  if (!before || (now.cluster === undefined) !== (before.cluster === undefined)) return 'all';
  const changed = new Set<ObjectKey>();
  const parts = [
    now.objects.changedSince(before.objects),
    now.unusable.changedSince(before.unusable),
    now.cluster && before.cluster ? now.cluster.changedSince(before.cluster) : [],
  ];
  for (const part of parts) {
    if (part === 'all') return 'all';
    for (const key of part) changed.add(key);
  }
  return changed;
}

/** The same snapshot as the next one after another of its source: what says the same is shared with that one. */
export function following(before: DesiredSnapshot, now: DesiredSnapshot): DesiredSnapshot {
  return {
    ...now,
    objects: before.objects.become(now.objects),
    unusable: before.unusable.become(now.unusable, sameValue),
    secrets: before.secrets.become(now.secrets),
    configMaps: before.configMaps.become(now.configMaps),
    ...(now.cluster && before.cluster ? { cluster: before.cluster.become(now.cluster) } : {}),
  };
}

/** Do both say the same, of which one follows the other? */
export function sameContent(left: DesiredSnapshot, right: DesiredSnapshot): boolean {
  return (
    left.complete === right.complete &&
    left.empty === right.empty &&
    left.objects === right.objects &&
    left.unusable === right.unusable &&
    left.secrets === right.secrets &&
    left.configMaps === right.configMaps &&
    left.cluster === right.cluster &&
    sameFiles(left, right) &&
    (left.problems === right.problems || sameValue(left.problems, right.problems))
  );
}

/** A comment that changes is news, too: whoever waits for a file to be finished has to know that it is not. */
function sameFiles({ files: left }: DesiredSnapshot, { files: right }: DesiredSnapshot): boolean {
  if (!left || !right || left.size !== right.size) return left === right;
  for (const [file, { digest, documentCount }] of left) {
    const other = right.get(file);
    if (other?.digest !== digest || other.documentCount !== documentCount) return false;
  }
  return true;
}
