/**
 * Create, replace, patch and apply. They differ in where the next object comes from; it is then admitted (admission.ts), its
 * managed fields and its generation are counted, and it is stored, unless nothing changed or it was a dry run.
 */
import { randomUUID } from 'node:crypto';
import {
  accept,
  decode,
  reachable,
  refuseInvalid,
  refuseOther,
  refuseOtherName,
  refuseOtherNamespace,
  replaced,
  type Write,
} from './admission.ts';
import { ApiError, alreadyExists, badRequest, forbidden, invalid, notFound } from './errors.ts';
import { UndeclaredField } from './field-sets.ts';
import { apiVersionOf, type Kind, type Kinds } from './kinds.ts';
import { apply, entriesAfterUpdate, type Applied, type Manager } from './managed-fields.ts';
import { generatedName, isUnchanged, sentMetadata } from './metadata.ts';
import {
  isSame,
  timestamp,
  without,
  type Fields,
  type ManagedEntry,
  type Metadata,
  type StoredObject,
} from './objects.ts';
import { objectShape } from './shape.ts';
import { Entry, keyOf, type Store } from './store.ts';

export interface Written {
  readonly entry: Entry;
  readonly isNew: boolean;
}

/** What a new object is given; a simulation has its own. */
export interface Stamps {
  readonly uid: () => string;
  /** RFC 3339. */
  readonly time: () => string;
}

const systemStamps: Stamps = { uid: () => randomUUID(), time: () => timestamp() };

export class Writes {
  readonly #store: Store;
  readonly #kinds: Kinds;
  readonly #stamps: Stamps;

  constructor(store: Store, kinds: Kinds, stamps: Stamps = systemStamps) {
    this.#store = store;
    this.#kinds = kinds;
    this.#stamps = stamps;
  }

  create(write: Write, body: unknown): Written {
    const sent = accept(write, decode(write.kind, body));
    return this.#create(write, sent, (object) => updatedEntries(write, undefined, object));
  }

  replace(write: Write, name: string, body: unknown): Written {
    const sent = accept(write, decode(write.kind, body));
    const metadata = sentMetadata(sent['metadata']);
    refuseOtherName(name, metadata);
    const old = this.#existing(write, name);
    if (!write.kind.unconditionalUpdate && metadata.resourceVersion === undefined) {
      const field = 'metadata.resourceVersion';
      const message = 'Invalid value: 0: must be specified for an update';
      throw invalid(write.kind, name, [{ reason: 'FieldValueInvalid', field, message }]);
    }
    return this.#replace(write, old, sent);
  }

  /** `next` makes the new object out of the one that is there. */
  patch(write: Write, name: string, next: (old: Fields) => Fields): Written {
    const { kind } = write;
    const old = this.#existing(write, name);
    const served = kind.form ? kind.form.toServed(old) : old;
    const patched = next({ apiVersion: apiVersionOf(kind), kind: kind.kind, ...served });
    return this.#replace(write, old, accept(write, decode(kind, patched)));
  }

  apply(write: Write, name: string, body: Fields, force: boolean): Written {
    const { kind, namespace, subresource } = write;
    const metadata = sentMetadata(body['metadata']);
    refuseOtherName(name, metadata);
    const old = this.#store.get(kind.storage, namespace, name)?.object;
    if (!old && (subresource !== undefined || metadata.uid !== undefined)) throw notFound(kind, name);
    if (old) refuseOther(kind, old, metadata);
    const config = reachable(kind, subresource, decode(kind, { ...body, metadata: { ...metadata, name } }));
    const { object, entries } = this.#applied(write, name, old, config, force);
    const complete = accept({ ...write, fieldValidation: 'Ignore' }, object);
    return old ? this.#replace(write, old, complete, entries) : this.#create(write, complete, () => entries);
  }

