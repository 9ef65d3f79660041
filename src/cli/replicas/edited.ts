/** Whether the document of a fleet is the one that the manager knows. */
import type { Context } from '../context.ts';
import { observeOnce } from '../fleet-access.ts';
import type { FleetFlags } from '../options.ts';
import type { FoundFleet } from './fleets.ts';

/** In a folder. `none`: there is no usable document. */
export async function isEdited(
  context: Context,
  { key, record }: FoundFleet,
  flags: FleetFlags,
): Promise<'as known' | 'edited' | 'none'> {
  const { snapshot, store } = await observeOnce(context, flags);
  const document = snapshot.objects.get(key);
  if (!document) return 'none';
  return store.digestKey.digest(document.spec) === record.specDigest ? 'as known' : 'edited';
}
