/** The size of an object at `/scale`: a Scale that is made of the object, and of which only `spec.replicas` can be written. */
import { ApiError, badRequest } from './errors.ts';
import type { Kind } from './kinds.ts';
import { fieldsOf, isFields, valueAt, type Fields, type StoredObject } from './objects.ts';

export interface ScalePaths {
  readonly specReplicasPath: string;
  readonly statusReplicasPath: string;
  readonly labelSelectorPath?: string;
}

const partsOf = (path: string) => path.split('.').slice(1);

export function scaleOf(kind: Kind, object: StoredObject): Fields {
  const { scale } = kind;
  if (!scale) throw badRequest('there is no scale');
  const replicas = valueAt(object, partsOf(scale.specReplicasPath));
  if (typeof replicas !== 'number') {
    const message = `the spec replicas field "${scale.specReplicasPath}" does not exist`;
    throw new ApiError({ code: 500, reason: 'InternalError', message });
  }
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const selector = scale.labelSelectorPath && valueAt(object, partsOf(scale.labelSelectorPath));
  const present = valueAt(object, partsOf(scale.statusReplicasPath)) ?? 0;
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: { replicas },
    status: { replicas: present, ...(typeof selector === 'string' ? { selector } : {}) },
  };
}

/** The object with what a Scale asks for. */
export function scaledBy({ scale }: Kind, object: Fields, sent: Fields): Fields {
  const replicas = fieldsOf(sent['spec'])['replicas'];
  const isCount = typeof replicas === 'number' && Number.isInteger(replicas) && replicas >= 0;
  if (!scale || !isCount) {
    throw badRequest(
      'Scale in version "v1" cannot be handled as a Scale: spec.replicas must be a whole number',
    );
  }
  const { resourceVersion, uid } = fieldsOf(sent['metadata']);
  const preconditions = { ...(resourceVersion ? { resourceVersion } : {}), ...(uid ? { uid } : {}) };
  const metadata = { ...fieldsOf(object['metadata']), ...preconditions };
  return { ...withValue(object, partsOf(scale.specReplicasPath), replicas), metadata };
}

function withValue(object: Fields, [name = '', ...rest]: readonly string[], value: unknown): Fields {
  if (rest.length === 0) return { ...object, [name]: value };
  const inner = object[name];
  return { ...object, [name]: withValue(isFields(inner) ? inner : {}, rest, value) };
}
