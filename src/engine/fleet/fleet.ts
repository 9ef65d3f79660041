/**
 * What is wanted, as it was last admitted, and the brakes that follow from it. The controller writes it, passes
 * read it.
 */
import type { wire } from '../../api/index.ts';
import { canonicalId, parseRfc3339 } from '../../base/index.ts';
import {
  placeText,
  resolveCredentials,
  resolveEnvironment,
  type DesiredObject,
  type DesiredSnapshot,
} from '../../desired/index.ts';
import type { AccountSnapshot } from '../../observed/index.ts';
import {
  isSuspiciousRead,
  justRemediated,
  leavableFields,
  massChangeLimit,
  spendingGate,
  type DesiredCredentials,
  type DesiredEnvironment,
  type Gate,
  type Gates,
  type JobAnswer,
  type Owner,
  type PlannedObject,
} from '../plan/index.ts';
import {
  annotations,
  group,
  isOrigin,
  objectKey,
  originOf,
  parseObjectKey,
  timeAnnotations,
  type ObjectKey,
  type RemoteKind,
  type Specs,
} from '../../resources/index.ts';
import { mayHaveMade, type ObjectRecord, type StateStore } from '../../state/index.ts';
import type { AccountHandle } from '../accounts.ts';
import { massChangeAdvice } from './advice.ts';
import { ManagedIds } from './managed-ids.ts';
import { isTakenIn } from './taken-in.ts';
import { serviceKeyOf } from './tasks.ts';

/** The part of a source that a folder is. */
export const wholeSource = '';

/** What the source says, and what is made of what it does not say. */

export interface SourceView {
  readonly snapshot: DesiredSnapshot;
  /** By the part of the source: all of a folder, or a namespace of a cluster. */
  readonly brakes: ReadonlyMap<string, Gate>;
  readonly lingering: ReadonlyMap<ObjectKey, Gate>;
}

export class Fleet {
  readonly store: StateStore;
  readonly owner: Owner;
  readonly #massChangeAllowed: (account: string) => boolean;
  readonly #wallMs: () => number;
  #source: SourceView;
  /** Services whose restart by remediation is being written down and sent: their records may not tell of it yet. */
  readonly remediating = new Set<ObjectKey>();
  /** How a Job of the cluster stands; undefined where there is no cluster. */
  jobs: ((namespace: string, name: string) => JobAnswer) | undefined;
  /**
   * What the source says now could not be written down yet. `newer`: by the word of before nothing is changed. `first`: nothing was ever taken in by
   * this process, so records and documents do not belong together, and nothing is concluded from them either.
   */
  behind: 'first' | 'newer' | undefined;
  readonly #managedIds: ManagedIds;
  readonly #readBrakes = new WeakMap<AccountSnapshot, Gate | 'none'>();

  constructor(
    store: StateStore,
    owner: Owner,
    snapshot: DesiredSnapshot,
    massChangeAllowed: (account: string) => boolean,
    wallMs: () => number,
  ) {
    this.#wallMs = wallMs;
    this.store = store;
    this.#managedIds = new ManagedIds(store);
    this.owner = owner;
    this.#source = { snapshot, brakes: new Map(), lingering: new Map() };
    this.#massChangeAllowed = massChangeAllowed;
  }

  get snapshot(): DesiredSnapshot {
    return this.#source.snapshot;
  }

  get brakes(): SourceView['brakes'] {
    return this.#source.brakes;
  }

  get lingering(): SourceView['lingering'] {
    return this.#source.lingering;
  }

  get source(): SourceView {
    return this.#source;
  }

  /** In the same turn as the records that were made from it. */
  take({ snapshot, brakes, lingering }: SourceView): void {
    this.#source = { snapshot, brakes, lingering };
  }

  /** The document, or, for an object that is going, what was kept of it. */
  planned<Kind extends RemoteKind | 'ProtectedTask' = RemoteKind>(
    record: ObjectRecord,
  ): PlannedObject<Specs[Kind]> {
    const desired = this.snapshot.objects.get(record.key);
    const { name } = parseObjectKey(record.key);
    const spec = (desired?.spec ?? record.manifest.spec) as Specs[Kind];
    const isAccepted = this.driftAcceptedUntil(record) !== undefined;
    return {
      name,
      annotations: desired?.annotations ?? record.manifest.annotations,
      spec: isAccepted ? { ...spec, driftPolicy: 'Report' } : spec,
      deleting: record.deletionRequestedAt !== undefined,
    };
  }

