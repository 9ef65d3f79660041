/**
 * The desired state, as it was last admitted, and the brakes that follow from it. The controller writes it,
 * passes read it.
 */
import { canonicalId, invariant, nearest, nearestOr, parseRfc3339 } from '../../base/index.ts';
import { placeText, type DesiredSnapshot } from '../../desired/index.ts';
import type { AccountSnapshot } from '../../observed/index.ts';
import {
  isSuspiciousRead,
  leavableFields,
  massChangeLimit,
  spendingGate,
  type Gate,
  type Gates,
  type JobAnswer,
  type Owner,
  type Plan,
  type PlannedObject,
} from '../plan/index.ts';
import {
  accountKey,
  accountNamed,
  accountPlaceOf,
  annotations,
  group,
  isOrigin,
  parseCommand,
  parseObjectKey,
  stateTraitsOf,
  timeAnnotations,
  traitsOf,
  type CommonSpec,
  type ManagedKind,
  type ObjectKey,
  type Specs,
} from '../../resources/index.ts';
import { mayHaveMade, type ObjectRecord, type StateStore } from '../../state/index.ts';
import type { AccountHandle } from '../accounts.ts';
import { rivalsOf } from './adopters.ts';
import { massChangeAdvice } from './advice.ts';
import { LastReadings } from './last-readings.ts';
import { Searches } from './searches.ts';
import { ownerGate, pathInOwner } from './derived.ts';
import { LeavingObjects } from './leaving.ts';
import { ManagedIds } from './managed-ids.ts';
import { MarkHolders, type MarkOf } from './mark-holders.ts';
import type { NearIndex } from './near-index.ts';
import { openWorkOf } from './open-work.ts';
import { isTakenIn, knownSpec } from './taken-in.ts';

/** The part of a source that a folder is. */
export const wholeSource = '';

/** The snapshot of the source, and what admission concluded from it. */

export interface SourceView {
  readonly snapshot: DesiredSnapshot;
  /** By part of the source: all of a folder, or a namespace of a cluster. */
  readonly brakes: ReadonlyMap<string, Gate>;
  readonly lingering: ReadonlyMap<ObjectKey, Gate>;
}

/** It stops creations and deletions. */
export interface EngagedBrake {
  /** A part of the source. Without it and without an account: the whole source. */
  readonly namespace: string | undefined;
  /** `namespace/name`: its read lacks too many things. */
  readonly account: string | undefined;
  readonly reason: string;
  readonly message: string;
}

export class Fleet {
  readonly store: StateStore;
  readonly owner: Owner;
  readonly #massChangeAllowed: (account: string) => boolean;
  readonly #wallMs: () => number;
  #source: SourceView;
  /** Services whose restart by remediation is being recorded and sent. Their records may not show it yet. */
  readonly remediating = new Set<ObjectKey>();
  readonly readings = new LastReadings();
  readonly searches = new Searches();
  /** The state of a Job in the cluster. Undefined in a folder. */
  jobs: ((namespace: string, name: string) => JobAnswer) | undefined;
  /**
   * The current snapshot has not been recorded yet. `newer`: an older one was, and nothing is changed because
   * of it. `first`: this process has recorded none, so records and documents don't match, and nothing is
   * concluded from them.
   */
  behind: 'first' | 'newer' | undefined;
  /** Makes the owned objects follow from the records as they are now. Resolves when that is durable. */
  rederive: () => Promise<void> = async () => {};
  readonly leaving: LeavingObjects;
  readonly openWork: NearIndex;
  readonly #managedIds: ManagedIds;
  readonly #markHolders: MarkHolders;
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
    this.leaving = new LeavingObjects(store);
    this.openWork = openWorkOf(store);
    this.#managedIds = new ManagedIds(store);
    this.#markHolders = new MarkHolders(store);
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

  /** Called in the same turn of the event loop as the save of the records. */
  take({ snapshot, brakes, lingering }: SourceView): void {
    this.#source = { snapshot, brakes, lingering };
  }

  /** See `knownSpec`. */
  specOf(record: ObjectRecord): CommonSpec | undefined;
  specOf(record: ObjectRecord): object | undefined {
    return knownSpec(record, this.snapshot);
  }

