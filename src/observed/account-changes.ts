/** What differs between two reads of an account. Pure. */
import type { AccountSnapshot } from './account-informer.ts';
import { differingIds, differingInList, listHasLost } from './listing.ts';

/** Whether something is missing that the read before had. */
export function hasVanished(before: AccountSnapshot, after: AccountSnapshot): boolean {
  return (
    (['services', 'volumes'] as const).some(
      (kind) => before[kind] !== after[kind] && [...before[kind].keys()].some((id) => !after[kind].has(id)),
    ) ||
    listHasLost(before.templates, after.templates) ||
    listHasLost(before.registries, after.registries)
  );
}

/** Ids that are new, gone or different. */
export function changedIds(before: AccountSnapshot | undefined, after: AccountSnapshot): Set<string> {
  return new Set([
    ...differingIds(before?.services, after.services),
    ...differingIds(before?.volumes, after.volumes),
    ...differingInList(before?.templates, after.templates),
    ...differingInList(before?.registries, after.registries),
  ]);
}
