/** Compares two snapshots. */
import { sameValue } from '../base/index.ts';
import type { ObjectKey } from '../resources/index.ts';
import { sameData } from './data-documents.ts';
import type { DesiredSnapshot } from './source.ts';

/**
 * The objects in which two snapshots differ. The result is `all` if only a loop over all objects could find that out: there is
 * no earlier snapshot, or it is of another source. An unchanged object is the same JavaScript object in both.
 *
 * No list of changes is passed along. Whoever takes in a snapshot compares it with the one that was taken in last. So no
 * change is lost if a snapshot is skipped, overtaken, or can't be saved.
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

/** The snapshot as the successor of `before`: what is equal is shared. */
export function following(before: DesiredSnapshot, now: DesiredSnapshot): DesiredSnapshot {
  return {
    ...now,
    objects: before.objects.become(now.objects),
    unusable: before.unusable.become(now.unusable, sameValue),
    secrets: before.secrets.become(now.secrets, sameData),
    configMaps: before.configMaps.become(now.configMaps),
    ...(now.cluster && before.cluster ? { cluster: before.cluster.become(now.cluster) } : {}),
  };
}

/** Whether absence proves anything in the namespace. */
export function isWholeIn(
  { complete, unread }: Pick<DesiredSnapshot, 'complete' | 'unread'>,
  namespace: string,
): boolean {
  return complete && unread?.has(namespace) !== true;
}

/** Whether two successive snapshots have the same content. */
export function sameContent(left: DesiredSnapshot, right: DesiredSnapshot): boolean {
  return (
    left.complete === right.complete &&
    left.unread === right.unread &&
    left.empty === right.empty &&
    left.objects === right.objects &&
    left.unusable === right.unusable &&
    left.secrets === right.secrets &&
    left.configMaps === right.configMaps &&
    left.cluster === right.cluster &&
    sameFiles(left, right) &&
    sameFolders(left, right) &&
    (left.problems === right.problems || sameValue(left.problems, right.problems))
  );
}

/** One that is gone, or empty, shows what became of the documents in it. */
export function sameFolders(
  { folders: left }: Pick<DesiredSnapshot, 'folders'>,
  { folders: right }: Pick<DesiredSnapshot, 'folders'>,
): boolean {
  if (!left || !right) return left === right;
  return left.size === right.size && [...left].every((folder) => right.has(folder));
}

/** A changed comment counts, too: it shows that a file is still being edited. */
function sameFiles({ files: left }: DesiredSnapshot, { files: right }: DesiredSnapshot): boolean {
  if (!left || !right || left.size !== right.size) return left === right;
  for (const [file, { digest, documentCount }] of left) {
    const other = right.get(file);
    if (other?.digest !== digest || other.documentCount !== documentCount) return false;
  }
  return true;
}
