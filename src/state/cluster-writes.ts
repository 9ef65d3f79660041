/** How a failed write to an object of a cluster is understood, and which objects need the finalizer. */
import { UserError } from '../base/index.ts';
import { KubernetesError } from '../kubernetes/index.ts';
import { accountNamed, stateTraitsOf, type ObjectKey } from '../resources/index.ts';
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

/** It would be lost if this version wrote what it understands of it. */
export function writtenByLaterVersion(key: ObjectKey): UserError {
  return new UserError(
    `a later version of fleetkeeper has written the status of ${key}`,
    'run that version, or a later one; during an upgrade, wait until all replicas run it',
  );
}

/** Something exists at the provider, or may exist, that has to be cleaned up before the object is deleted. */
export function needsCleanup(record: ObjectRecord, intent: Intent | undefined): boolean {
  const isOpen = intent?.outcome === 'pending' || intent?.outcome === 'unknown';
  const activity = stateTraitsOf(record.key).registered?.(record.kind);
  const isRegistered = activity !== undefined && !activity.isReleased;
  const isOwner = stateTraitsOf(record.key).owns?.(record.kind) === true;
  return (
    isOpen ||
    isRegistered ||
    isOwner ||
    record.externalId !== undefined ||
    accountNamed(record.key) !== undefined
  );
}

/** What is done to one object is done in turn. */
export class Turns {
  readonly #last = new Map<ObjectKey, Promise<void>>();

  take(key: ObjectKey, work: () => Promise<void>): Promise<void> {
    const before = this.#last.get(key) ?? Promise.resolve();
    const turn = before.catch(() => undefined).then(work);
    this.#last.set(key, turn);
    return turn.finally(() => {
      if (this.#last.get(key) === turn) this.#last.delete(key);
    });
  }
}
