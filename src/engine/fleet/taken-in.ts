import type { DesiredSnapshot } from '../../desired/index.ts';
import type { ObjectRecord } from '../../state/index.ts';

/** Whether its document is known: the store of a cluster sees an object before the snapshot with it is passed on. */
export function isTakenIn({ key, manifest }: ObjectRecord, { objects }: DesiredSnapshot): boolean {
  return objects.has(key) || Object.keys(manifest.spec).length > 0;
}
