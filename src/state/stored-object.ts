import type { KubernetesObject, Target } from '../kubernetes/index.ts';
import { parseObjectKey, resourceTypes, type ObjectKey } from '../resources/index.ts';
import type { ObjectRecord } from './records.ts';

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

export interface Noticed {
  /** Somebody edited or wiped their bookkeeping. The next flush writes it again. */
  readonly tampered: readonly ObjectKey[];
  /** They are gone, or replaced by another object with the same name. Their records have been forgotten. */
  readonly vanished: readonly ObjectRecord[];
  /**
   * Of several namespaces, those in which the revisions of an object can't be read now, with the reason. The object is not taken in until a
   * later snapshot shows its namespace as known.
   */
  readonly left: ReadonlyMap<string, string>;
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
