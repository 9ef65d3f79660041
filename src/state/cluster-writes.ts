/** What a write to an object of a cluster means, and when it needs our finalizer. */
import { KubernetesError } from '../kubernetes/index.ts';
import type { ObjectKey } from '../resources/index.ts';
import type { Intent, ObjectRecord } from './records.ts';

/** Nobody knows whether it was carried out. */
export function mayHaveHappened(error: unknown): boolean {
  const { status } = error instanceof KubernetesError ? error : { status: undefined };
  return status === undefined || status >= 500;
}

/** The object is no more, or another one has its name. */
export class ObjectGone extends Error {
  constructor(key: ObjectKey) {
    super(`${key} is not in the cluster any more`);
  }
}

/** There is, or may be, something at the provider that has to be seen to before the object may go. */
export function needsCleanup(record: ObjectRecord, intent: Intent | undefined): boolean {
  const isOpen = intent?.outcome === 'pending' || intent?.outcome === 'unknown';
  const isLeased = record.lease !== undefined && record.releasedAt === undefined;
  return isOpen || isLeased || record.externalId !== undefined || record.key.startsWith('Account/');
}