  /** The document, or the stored one of a removed object. Only of an object that is taken in (`specOf`). */
  planned(record: ObjectRecord): PlannedObject<CommonSpec>;
  planned<Kind extends ManagedKind>(record: ObjectRecord, kind: Kind): PlannedObject<Specs[Kind]>;
  planned(record: ObjectRecord, kind?: ManagedKind): PlannedObject<object> {
    const { kind: own, name } = parseObjectKey(record.key);
    invariant(kind === undefined || kind === own, `${record.key} is no ${kind}`);
    const desired = this.snapshot.objects.get(record.key);
    const spec = desired?.spec ?? record.manifest.spec;
    const isAccepted = this.driftAcceptedUntil(record) !== undefined;
    const gate = ownerGate(desired, record);
    return {
      ...(gate ? { gate } : {}),
      name,
      annotations: desired?.annotations ?? record.manifest.annotations,
      spec: isAccepted ? { ...spec, driftPolicy: 'Report' } : spec,
      deleting: record.deletionRequestedAt !== undefined,
      restartedFor: desired?.derived?.restartedFor,
    };
  }

  /** The account that the object belongs to. Undefined if nothing shows it. */
  accountOf(record: ObjectRecord): { readonly namespace: string; readonly name: string } | undefined {
    if (accountNamed(record.key) === undefined && !isTakenIn(record, this.snapshot)) return undefined;
    const spec = this.snapshot.objects.get(record.key)?.spec ?? record.manifest.spec;
    const place = accountPlaceOf(record.key, spec);
    if ('account' in place) return split(place.account);
    const service = this.store.record(place.with);
    // Its document may name another account now, but the service and its activity are in this one.
    const activity = stateTraitsOf(record.key).registered?.(record.kind);
    const isRegistered = activity !== undefined && this.store.recordOf(activity.serviceId) !== undefined;
    if (service && !isRegistered) return this.accountOf(service);
    return record.account === undefined ? undefined : split(record.account);
  }

  /** Unix milliseconds while an operator accepts the object's drift. Until then drift is only reported. */
  driftAcceptedUntil(record: ObjectRecord): number | undefined {
    return this.#isAhead(this.#annotationsOf(record)[annotations.acceptDriftUntil]);
  }

  /** An operator accepts lower revisions, for this object or for its whole account. */
  acceptsRevisions(record: ObjectRecord, account: AccountHandle): boolean {
    return this.#isAccepted(record, account, annotations.acceptRevisionsUntil);
  }

  /** An operator accepts unsigned bookkeeping, for this object or for its whole account. */
  acceptsBookkeeping(record: ObjectRecord, account: AccountHandle): boolean {
    return this.#isAccepted(record, account, annotations.acceptBookkeepingUntil);
  }

