/** Of the store of a cluster: what it is given, how a failed write is understood, and which objects need the finalizer. */
import { UserError, type Clock, type DigestKey, type Random } from '../base/index.ts';
import { KubernetesError, type KubernetesApi } from '../kubernetes/index.ts';
import { accountNamed, parseObjectKey, stateTraitsOf, type ObjectKey } from '../resources/index.ts';
import { hasRevisions, type Bookkeeping } from './bookkeeping.ts';
import type { RevisionsApi } from './cluster-revisions.ts';
import type { Intent, ObjectRecord } from './records.ts';
import type { OwnerRevision } from './revisions.ts';
import type { Noticed, StoredObject } from './stored-object.ts';

export interface ClusterStoreOptions {
  /** Undefined for commands that only read: then nothing is written. */
  readonly api: (Pick<KubernetesApi, 'get' | 'patch'> & RevisionsApi) | undefined;
  readonly reader?: Pick<KubernetesApi, 'list'>;
  /** Whether this process may write now. If undefined, it always may. */
  readonly mayAct?: () => boolean;
  readonly identity: { readonly digestKey: DigestKey; readonly ownerName: string };
  readonly clock: Clock;
  readonly random: Random;
}

/** Of a write that conflicts with another one. */
export const conflictBackoff = { firstMs: 50, longestMs: 2000 };
export const attempts = 8;

/** It is unknown whether the write was carried out. */
export function mayHaveHappened(error: unknown): boolean {
  const { status } = error instanceof KubernetesError ? error : { status: undefined };
  return status === undefined || status >= 500;
}

/** An object as it was last read or written. */
export interface Known extends StoredObject {
  /** The sequence of the bookkeeping that was written or read last. */
  readonly sequence: number;
  /** What was last written, while it is unknown whether that succeeded. */
  readonly attempted?: Bookkeeping | undefined;
}

/** What is written before it is in memory. */
export interface Planned {
  readonly record: ObjectRecord;
  readonly intent: Intent | undefined;
  /** Undefined: as they are in memory. */
  readonly revisions?: readonly OwnerRevision[] | undefined;
  /** The finalizer is written first. That of an intent is written after it, so it shows whether a status was lost (cluster-store.ts). */
  readonly isAnnounced: boolean;
}

/** The object is gone, or another one has its name. */
export class ObjectGone extends Error {
  constructor(key: ObjectKey) {
    super(`${key} is not in the cluster any more`);
  }
}

export function unlessGone(error: unknown): void {
  if (!(error instanceof ObjectGone)) throw error;
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

interface Shown {
  readonly shownOf: (key: ObjectKey) => StoredObject | 'unusable' | undefined;
  /** What was taken in. */
  readonly known: ReadonlyMap<ObjectKey, Known>;
  /** Of several namespaces: those that are not known as a whole. */
  readonly unread: ReadonlySet<string> | undefined;
}

/** Objects whose revisions could not be read. Of several namespaces, one with such an object holds up no other one. */
export class LeftObjects {
  readonly #keys = new Set<ObjectKey>();

  /** Gives each to `see`, and also those that were left before. While their namespace is not known as a whole, nobody asks for each of them. */
  async observe(
    changed: Iterable<ObjectKey>,
    { shownOf, known, unread }: Shown,
    see: (key: ObjectKey, object: StoredObject | undefined) => Promise<boolean>,
  ): Promise<Pick<Noticed, 'tampered' | 'left'>> {
    const tampered: ObjectKey[] = [];
    const left = new Map<string, string>();
    const due = [...this.#keys].filter((key) => unread?.has(parseObjectKey(key).namespace) !== true);
    for (const key of new Set([...changed, ...due])) {
      const shown = shownOf(key);
      if (shown === 'unusable') continue;
      const { namespace } = parseObjectKey(key);
      const isNew = shown !== undefined && shown.uid !== known.get(key)?.uid;
      try {
        if (isNew && left.has(namespace) && hasRevisions(shown.status)) {
          this.#keys.add(key);
          continue;
        }
        if (await see(key, shown)) tampered.push(key);
        this.#keys.delete(key);
      } catch (error) {
        if (!unread || !(error instanceof KubernetesError)) throw error;
        this.#keys.add(key);
        left.set(namespace, error.message);
      }
    }
    return { tampered, left };
  }
}

/** Which objects may be older than this process: all at first, then those that the first snapshot could not read. */
export class OlderObjects {
  #keys: ReadonlySet<ObjectKey> | 'all' = 'all';
  /** The namespaces that the last snapshot did not know as a whole. */
  unread: ReadonlySet<string> | undefined;

  /** Called after each snapshot that has all objects. */
  begin(unusable: ReadonlySet<ObjectKey>): void {
    if (this.#keys === 'all') this.#keys = new Set(unusable);
  }

  mayHave(key: ObjectKey): boolean {
    return (
      this.#keys === 'all' || this.#keys.has(key) || this.unread?.has(parseObjectKey(key).namespace) === true
    );
  }
}