  #applied(
    write: Write,
    name: string,
    old: StoredObject | undefined,
    config: Fields,
    force: boolean,
  ): Applied {
    const { kind, namespace } = write;
    try {
      return apply(old, config, objectShape(kind.schema?.schema), managerOf(write, 'Apply'), force);
    } catch (error) {
      if (!(error instanceof UndeclaredField)) throw error;
      const where = `${keyOf(namespace, name).replace(/^\//, '')}; ${apiVersionOf(kind)}, Kind=${kind.kind}`;
      const message = `failed to create typed patch object (${where}): ${error.message}`;
      throw new ApiError({ code: 500, reason: '', message });
    }
  }

  #existing({ kind, namespace }: Write, name: string): StoredObject {
    const entry = this.#store.get(kind.storage, namespace, name);
    if (!entry) throw notFound(kind, name);
    return entry.object;
  }

  #create(write: Write, sent: Fields, entriesOf: (object: StoredObject) => readonly ManagedEntry[]): Written {
    const { kind, namespace } = write;
    const given = sentMetadata(sent['metadata']);
    refuseOtherNamespace(namespace, given);
    if (given.resourceVersion !== undefined) {
      throw badRequest('resourceVersion should not be set on objects to be created');
    }
    const name = given.name ?? this.#freshName(kind, namespace, given.generateName);
    this.#refuseTerminating(kind, namespace, name);
    const metadata: Metadata = {
      ...given,
      name,
      ...(namespace !== undefined && { namespace }),
      uid: this.#stamps.uid(),
      resourceVersion: '',
      creationTimestamp: this.#stamps.time(),
      ...(kind.hasGeneration && { generation: 1 }),
    };
    const dropsStatus = kind.hasStatus && kind.schema !== undefined;
    const object = completed(kind, { ...(dropsStatus ? without(sent, 'status') : sent), metadata });
    refuseInvalid(kind, object, undefined);
    if (this.#store.get(kind.storage, namespace, name)) throw alreadyExists(kind, name);
    return { entry: this.#save(write, withEntries(object, entriesOf(object))), isNew: true };
  }

  #freshName(kind: Kind, namespace: string | undefined, prefix: string | undefined): string {
    if (prefix === undefined) return '';
    let name = generatedName(prefix);
    while (this.#store.get(kind.storage, namespace, name)) name = generatedName(prefix);
    return name;
  }

  #replace(write: Write, old: StoredObject, sent: Fields, applied?: readonly ManagedEntry[]): Written {
    const { kind } = write;
    refuseOther(kind, old, sentMetadata(sent['metadata']));
    const object = completed(kind, replaced(write, old, sent));
    refuseInvalid(kind, object, old);
    const final = counted(kind, old, withEntries(object, applied ?? updatedEntries(write, old, object)));
    const current = this.#store.get(kind.storage, old.metadata.namespace, old.metadata.name);
    const entry = current && isUnchanged(old, final) ? current : this.#save(write, final);
    return { entry, isNew: false };
  }

  /** An object that waited for its last finalizer is gone. */
  #save({ kind, isDryRun }: Write, object: StoredObject): Entry {
    if (isDryRun) return new Entry(object);
    const { namespace, name, deletionTimestamp, finalizers = [] } = object.metadata;
    const previous = this.#store.get(kind.storage, namespace, name);
    const isGone =
      deletionTimestamp !== undefined && finalizers.length === 0 && kind.storage !== 'namespaces';
    if (!isGone || !previous) return this.#store.put(kind.storage, object);
    this.#store.remove(kind.storage, previous);
    return new Entry(object);
  }

  #refuseTerminating(kind: Kind, namespace: string | undefined, name: string): void {
    if (namespace === undefined) return;
    const ofNamespaces = this.#kinds.ofStorage('namespaces');
    const found = this.#store.get('namespaces', undefined, namespace)?.object;
    if (!found && ofNamespaces) throw notFound(ofNamespaces, namespace);
    if (found?.metadata.deletionTimestamp === undefined) return;
    const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
    const message = `namespace ${namespace} is being terminated`;
    const cause = { reason: 'NamespaceTerminating', message, field: 'metadata.namespace' };
    throw forbidden(kind, name, why, [cause]);
  }
}

function completed(kind: Kind, object: StoredObject): StoredObject {
  return kind.complete ? kind.complete(object) : object;
}

function managerOf({ fieldManager, kind, subresource }: Write, operation: Manager['operation']): Manager {
  const manager = { manager: fieldManager, operation, apiVersion: apiVersionOf(kind) };
  return subresource === undefined ? manager : { ...manager, subresource };
}

function updatedEntries(
  write: Write,
  old: StoredObject | undefined,
  next: StoredObject,
): readonly ManagedEntry[] {
  return entriesAfterUpdate(old, next, objectShape(write.kind.schema?.schema), managerOf(write, 'Update'));
}

function withEntries(object: StoredObject, managedFields: readonly ManagedEntry[]): StoredObject {
  const { managedFields: _before, ...metadata } = object.metadata;
  return { ...object, metadata: managedFields.length > 0 ? { ...metadata, managedFields } : metadata };
}

/** The generation counts changes of what is neither metadata nor status. */
function counted(kind: Kind, old: StoredObject, next: StoredObject): StoredObject {
  if (!kind.hasGeneration) return next;
  const ignored = kind.hasStatus ? ['metadata', 'status'] : ['metadata'];
  const isSameSpec = isSame(without(old, ...ignored), without(next, ...ignored));
  const generation = (old.metadata.generation ?? 1) + (isSameSpec ? 0 : 1);
  return { ...next, metadata: { ...next.metadata, generation } };
}
