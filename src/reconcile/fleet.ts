/**
 * What is wanted, as it was last admitted, and the brakes that follow from it. The controller writes it, passes
 * read it.
 */
import { resolveEnvironment, type DesiredObject, type DesiredSnapshot } from '../desired/index.ts';
import {
  isSuspiciousRead,
  massChangeLimit,
  type AttachedService,
  type DesiredEnvironment,
  type Gate,
  type Gates,
  type Owner,
  type PlannedObject,
  type VolumeInputs,
} from '../plan/index.ts';
import type { AccountSnapshot } from '../observed/index.ts';
import {
  annotations,
  objectKey,
  parseObjectKey,
  type ContainerServiceSpec,
  type ObjectKey,
  type Specs,
  type StorageVolumeSpec,
} from '../resources/index.ts';
import type { ObjectRecord, StateStore } from '../state/index.ts';
import type { AccountHandle } from './accounts.ts';
import { identify, volumeMarks, type Observed } from './observe.ts';
import type { wire } from '../api/index.ts';

export class Fleet {
  readonly store: StateStore;
  readonly owner: Owner;
  readonly #massChangeAllowed: (account: string) => boolean;
  snapshot: DesiredSnapshot;
  brake: Gate | undefined;
  lingering: ReadonlyMap<ObjectKey, Gate> = new Map();
  readonly #readBrakes = new WeakMap<AccountSnapshot, Gate | 'none'>();

  constructor(
    store: StateStore,
    owner: Owner,
    snapshot: DesiredSnapshot,
    massChangeAllowed: (account: string) => boolean,
  ) {
    this.store = store;
    this.owner = owner;
    this.snapshot = snapshot;
    this.#massChangeAllowed = massChangeAllowed;
  }

  /** The document, or, for an object that is going, what was kept of it. */
  planned<Kind extends 'ContainerService' | 'StorageVolume'>(
    record: ObjectRecord,
  ): PlannedObject<Specs[Kind]> {
    const desired = this.snapshot.objects.get(record.key);
    const { name } = parseObjectKey(record.key);
    return {
      name,
      annotations: desired?.annotations ?? record.manifest.annotations,
      spec: (desired?.spec ?? record.manifest.spec) as Specs[Kind],
      deleting: record.deletionRequestedAt !== undefined,
    };
  }

  environment(key: ObjectKey): DesiredEnvironment {
    const desired = this.snapshot.objects.get(key);
    if (desired?.kind !== 'ContainerService') return { kind: 'unmanaged' };
    const resolved = resolveEnvironment(desired as DesiredObject<'ContainerService'>, this.snapshot);
    if (resolved.ok) {
      return resolved.environment ? { kind: 'given', values: resolved.environment } : { kind: 'unmanaged' };
    }
    return { kind: 'problem', path: resolved.path, message: `${resolved.message}; ${resolved.remedy}` };
  }

  /** `file:line: path: ` for the start of a message about a field; empty when the document is gone. */
  whereIs(key: ObjectKey, path: readonly (string | number)[]): string {
    const desired = this.snapshot.objects.get(key);
    if (!desired) return '';
    const { file, line } = desired.locate(path);
    return `${file}:${line}: ${formatPath(path)}: `;
  }

  /** The volume object that a service refers to, or that stands for the volume attached to it. */
  volumeOf(record: ObjectRecord, service: wire.Service | undefined): ObjectRecord | 'dangling' | undefined {
    const { namespace } = parseObjectKey(record.key);
    const { storage } = this.planned<'ContainerService'>(record).spec;
    if (storage?.volumeRef) {
      return this.store.record(objectKey('StorageVolume', namespace, storage.volumeRef.name)) ?? 'dangling';
    }
    const id = storage?.volumeId ?? service?.volumeId ?? undefined;
    return id === undefined ? undefined : this.store.recordOf(id);
  }

