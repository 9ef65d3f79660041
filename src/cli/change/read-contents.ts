/** What a manager has read of its accounts. */
import { isBuiltIn, itemsOf } from '../../engine/index.ts';
import type { Manager } from '../../manager/index.ts';
import { originOf } from '../../resources/index.ts';
import type { ReadContents } from './beside-documents.ts';

export function contentsOf({ accounts }: Manager): ReadContents[] {
  return [...accounts.handles()].flatMap(
    ({ name, isShared = false, spec, informer: { current }, catalog }) => {
      if (!current) return [];
      const templates = [...itemsOf(current.templates).values()];
      const contents = {
        services: [...current.services.values()],
        volumes: [...current.volumes.values()],
        templates: templates.filter((template) => !isBuiltIn(template, catalog.current)),
        registries: [...itemsOf(current.registries).values()],
      };
      return [{ account: name, isShared, origin: originOf(spec.url), contents }];
    },
  );
}
