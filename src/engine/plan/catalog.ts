/**
 * Whether the public catalog offers what is to be created (§2 "Catalog object"). It shows what is offered, never that
 * there is capacity for it (§1). The contract does not show the fields of its regions (§2 "Gaps"). So a region is
 * recognised if any of its texts is the requested name, in any letter case, and so is a group of it. An unknown name is
 * held only where all entries have plain names: "Europe West" is a title, and `europe` may be its name. What the catalog
 * does not show holds nothing back: the API decides.
 */
import type { wire } from '../../api/index.ts';
import { isUuid } from '../../base/index.ts';
import type { ReasonOf } from '../../reasons/index.ts';
import { isSameRegion } from './differences.ts';
import type { Gate } from './types.ts';

export interface Placement {
  readonly region: string;
  readonly geography: string | undefined;
  readonly gpuCount: number;
}

export function catalogGate(placement: Placement, catalog: wire.Catalog | undefined): Gate | undefined {
  if (!catalog) return undefined;
  const { region, geography = 'auto', gpuCount } = placement;
  const offered = catalog.regions.filter((candidate) => isNamed(candidate, region));
  const regions = offered.length > 0 ? undefined : plainNames(catalog.regions);
  if (regions) return hold('UnknownRegion', 'region', `there is no region "${region}"`, regions);
  const groups = geography === 'auto' ? [] : groupsOf(offered);
  const names = groups.some((group) => isNamed(group, geography)) ? undefined : plainNames(groups);
  if (names) {
    return hold('UnknownGeography', 'geography', `the region ${region} has no geography "${geography}"`, [
      'auto',
      ...names,
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

/** Several entries may be of one region. If one of them shows no groups, they are not known. */
function groupsOf(entries: readonly wire.Region[]): readonly unknown[] {
  const lists = entries.map(({ geographies }) => geographies ?? []);
  return lists.some((list) => list.length === 0) ? [] : lists.flat();
}

function isNamed(item: unknown, name: string): boolean {
  const texts = typeof item === 'object' && item !== null ? Object.values(item) : [item];
  return texts.some((text) => typeof text === 'string' && isSameRegion(text, name));
}

/** Undefined: there are none, or one of them has no name that a document may have. */
function plainNames(items: readonly unknown[]): readonly string[] | undefined {
  const names = items.flatMap((item) => plainName(nameOf(item)) ?? []);
  return names.length > 0 && names.length === items.length ? [...new Set(names)] : undefined;
}

function plainName(name: string | undefined): string | undefined {
  const isPlain = name !== undefined && /^[\p{L}\p{N}._-]+$/u.test(name) && !isUuid(name);
  return isPlain ? name : undefined;
}

/** `name`, else `id`; a plain text is its own name. */
function nameOf(item: unknown): string | undefined {
  if (typeof item === 'string') return item;
  if (typeof item !== 'object' || item === null) return undefined;
  const { name, id } = item as { name?: unknown; id?: unknown };
  return [name, id].find((text) => typeof text === 'string');
}