  /** Where the account that an object lives in is to be looked for; undefined when nothing tells. */
  accountOf(record: ObjectRecord): { readonly namespace: string; readonly name: string } | undefined {
    const { kind, namespace, name } = parseObjectKey(record.key);
    if (kind === 'Account') return { namespace, name };
    if (!isTakenIn(record, this.snapshot)) return undefined;
    const spec = this.snapshot.objects.get(record.key)?.spec ?? record.manifest.spec;
    if (kind !== 'ProtectedTask') return { namespace, name: (spec as Specs[RemoteKind]).accountRef.name };
    const service = this.store.record(serviceKeyOf(record, spec as Specs['ProtectedTask']));
    // Whatever account its document names by now: there the service is, and there its activity was registered.
    const isRegistered =
      record.lease !== undefined && this.store.recordOf(record.lease.serviceId) !== undefined;
    if (service && !isRegistered) return this.accountOf(service);
    const [where, which] = record.account?.split('/') ?? [];
    return where !== undefined && which !== undefined ? { namespace: where, name: which } : undefined;
  }

  /** Unix milliseconds, while a person accepts the object's drift: until then it is only reported. */
  driftAcceptedUntil(record: ObjectRecord): number | undefined {
    return this.#isAhead(this.#annotationsOf(record)[annotations.acceptDriftUntil]);
  }

  /** A person has said that revisions may be lower than before: of this object, or of its whole account. */
  acceptsRevisions(record: ObjectRecord, account: AccountHandle): boolean {
    return this.#isAccepted(record, account, annotations.acceptRevisionsUntil);
  }

  /** A person has said that bookkeeping may be believed that is not signed: of this object, or of its whole account. */
  acceptsBookkeeping(record: ObjectRecord, account: AccountHandle): boolean {
    return this.#isAccepted(record, account, annotations.acceptBookkeepingUntil);
  }

