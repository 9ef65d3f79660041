/**
 * What is kept of an object in memory, which all namespaces of an operator share. Pure.
 *
 * | the object                                                | what is kept                                                   |
 * |-----------------------------------------------------------|----------------------------------------------------------------|
 * | any                                                       | not `last-applied-configuration`, a copy that nobody here reads |
 * | its spec, labels and annotations are beyond the bound     | what a deletion needs; it is unusable, and can be deleted      |
 * | its finalizers are beyond theirs                          | none of them; it is unusable until some are removed            |
 */
import type { KubernetesObject } from '../../kubernetes/index.ts';
import { group } from '../../resources/index.ts';
import { limits } from '../limits.ts';

/** A copy of the whole object, environment included, that kubectl writes. Nobody here reads it. */
export const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

/** A symbol: no API server can send it. */
const beyond = Symbol('beyond');
type Marked = KubernetesObject & { readonly [beyond]?: Beyond };

/** The bound that an object was beyond. */
export interface Beyond {
  readonly bound: 'objectBytes' | 'finalizersBytes';
  /** What is kept is enough to delete what it has at the provider. */
  readonly isDeletable: boolean;
}

export function boundPassedBy(object: KubernetesObject): Beyond | undefined {
  return (object as Marked)[beyond];
}

export function keptObject(object: KubernetesObject): KubernetesObject {
  const { annotations = {}, labels = {}, finalizers = [], ownerReferences = [] } = object.metadata;
  const { [lastApplied]: _copy, ...read } = annotations;
  const metadata = { ...object.metadata, ...(object.metadata.annotations ? { annotations: read } : {}) };
  const hasManyFinalizers = isLarger(finalizers, limits.finalizersBytes);
  const written = [object.spec, read, labels, ownerReferences];
  if (!hasManyFinalizers && !isLarger(written, limits.objectBytes)) return { ...object, metadata };
  const forDeletion = withoutLarge(object.spec);
  const isDeletable = !isLarger(forDeletion, limits.smallBytes);
  const marked: Marked = {
    ...object,
    metadata: {
      ...metadata,
      annotations: ownOf(read),
      labels: {},
      ...(hasManyFinalizers ? { finalizers: [] } : {}),
      ownerReferences: ownerReferences.filter(({ controller }) => controller === true).slice(0, 1),
    },
    spec: isDeletable ? forDeletion : smallMembers(object.spec),
    [beyond]: {
      bound: hasManyFinalizers ? 'finalizersBytes' : 'objectBytes',
      isDeletable: isDeletable && !hasManyFinalizers,
    },
  };
  return marked;
}

/** The environment, the command and the metadata of replicas: of these a deletion needs nothing, and of all else it may. */
const unneeded: ReadonlySet<string> = new Set(['env', 'command', 'metadata']);

/** A spec as a deletion needs it. */
export function withoutLarge(value: unknown): unknown {
  if (Array.isArray(value) || typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).filter(([name]) => !unneeded.has(name));
  return Object.fromEntries(fields.map(([name, field]) => [name, withoutLarge(field)]));
}

/** Whose it is, for an object that is not read. */
function smallMembers(spec: unknown): unknown {
  if (typeof spec !== 'object' || spec === null) return {};
  return Object.fromEntries(Object.entries(spec).filter(([, field]) => !isLarger(field, limits.fieldBytes)));
}

function ownOf(annotations: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(annotations).filter(
      ([name, value]) => name.startsWith(`${group}/`) && value.length <= limits.fieldBytes,
    ),
  );
}

/** Whether its JSON is, without the signs that texts are written with there. It is walked through up to the bound only. */
function isLarger(value: unknown, bytes: number): boolean {
  let left = bytes;
  const take = (each: unknown): void => {
    left -= typeof each === 'string' ? Buffer.byteLength(each) + 3 : 8;
    if (typeof each !== 'object' || each === null) return;
    for (const [name, member] of Object.entries(each)) {
      if (left < 0) return;
      if (!Array.isArray(each)) left -= Buffer.byteLength(name) + 3;
      take(member);
    }
  };
  take(value);
  return left < 0;
}
