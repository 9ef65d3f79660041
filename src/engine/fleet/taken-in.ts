import type { DesiredSnapshot } from '../../desired/index.ts';
import type { ObjectRecord } from '../../state/index.ts';

/** Whether its document is known. The store of a cluster takes in an object before its snapshot is published. */
export function isTakenIn({ key, manifest }: ObjectRecord, { objects }: DesiredSnapshot): boolean {
  return objects.has(key) || Object.keys(manifest.spec).length > 0;
}
