/** An object with its record, as `status`, `describe` and the read API show it. Pure. */
import { rfc3339 } from '../base/index.ts';
import {
  apiVersion,
  parseObjectKey,
  type Condition,
  type ManagedKind,
  type ObjectKey,
} from '../resources/index.ts';
import type { ObjectRecord } from '../state/index.ts';

export interface StatusEntry {
  readonly record: ObjectRecord;
  readonly kind: ManagedKind;
  readonly namespace: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Unix milliseconds. Undefined for an object that 0.1.0 took in. */
  readonly createdAt: number | undefined;
}

/** In the order of their keys. `createdAt`: of an object in a cluster. */
export function statusEntries(
  records: Iterable<ObjectRecord>,
  createdAt: (key: ObjectKey) => number | undefined = () => undefined,
): StatusEntry[] {
  return [...records]
    .sort((left, right) => (left.key < right.key ? -1 : 1))
    .map((record) => {
      const { kind, namespace, name } = parseObjectKey(record.key);
      const { labels } = record.manifest;
      return { record, kind, namespace, name, labels, createdAt: createdAt(record.key) ?? record.createdAt };
    });
}

export function conditionOf({ record }: StatusEntry, type: string): Condition | undefined {
  return record.status?.conditions.find((condition) => condition.type === type);
}

/** The state at the provider, or that the object is being deleted. */
export function stateOf({ record }: StatusEntry): string | undefined {
  return record.deletionRequestedAt === undefined ? textOf(record.status?.['state']) : 'Terminating';
}

export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

export function statusItem({ record, kind, namespace, name, createdAt }: StatusEntry): object {
  const { annotations, labels, spec } = record.manifest;
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      namespace,
      uid: record.uid,
      generation: record.generation,
      ...(Object.keys(annotations).length > 0 ? { annotations } : {}),
      ...(Object.keys(labels).length > 0 ? { labels } : {}),
      ...(createdAt === undefined ? {} : { creationTimestamp: rfc3339(createdAt) }),
      ...(record.deletionRequestedAt === undefined
        ? {}
        : { deletionTimestamp: rfc3339(record.deletionRequestedAt) }),
    },
    spec,
    status: record.status ?? { observedGeneration: 0, conditions: [] },
  };
}