  #isAccepted(record: ObjectRecord, account: AccountHandle, annotation: string): boolean {
    const [namespace = '', name = ''] = account.name.split('/');
    const ofAccount = this.snapshot.objects.get(objectKey('Account', namespace, name))?.annotations;
    return [this.#annotationsOf(record), ofAccount].some(
      (given) => this.#isAhead(given?.[annotation]) !== undefined,
    );
  }

  /** The first annotation of ours that says nothing that we understand. */
  annotationProblem(key: ObjectKey): { readonly name: string; readonly message: string } | undefined {
    for (const [name, value] of Object.entries(this.snapshot.objects.get(key)?.annotations ?? {})) {
      const message = name.startsWith(`${group}/`) ? annotationMistake(name, value) : undefined;
      if (message !== undefined) return { name, message };
    }
    return undefined;
  }

  #annotationsOf(record: ObjectRecord): Readonly<Record<string, string>> {
    return this.snapshot.objects.get(record.key)?.annotations ?? record.manifest.annotations;
  }

  #isAhead(time: string | undefined): number | undefined {
    const untilMs = time === undefined ? undefined : parseRfc3339(time);
    return untilMs !== undefined && untilMs > this.#wallMs() ? untilMs : undefined;
  }

  /** As it may be sent to the account; without one, as it is declared. */
  environment(key: ObjectKey, account: AccountHandle | undefined): DesiredEnvironment {
    const desired = this.snapshot.objects.get(key);
    if (desired?.kind !== 'ContainerService') return { kind: 'unmanaged' };
    const service = desired as DesiredObject<'ContainerService'>;
    const resolved = resolveEnvironment(service, this.snapshot, account && originOf(account.spec.url));
    if (resolved.ok) {
      return resolved.environment ? { kind: 'given', values: resolved.environment } : { kind: 'unmanaged' };
    }
    return { kind: 'problem', path: resolved.path, message: `${resolved.message}; ${resolved.remedy}` };
  }

  credentials(key: ObjectKey, account: AccountHandle | undefined): DesiredCredentials {
    const desired = this.snapshot.objects.get(key);
    if (desired?.kind !== 'ImageRegistry') return { kind: 'unmanaged' };
    const registry = desired as DesiredObject<'ImageRegistry'>;
    const resolved = resolveCredentials(registry, this.snapshot, account && originOf(account.spec.url));
    if (!resolved.ok) return { kind: 'problem', path: resolved.path, message: resolved.message };
    return resolved.credentials ? { kind: 'given', values: resolved.credentials } : { kind: 'unmanaged' };
  }

  /** `file:line: path: ` (in a cluster `plural/namespace/name: path: `) for the start of a message about a field; empty when the document is gone. */
  whereIs(key: ObjectKey, path: readonly (string | number)[]): string {
    const desired = this.snapshot.objects.get(key);
    if (!desired) return '';
    return `${placeText(desired.locate(path))}: ${formatPath(path)}: `;
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

  /** `madeId`: what a person says was made for the object, which is then looked at as an adoption. */
  identity(record: ObjectRecord, madeId?: string) {
    const { spec, annotations: given } = this.planned(record);
    const { adopt } = spec;
    const wantedId = madeId ?? adopt?.id;
    const adoptId = wantedId && canonicalId(wantedId);
    const holder = adoptId === undefined ? undefined : this.store.recordOf(adoptId);
    const open = this.store.openIntent(record.key);
    return {
      record: madeId === undefined ? record : { ...record, externalId: undefined },
      owner: this.owner,
      takenBy: holder && holder.key !== record.key ? holder.key : undefined,
      adoptId,
      adoptFrom: given[annotations.adoptFrom],
      awaits: mayHaveMade(record, open, this.store.lastIntent(record.key)),
      holderOf: (id: string) => this.store.recordOf(id)?.key,
    };
  }

  /** Of the services of one account: how many there are, and how many are being restarted by remediation. */
  remediations({ name }: AccountHandle, snapshot: AccountSnapshot, nowMs: number) {
    const isUnderWay = (record: ObjectRecord) =>
      this.remediating.has(record.key) ||
      (record.remediation !== undefined &&
        (justRemediated(record, nowMs) ||
          snapshot.services.get(record.externalId ?? '')?.state === 'provisioning'));
    const underWay = this.store
      .recordsOf(name)
      .filter((record) => parseObjectKey(record.key).kind === 'ContainerService' && isUnderWay(record));
    return { services: this.store.count(name, 'ContainerService'), underWay: underWay.length };
  }

  /** A person has said that a change of many things at once is meant. */
  allowsMassChange(account: string): boolean {
    return this.#massChangeAllowed(account);
  }

  gates(handle: AccountHandle, snapshot: AccountSnapshot): Gates {
    const [namespace = ''] = handle.name.split('/');
    const ofSource = this.brakes.get(wholeSource) ?? this.brakes.get(namespace);
    const brake = ofSource ?? this.#readBrake(handle, snapshot);
    const { spec, name, identity, funds, informer } = handle;
    const spending = spendingGate(name, {
      balanceMicros: informer.balanceMicros,
      currency: snapshot.currency,
      minimumBalanceMicros: spec.minimumBalanceMicros,
      emailVerified: identity.emailVerified,
      refusedAtMicros: funds.refusedAtMicros,
    });
    return { creation: brake, deletion: brake, spending };
  }

  /** An account read that lacks too many of our things is not believed. */
  #readBrake(handle: AccountHandle, snapshot: AccountSnapshot): Gate | undefined {
    if (this.#massChangeAllowed(handle.name)) return undefined;
    const known = this.#readBrakes.get(snapshot);
    if (known) return known === 'none' ? undefined : known;
    const { known: ours, missing } = this.#managedIds.count(handle.name, snapshot);
    const gate = isSuspiciousRead(ours, missing)
      ? readBrakeGate(handle.name, ours, missing, massChangeAdvice(this.snapshot, handle.name))
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

function readBrakeGate(account: string, known: number, missing: number, advice: string): Gate {
  return {
    kind: 'hold',
    reason: 'MassChangeBrake',
    message:
      `the account ${account} suddenly shows ${missing} of our ${known} objects no more (the limit is ${massChangeLimit(known)}): ` +
      'creations and deletions are stopped. Check that the key belongs to the right account. If the objects are really gone, ' +
      advice,
  };
}

/** A word that is misspelt must not be taken for none: it may be the one that was to stop us. */
function annotationMistake(name: string, value: string): string | undefined {
  if (!Object.values<string>(annotations).includes(name)) {
    return 'there is no such annotation; correct the name, or take it out';
  }
  if (name === annotations.paused && value !== 'true' && value !== 'false') {
    return `"${value}" is neither "true" nor "false"`;
  }
  if (name === annotations.allowedOrigins) return 'it belongs on a Secret; take it out here';
  if (name === annotations.acceptOrigin && !isOrigin(value)) {
    return `"${value}" is no origin; write scheme, host and port only, as https://api.example.com`;
  }
  if (name === annotations.leaveFields) {
    const unknown = value.split(',').filter((field) => !leavableFields.includes(field.trim()));
    if (unknown.length > 0) return `"${unknown.join(',')}" is none of ${leavableFields.join(', ')}`;
  }
  const isTime = !timeAnnotations.includes(name) || parseRfc3339(value) !== undefined;
  return isTime
    ? undefined
    : `"${value}" is no time; write one as 2027-01-31T12:00:00Z (RFC 3339), or take the annotation out`;
}
