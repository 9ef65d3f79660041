import type { KubernetesObject, Target } from '../kubernetes/index.ts';
import { parseObjectKey, resourceTypes, type ObjectKey } from '../resources/index.ts';

/** What the source shows of an object's existence. */
export interface StoredObject {
  readonly key: ObjectKey;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly finalizers: readonly string[];
  /** Unix milliseconds at which somebody deleted it. */
  readonly deletionRequestedAt: number | undefined;
  readonly status: unknown;
}

export function factsOf(key: ObjectKey, { metadata, status }: KubernetesObject): StoredObject {
  const { uid, resourceVersion, finalizers = [], deletionTimestamp } = metadata;
  const deletionRequestedAt = deletionTimestamp === undefined ? undefined : Date.parse(deletionTimestamp);
  return { key, uid, resourceVersion, finalizers, deletionRequestedAt, status };
}

export function targetOf(key: ObjectKey): Target {
  const { kind, namespace, name } = parseObjectKey(key);
  return { type: resourceTypes[kind], namespace, name };
}