  /** Everything the volume planner looks at, from one account snapshot. */
  volumeInputs(record: ObjectRecord, handle: AccountHandle, snapshot: AccountSnapshot): VolumeInputs {
    const observed = this.identifyVolume(record, snapshot);
    return {
      object: this.planned<'StorageVolume'>(record),
      record,
      owner: this.owner,
      observation: observed.observation,
      attachedTo: this.attachedTo(
        observed.observation.kind === 'present' ? observed.observation.value : undefined,
        snapshot,
      ),
      volumesInAccount: snapshot.volumes.size,
      gates: this.gates(handle, snapshot),
    };
  }

  identifyVolume(record: ObjectRecord, snapshot: AccountSnapshot): Observed<wire.Volume> {
    return identify(this.identity(record), snapshot.volumes, volumeMarks);
  }

  identity(record: ObjectRecord) {
    const { spec, annotations: given } = this.planned<'ContainerService'>(record);
    const { adopt } = spec as ContainerServiceSpec | StorageVolumeSpec;
    const holder = adopt && this.store.recordOf(adopt.id);
    return {
      record,
      owner: this.owner,
      takenBy: holder && holder.key !== record.key ? holder.key : undefined,
      adoptId: adopt?.id,
      adoptFrom: given[annotations.adoptFrom],
    };
  }

  attachedTo(volume: wire.Volume | undefined, snapshot: AccountSnapshot): AttachedService {
    if (!volume) return { kind: 'none' };
    const id =
      volume.serviceId ??
      [...snapshot.services.values()].find((service) => service.volumeId === volume.id)?.id;
    if (!id) return { kind: 'none' };
    const state = snapshot.services.get(id)?.state;
    const record = this.store.recordOf(id);
    return record
      ? { kind: 'ours', name: parseObjectKey(record.key).name, state }
      : { kind: 'foreign', id, state };
  }

  gates(handle: AccountHandle, snapshot: AccountSnapshot): Gates {
    const brake = this.brake ?? this.#readBrake(handle, snapshot);
    return { creation: brake, deletion: brake, spending: spendingGate(handle, snapshot) };
  }

  /** An account read that lacks too many of our things is not believed. */
  #readBrake(handle: AccountHandle, snapshot: AccountSnapshot): Gate | undefined {
    if (this.#massChangeAllowed(handle.name)) return undefined;
    const known = this.#readBrakes.get(snapshot);
    if (known) return known === 'none' ? undefined : known;
    const ours = [...this.store.records()].filter(
      (record) =>
        record.account === handle.name &&
        record.externalId !== undefined &&
        !record.deletedByUs &&
        record.deletionRequestedAt === undefined,
    );
    const missing = ours.filter(
      ({ externalId = '' }) => !snapshot.services.has(externalId) && !snapshot.volumes.has(externalId),
    );
    const gate = isSuspiciousRead(ours.length, missing.length)
      ? readBrakeGate(handle.name, ours.length, missing.length)
      : undefined;
    this.#readBrakes.set(snapshot, gate ?? 'none');
    return gate;
  }
}

function formatPath(path: readonly (string | number)[]): string {
  return path.reduce<string>(
    (text, part) => (typeof part === 'number' ? `${text}[${part}]` : text ? `${text}.${part}` : part),
    '',
  );
}

function readBrakeGate(account: string, known: number, missing: number): Gate {
  return {
    kind: 'hold',
    reason: 'MassChangeBrake',
    message:
      `the account ${account} suddenly shows ${missing} of our ${known} objects no more (the limit is ${massChangeLimit(known)}): ` +
      'creations and deletions are stopped. Check that the key belongs to the right account. If the objects are really gone, annotate the ' +
      'Account with fleetkeeper.dev/allow-mass-change-until: "<time, RFC 3339>"',
  };
}

function spendingGate({ spec, name }: AccountHandle, snapshot: AccountSnapshot): Gate | undefined {
  const floor = spec.minimumBalanceMicros;
  if (floor === undefined || snapshot.balanceMicros >= floor) return undefined;
  return {
    kind: 'wait',
    reason: 'BalanceTooLow',
    message: `the balance of account ${name} is ${snapshot.balanceMicros} micro-USD, below minimumBalanceMicros ${floor}; nothing that costs more is created or started`,
  };
}
