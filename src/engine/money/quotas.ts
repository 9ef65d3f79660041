/** How much of each quota of an account is in use. */
import type { AccountSnapshot } from '../../observed/index.ts';
import { quotas, type Quota } from '../plan/index.ts';

/** Built-in templates are not in the quota (§2 "Template"). */
export function quotasOf({ volumes, templates, registries, unidentified }: AccountSnapshot): Quota[] {
  return quotas({
    volumes: volumes.size + (unidentified?.volumes.length ?? 0),
    templates:
      templates.kind === 'read'
        ? [...templates.items.values()].filter(({ builtIn }) => builtIn !== true).length
        : undefined,
    registries: registries.kind === 'read' ? registries.items.size : undefined,
  });
}
