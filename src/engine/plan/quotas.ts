/** The API's limits per account (§8), and how much of them is used. */
import { limits } from '../../api/wire.ts';

export interface Quota {
  readonly resource: 'volumes' | 'templates' | 'registries';
  readonly used: number;
  readonly limit: number;
}

/** Counts what has been read. Lists that this fleet does not need are not read. */
export function quotas(used: {
  readonly volumes: number;
  readonly templates: number | undefined;
  readonly registries: number | undefined;
}): Quota[] {
  const all = [
    { resource: 'volumes', used: used.volumes, limit: limits.volumesPerAccount },
    { resource: 'templates', used: used.templates, limit: limits.templatesPerAccount },
    { resource: 'registries', used: used.registries, limit: limits.registriesPerAccount },
  ] as const;
  return all.flatMap(({ used: count, ...rest }) => (count === undefined ? [] : [{ ...rest, used: count }]));
}
