/**
 * How the parts of an object are merged: which lists are sets or have keys, and which values are taken as one. Custom
 * resources say it in their schema; for built-in kinds it is known by the names of the fields.
 */
import { propertySchema, type Schema } from './schema/schema.ts';

export type ListShape =
  | { readonly type: 'atomic' | 'set' }
  | { readonly type: 'map'; readonly keys: readonly string[] };

export interface Shape {
  /** An object that has one owner as a whole. */
  readonly isAtomic: boolean;
  readonly list: ListShape;
  /** Undefined: there is no such field. */
  child(name: string): Shape | undefined;
  item(): Shape;
}

const listKeys: Readonly<Record<string, readonly string[]>> = {
  containers: ['name'],
  initContainers: ['name'],
  ephemeralContainers: ['name'],
  env: ['name'],
  volumes: ['name'],
  volumeMounts: ['mountPath'],
  volumeDevices: ['devicePath'],
  imagePullSecrets: ['name'],
  secrets: ['name'],
  conditions: ['type'],
  ownerReferences: ['uid'],
  hostAliases: ['ip'],
  topologySpreadConstraints: ['topologyKey', 'whenUnsatisfiable'],
};
const sets = new Set(['finalizers']);
const atomicObjects = new Set([
  'selector',
  'secretKeyRef',
  'configMapKeyRef',
  'fieldRef',
  'involvedObject',
  'regarding',
]);

function listShape(name: string, parent: string): ListShape {
  if (sets.has(name)) return { type: 'set' };
  if (name === 'ports') {
    return { type: 'map', keys: [parent.endsWith('ontainers') ? 'containerPort' : 'port', 'protocol'] };
  }
  const keys = listKeys[name];
  return keys ? { type: 'map', keys } : { type: 'atomic' };
}

/** Of something of which only the name is known. */
export function untypedShape(name = '', parent = ''): Shape {
  return {
    isAtomic: atomicObjects.has(name),
    list: listShape(name, parent),
    child: (child) => untypedShape(child, name),
    item: () => untypedShape('', name),
  };
}

/** Of what a schema leaves open: objects by their fields, lists as a whole. */
const openShape: Shape = {
  isAtomic: false,
  list: { type: 'atomic' },
  child: () => openShape,
  item: () => openShape,
};

export function schemaShape(schema: Schema): Shape {
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  const listType = schema['x-kubernetes-list-type'] ?? 'atomic';
  const isOpen =
    schema['x-kubernetes-preserve-unknown-fields'] === true || schema.additionalProperties === true;
  return {
    isAtomic: schema['x-kubernetes-map-type'] === 'atomic',
    list: listType === 'map' ? { type: 'map', keys } : { type: listType },
    child: (name) => {
      const child = propertySchema(schema, name);
      return child ? schemaShape(child) : isOpen ? openShape : undefined;
    },
    item: () => (schema.items ? schemaShape(schema.items) : openShape),
  };
}

/** Of a whole object: its metadata is the same for all kinds. */
export function objectShape(schema: Schema | undefined): Shape {
  if (!schema) return untypedShape();
  const root = schemaShape(schema);
  const child = (name: string) => (name === 'metadata' ? untypedShape('metadata') : root.child(name));
  return { ...root, child };
}
