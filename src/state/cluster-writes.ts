/** How a failed write to an object of a cluster is understood, and which objects need the finalizer. */
import { KubernetesError } from '../kubernetes/index.ts';
import { accountNamed, type ObjectKey } from '../resources/index.ts';
import type { Intent, ObjectRecord } from './records.ts';

/** It is unknown whether the write was carried out. */
export function mayHaveHappened(error: unknown): boolean {
  const { status } = error instanceof KubernetesError ? error : { status: undefined };
  return status === undefined || status >= 500;
}

/** The object is gone, or another one has its name. */
export class ObjectGone extends Error {
  constructor(key: ObjectKey) {
    super(`${key} is not in the cluster any more`);
  }
}

/** Something exists at the provider, or may exist, that has to be cleaned up before the object is deleted. */
export function needsCleanup(record: ObjectRecord, intent: Intent | undefined): boolean {
  const isOpen = intent?.outcome === 'pending' || intent?.outcome === 'unknown';
  const isRegistered = record.lease !== undefined && record.releasedAt === undefined;
  return isOpen || isRegistered || record.externalId !== undefined || accountNamed(record.key) !== undefined;
}
