import type { DesiredSnapshot } from '../../desired/index.ts';
import type { ObjectRecord } from '../../state/index.ts';

/** Whether its document is known. The store of a cluster takes in an object before its snapshot is published. */
export function isTakenIn(record: ObjectRecord, snapshot: DesiredSnapshot): boolean {
  return knownSpec(record, snapshot) !== undefined;
}

/**
 * The spec of the document, or the stored one of a removed object. Undefined if none was ever taken in: an object of a
 * cluster whose document is not read yet after a restart, was gone before that, or never could be used.
 */
export function knownSpec(
  { key, manifest }: ObjectRecord,
  snapshot: Pick<DesiredSnapshot, 'objects'> | undefined,
): object | undefined {
  const spec = snapshot?.objects.get(key)?.spec;
  if (spec) return spec;
  return Object.keys(manifest.spec).length > 0 ? manifest.spec : undefined;
}
