/**
 * Who manages which fields.
 *
 *   an update  gives the fields that it changed to its manager, and takes them from all others
 *   an apply   owns exactly the fields that it sent; one that another manager owns with another value is a conflict,
 *              unless forced; one that it sent the last time and not now is removed, unless others own it too
 */
import { ApiError } from './errors.ts';
import {
  compare,
  decode,
  difference,
  encode,
  fieldText,
  leavesOf,
  merged,
  removed,
  union,
  type FieldSet,
  type Leaves,
} from './field-sets.ts';
import {
  fieldsOf,
  isSame,
  timestamp,
  without,
  type Fields,
  type ManagedEntry,
  type StoredObject,
} from './objects.ts';
import { untypedShape, type Shape } from './shape.ts';

export interface Manager {
  readonly manager: string;
  readonly operation: ManagedEntry['operation'];
  readonly apiVersion: string;
  readonly subresource?: string;
}

interface Owned extends Manager {
  readonly time: string;
  readonly fields: FieldSet;
}

/** Nobody owns what the server writes. */
const serverFields = [
  'name',
  'namespace',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'generateName',
  'selfLink',
  'managedFields',
] as const;

function ownable(object: Fields): Fields {
  const metadata = without(fieldsOf(object['metadata']), ...serverFields);
  const rest = without(object, 'apiVersion', 'kind', 'metadata');
  return Object.keys(metadata).length > 0 ? { ...rest, metadata } : rest;
}

/** Live objects may hold fields that the schema has lost since. */
function liveLeaves(object: Fields, shape: Shape): Leaves {
  return leavesOf(ownable(object), tolerant(shape));
}

function tolerant(shape: Shape): Shape {
  return {
    ...shape,
    child: (name) => tolerant(shape.child(name) ?? untypedShape(name)),
    item: () => tolerant(shape.item()),
  };
}

export function entriesAfterUpdate(
  old: StoredObject | undefined,
  next: Fields,
  shape: Shape,
  manager: Manager,
): readonly ManagedEntry[] {
  const before = old ? liveLeaves(old, shape) : new Map<string, string>();
  const { changed, removed: gone } = compare(before, liveLeaves(next, shape));
  const entries = old?.metadata.managedFields ?? [];
  if (changed.size === 0 && gone.size === 0) return entries;
  const owned = entries.map(decoded);
  const own = owned.find((one) => isSameManager(one, manager));
  const others = owned.filter((one) => one !== own).map((one) => lessened(one, gone, changed));
  const fields = union(difference(own?.fields ?? new Set(), gone), changed);
  return encoded([...others, { ...manager, time: timestamp(), fields }], entries);
}

export interface Applied {
  readonly object: Fields;
  readonly entries: readonly ManagedEntry[];
}

/** Throws 409 with each conflicting field, and `UndeclaredField`. */
export function apply(
  live: StoredObject | undefined,
  config: Fields,
  shape: Shape,
  manager: Manager,
  force: boolean,
): Applied {
  const entries = live?.metadata.managedFields ?? [];
  const owned = entries.map(decoded);
  const own = owned.find((one) => isSameManager(one, manager));
  const others = owned.filter((one) => one !== own);
  const sent = new Set(leavesOf(ownable(config), shape).keys());
  const ofOthers = others.reduce<FieldSet>((all, { fields }) => union(all, fields), new Set());
  const dropped = difference(own?.fields ?? new Set(), sent, ofOthers);
  const result = removed(live ? merged(live, config, shape) : config, dropped, shape);
  const object = fieldsOf(result);
  const before = live ? liveLeaves(live, shape) : new Map<string, string>();
  const { changed, removed: gone } = compare(before, liveLeaves(object, shape));
  if (!force) refuseConflicts(others, changed);
  const left = others.map((one) => lessened(one, gone, changed));
  return { object, entries: encoded([...left, { ...manager, time: timestamp(), fields: sent }], entries) };
}

function lessened(owned: Owned, ...lost: readonly FieldSet[]): Owned {
  return { ...owned, fields: difference(owned.fields, ...lost) };
}

function refuseConflicts(others: readonly Owned[], changed: FieldSet): void {
  const conflicts = others
    .map((owner) => ({
      owner,
      fields: [...owner.fields].filter((field) => changed.has(field)).map(fieldText),
    }))
    .filter(({ fields }) => fields.length > 0);
  if (conflicts.length === 0) return;
  const causes = conflicts.flatMap(({ owner, fields }) =>
    fields.map((field) => ({
      reason: 'FieldManagerConflict',
      message: `conflict with ${nameOf(owner)}`,
      field,
    })),
  );
  const each = conflicts.map(({ owner, fields }) =>
    fields.length === 1
      ? `conflict with ${nameOf(owner)}: ${fields[0]}`
      : `conflicts with ${nameOf(owner)}:\n${fields.map((field) => `- ${field}`).join('\n')}`,
  );
  throw new ApiError({
    code: 409,
    reason: 'Conflict',
    message: `Apply failed with ${causes.length} conflict${causes.length === 1 ? '' : 's'}: ${each.join('\n')}`,
    details: { causes },
  });
}

function nameOf({ manager, subresource, apiVersion, operation, time }: Owned): string {
  const where = subresource ? ` with subresource "${subresource}"` : '';
  return `"${manager}"${where}${operation === 'Update' ? ` using ${apiVersion} at ${time}` : ''}`;
}

function isSameManager(one: Manager, other: Manager): boolean {
  return (
    one.manager === other.manager &&
    one.operation === other.operation &&
    one.apiVersion === other.apiVersion &&
    (one.subresource ?? '') === (other.subresource ?? '')
  );
}

function decoded({ fieldsType: _type, fieldsV1, ...manager }: ManagedEntry): Owned {
  return { ...manager, fields: decode(fieldsV1) };
}

function encoded(owned: readonly Owned[], before: readonly ManagedEntry[]): readonly ManagedEntry[] {
  return owned.filter(({ fields }) => fields.size > 0).map((one) => encodedEntry(one, before));
}

/** An entry whose fields are the same keeps its time. */
function encodedEntry({ fields, ...manager }: Owned, before: readonly ManagedEntry[]): ManagedEntry {
  const entry: ManagedEntry = { ...manager, fieldsType: 'FieldsV1', fieldsV1: encode(fields) };
  const old = before.find((one) => isSameManager(one, entry));
  return old && isSame(old.fieldsV1, entry.fieldsV1) ? old : entry;
}
