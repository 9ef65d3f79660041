/**
 * Whether the public catalog offers what is to be created (§2 "Catalog object"). It shows what is offered, never that
 * there is capacity for it (§1). The contract does not show the fields of its regions (§2 "Gaps"). So a region is
 * recognised if any of its texts is the requested name, and groups are compared only if it shows any. What the
 * catalog does not show holds nothing back: the API decides.
 */
import type { wire } from '../../api/index.ts';
import type { ReasonOf } from '../../reasons/index.ts';
import type { Gate } from './types.ts';

export interface Placement {
  readonly region: string;
  readonly geography: string | undefined;
  readonly gpuCount: number;
}

export function catalogGate(placement: Placement, catalog: wire.Catalog | undefined): Gate | undefined {
  if (!catalog) return undefined;
  const { region, geography = 'auto', gpuCount } = placement;
  const offered = catalog.regions.find((candidate) => Object.values(candidate).includes(region));
  const regions = catalog.regions.flatMap((candidate) => nameOf(candidate) ?? []);
  if (!offered && regions.length > 0 && regions.length === catalog.regions.length) {
    return hold('UnknownRegion', 'region', `there is no region "${region}"`, regions);
  }
  const groups = offered ? groupsOf(offered) : [];
  if (geography !== 'auto' && groups.length > 0 && !groups.includes(geography)) {
    return hold('UnknownGeography', 'geography', `the region ${region} has no geography "${geography}"`, [
      'auto',
      ...groups,
    ]);
  }
  if (gpuCount > 0 && catalog.gpuCatalog?.length === 0) {
    return {
      kind: 'hold',
      reason: 'NoGpuOffered',
      message: `${gpuCount} GPU(s) are requested, and the catalog offers none; set gpuCount to 0`,
      path: ['spec', 'resources', 'gpuCount'],
    };
  }
  return undefined;
}

/** Whether a refusal speaks of something that the catalog knows: then it may have changed. */
export function concernsCatalog(code: string, message: string): boolean {
  return /region|geograph|gpu/i.test(`${code} ${message}`);
}

function hold(reason: ReasonOf<'held'>, field: string, message: string, offered: readonly string[]): Gate {
  return {
    kind: 'hold',
    reason,
    message: `${message}; the catalog offers ${offered.join(', ')}`,
    path: ['spec', field],
  };
}

function groupsOf({ geographies }: wire.Region): string[] {
  return (geographies ?? []).flatMap((group) => nameOf(group) ?? []);
}

/** `name`, else `id`; a plain text is its own name. */
function nameOf(item: unknown): string | undefined {
  if (typeof item === 'string') return item;
  if (typeof item !== 'object' || item === null) return undefined;
  const { name, id } = item as { name?: unknown; id?: unknown };
  return [name, id].find((text) => typeof text === 'string');
}
