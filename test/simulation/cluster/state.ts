/**
 * What the operator has made durable: the bookkeeping in the status of each object, as it was last written by a process of the operator.
 * What others do to a status changes what the next process finds, and not what had been acknowledged.
 */
import {
  managedKinds,
  objectKey,
  parseObjectKey,
  resourceTypes,
  type ManagedKind,
  type ObjectKey,
} from '../../../src/resources/index.ts';
import { readBookkeeping, type Kept } from '../../../src/state/bookkeeping.ts';
import { controllerRevisionType } from '../../../src/state/cluster-revisions.ts';
import type { Intent, ObjectRecord, OwnerRevision } from '../../../src/state/index.ts';
import type { StoredObject } from '../../support/kubernetes/objects.ts';
import type { DurableState, StateOwner, Write } from '../state.ts';
import type { Json } from '../watch.ts';
import type { ApiServer, Storing } from './api-server.ts';

const kindOfStorage = new Map<string, ManagedKind>(
  managedKinds.map((kind) => [`${resourceTypes[kind].plural}.${resourceTypes[kind].group}`, kind]),
);

const { plural, group } = controllerRevisionType;
const revisionStorage = `${plural}.${group}`;

export class ClusterState implements DurableState {
  readonly owner: StateOwner;
  readonly #server: ApiServer;
  /** By uid. */
  readonly #written = new Map<string, unknown>();
  readonly #read = new WeakMap<StoredObject, Kept>();

  constructor(server: ApiServer, owner: StateOwner) {
    this.#server = server;
    this.owner = owner;
  }

  record(key: ObjectKey): ObjectRecord | undefined {
    return this.#at(key)?.record;
  }

  intent(key: ObjectKey): Intent | undefined {
    return this.#at(key)?.intent;
  }

  records(): ObjectRecord[] {
    return this.#all().map(({ record }) => record);
  }

  /** Those in the bookkeeping of their owner whose content is there. */
  revisions(): ReadonlyMap<ObjectKey, readonly OwnerRevision[]> {
    const fleets = this.#all().filter(({ revisions }) => revisions.length > 0);
    return new Map(
      fleets.map(({ record: { key }, revisions }) => [
        key,
        revisions.flatMap(({ contentDigest: _digest, ...mark }): OwnerRevision[] => {
          const { namespace, name } = parseObjectKey(key);
          const { data: stored } = (this.#server.get({
            type: controllerRevisionType,
            namespace,
            name: `${name}-r${mark.number}`,
          }) ?? {}) as Json;
          return stored ? [{ ...mark, content: stored.content, data: stored.data }] : [];
        }),
      ]),
    );
  }

  intents(): Intent[] {
    return this.#all().flatMap(({ intent }) => intent ?? []);
  }

  /** What is written by `storing`, to be told before it is; undefined when it is nothing of the operator's. */
  writeOf({ storage, next, previous, author, body }: Storing): Write | undefined {
    const kind = kindOfStorage.get(storage);
    const { namespace = '', name = '' } = (next ?? previous?.object)?.metadata ?? {};
    const key = kind && objectKey(kind, namespace, name);
    const isGone = next === undefined;
    if (isGone) return key && { kind: 'remove', key };
    if (author === 'somebody') return undefined;
    if (storage === revisionStorage) {
      const [owner] = next.metadata.ownerReferences ?? [];
      const fleet = objectKey('ServiceFleet', namespace, owner?.name ?? '');
      return { kind: 'revisions', key: fleet, text: JSON.stringify(body) };
    }
    // What is wanted of a replica has the values that the document of its fleet gives itself.
    const { spec: _spec, ...own } = (body ?? {}) as Json;
    const text = JSON.stringify(own);
    if (!key) return { kind: 'save', records: [], text };
    const { record, intent, identity } = this.#decoded(key, next, this.#bookkeepingAfter(next, body));
    const beside = { ...(intent ? { intent } : {}), ...(identity ? { pin: identity } : {}) };
    return { kind: 'save', records: [record], text, life: author.life, ...beside };
  }

  /** To be called for each write, after it was told. */
  take({ storage, next, author, body }: Storing): void {
    if (author === 'somebody' || !next || !kindOfStorage.has(storage)) return;
    this.#written.set(next.metadata.uid, this.#bookkeepingAfter(next, body));
  }

  #bookkeepingAfter(next: StoredObject, body: unknown): unknown {
    const isOfStatus = (body as Json)?.status !== undefined;
    return isOfStatus ? (next['status'] as Json)?.bookkeeping : this.#written.get(next.metadata.uid);
  }

  #at(key: ObjectKey): Kept | undefined {
    const { kind, namespace, name } = parseObjectKey(key);
    const { storage } = this.#server.kindOf(resourceTypes[kind]);
    const object = this.#server.store.get(storage, namespace, name)?.object;
    return object && this.#decode(key, object);
  }

  #all(): Kept[] {
    return managedKinds.flatMap((kind) => {
      const { storage } = this.#server.kindOf(resourceTypes[kind]);
      return this.#server.store
        .list(storage)
        .map(({ object }) =>
          this.#decode(objectKey(kind, object.metadata.namespace ?? '', object.metadata.name), object),
        );
    });
  }

  #decode(key: ObjectKey, object: StoredObject): Kept {
    const known = this.#read.get(object);
    if (known) return known;
    const kept = this.#decoded(key, object, this.#written.get(object.metadata.uid));
    this.#read.set(object, kept);
    return kept;
  }

  #decoded(key: ObjectKey, { metadata, ...object }: StoredObject, bookkeeping: unknown): Kept {
    const { uid, generation = 0, annotations = {}, labels = {}, deletionTimestamp } = metadata;
    const status = { ...(object['status'] as object), bookkeeping };
    const kept = readBookkeeping(key, uid, status, this.owner.digestKey);
    // Without bookkeeping of its own, a status may be anybody's, and is not believed.
    const isOwn = (object['status'] as Json)?.bookkeeping?.uid === uid;
    const manifest = { annotations, labels, spec: object['spec'] as Json };
    const deletionRequestedAt = deletionTimestamp === undefined ? undefined : Date.parse(deletionTimestamp);
    const { record } = kept;
    const reported = isOwn ? record.status : undefined;
    return { ...kept, record: { ...record, generation, manifest, deletionRequestedAt, status: reported } };
  }
}