  #isAccepted(record: ObjectRecord, account: AccountHandle, annotation: string): boolean {
    const ofAccount = this.snapshot.objects.get(accountKey(account.name))?.annotations;
    return [this.#annotationsOf(record), ofAccount].some(
      (given) => this.#isAhead(given?.[annotation]) !== undefined,
    );
  }

  /** The first annotation of Fleetkeeper that is invalid. */
  annotationProblem(key: ObjectKey): { readonly name: string; readonly message: string } | undefined {
    for (const [name, value] of Object.entries(this.snapshot.objects.get(key)?.annotations ?? {})) {
      const [prefix = ''] = name.split('/', 1);
      const message =
        nearest(prefix, [group]) === undefined
          ? undefined
          : name === annotations.command
            ? this.#commandMistake(key, value)
            : annotationMistake(name, value);
      if (message !== undefined) return { name, message };
    }
    return undefined;
  }

  #commandMistake(key: ObjectKey, text: string): string | undefined {
    const { commands = {} } = traitsOf(parseObjectKey(key).kind);
    const command = parseCommand(text, commands, this.snapshot.cluster ? 'cluster' : 'folder');
    return typeof command === 'string' ? command : undefined;
  }

  #annotationsOf(record: ObjectRecord): Readonly<Record<string, string>> {
    return this.snapshot.objects.get(record.key)?.annotations ?? record.manifest.annotations;
  }

  #isAhead(time: string | undefined): number | undefined {
    const untilMs = time === undefined ? undefined : parseRfc3339(time);
    return untilMs !== undefined && untilMs > this.#wallMs() ? untilMs : undefined;
  }

  /**
   * The start of a message about a field: `file:line: path: `, or in a cluster `plural/namespace/name: path:
   * `. Empty if the document is gone.
   */
  whereIs(key: ObjectKey, path: readonly (string | number)[]): string {
    const desired = this.snapshot.objects.get(key);
    if (!desired) return '';
    const inDocument = desired.derived ? pathInOwner(desired.derived, path) : path;
    return `${placeText(desired.document.locate(path))}: ${formatPath(inDocument)}: `;
  }

  /** Adds the file and line to a message about a field. */
  located(key: ObjectKey, plan: Plan): Plan {
    if (plan.kind !== 'hold' || plan.path === undefined) return plan;
    return { ...plan, message: `${this.whereIs(key, plan.path)}${plan.message}` };
  }

  /** `madeId`: the thing that an operator names as made for the object. It is then treated as an adoption. */
  identity(record: ObjectRecord, madeId?: string, account?: AccountHandle) {
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
      rivals: () => (adopt ? rivalsOf(record.key, adopt.id, this.snapshot, this.store) : []),
      adoptFrom: given[annotations.adoptFrom],
      awaits: mayHaveMade(record, open, this.store.lastIntent(record.key)),
      holderOf: (id: string) => this.store.recordOf(id)?.key,
      others: (mark: string, markOf: MarkOf) =>
        this.#markHolders.others(record.key, mark, markOf).flatMap((key) => this.store.record(key) ?? []),
      inCluster: this.snapshot.cluster !== undefined,
      needsKey: this.snapshot.cluster !== undefined && !(account && this.acceptsBookkeeping(record, account)),
    };
  }

  /** An operator has confirmed a mass change. */
  allowsMassChange(account: string): boolean {
    return this.#massChangeAllowed(account);
  }

  /** The mass-change brakes that are engaged: of the source or its parts, and of what accounts show. */
  engagedBrakes(handles: Iterable<AccountHandle>): EngagedBrake[] {
    const ofSource = Array.from(this.brakes, ([part, { reason, message }]) => ({
      namespace: part === wholeSource ? undefined : part,
      account: undefined,
      reason,
      message,
    }));
    const ofReads = Array.from(handles).flatMap((handle) => {
      const { current } = handle.informer;
      const gate = current && this.readBrake(handle, current);
      return gate
        ? [{ namespace: undefined, account: handle.name, reason: gate.reason, message: gate.message }]
        : [];
    });
    return [...ofSource, ...ofReads];
  }

  gates(handle: AccountHandle, snapshot: AccountSnapshot): Gates {
    const [namespace = ''] = handle.name.split('/');
    const ofSource = this.brakes.get(wholeSource) ?? this.brakes.get(namespace);
    const brake = ofSource ?? this.readBrake(handle, snapshot);
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

  /** An account read that lacks too many managed things does not count. */
  readBrake(handle: AccountHandle, snapshot: AccountSnapshot): Gate | undefined {
    const known = this.#readBrakes.get(snapshot);
    if (known === 'none' || this.#massChangeAllowed(handle.name)) return undefined;
    if (known) return known;
    const { known: ours, missing } = this.#managedIds.count(handle.name, snapshot);
    const gate = isSuspiciousRead(ours, missing)
      ? readBrakeGate(handle.name, ours, missing, massChangeAdvice(this.snapshot, handle.name))
      : undefined;
    this.#readBrakes.set(snapshot, gate ?? 'none');
    return gate;
  }
}

function split(account: string): { readonly namespace: string; readonly name: string } {
  const [namespace = '', name = ''] = account.split('/');
  return { namespace, name };
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
      `the account ${account} suddenly lacks ${missing} of ${known} managed objects (the limit is ${massChangeLimit(known)}): ` +
      'creations and deletions are stopped. Check that the key belongs to the right account. If the objects are really gone, ' +
      advice,
  };
}

/** A misspelt annotation is not ignored, since it may be the one that was meant to stop Fleetkeeper. */
function annotationMistake(name: string, value: string): string | undefined {
  if (!Object.values<string>(annotations).includes(name)) {
    const advice = nearestOr(name, Object.values(annotations), 'correct the name, or remove it');
    return `there is no such annotation; ${advice}`;
  }
  const isFlag = name === annotations.paused || name === annotations.retireFirst;
  if (isFlag && value !== 'true' && value !== 'false') {
    return `"${value}" is neither "true" nor "false"`;
  }
  if (name === annotations.shedPriority && !/^(?:never|1000|\d{1,3})$/.test(value)) {
    return `"${value}" is neither a number from 0 to 1000 nor never`;
  }
  if (name === annotations.allowedOrigins) return 'it belongs on a Secret; remove it here';
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
    : `"${value}" is not a time; write one like 2027-01-31T12:00:00Z (RFC 3339), or remove the annotation`;
}
