/** What is left to be done once the faults have stopped: nothing may be, within a bounded time. */
import { sameValue } from '../../src/base/index.ts';
import { parseBeacon } from '../../src/engine/plan/index.ts';
import { objectKey, parseObjectKey, type ObjectKey } from '../../src/resources/index.ts';
import { environmentOf, withoutBeacon, type Document } from './documents.ts';
import { fleetProblem, siblingsOf } from './fleet-liveness.ts';
import {
  fleetOf,
  placeInFleet,
  asAsked,
  replicaDocument,
  rosterOf,
  volumeDocument,
  volumeInFleet,
  volumesOf,
} from './fleets.ts';
import type { Users } from './users.ts';
import type { Json, View } from './watch.ts';
import { taskPart } from '../support/kind-state.ts';

export interface Unsettled {
  readonly invariant: 'L1' | 'L2' | 'L3' | 'L6' | 'S22' | 'FI8';
  readonly message: string;
}

/** What waits for a task to end, and for what waits for that; nobody ends a task before the end. */
const waitsForPeople = new Set([
  'Protected',
  'PausingService',
  'VolumeNotReady',
  'Attached',
  'ServiceNotThere',
  'VolumeExchange',
  'ReplicasProtected',
]);

/** It says what a person has to do, or waits for people. */
function tellsPeople({ disk }: View, key: ObjectKey): boolean {
  return (disk.record(key)?.status?.conditions ?? []).some(
    ({ type, status, reason, message }) =>
      (type === 'Stalled' && status === 'True') ||
      (type === 'Reconciling' &&
        status === 'True' &&
        (waitsForPeople.has(reason) || isKept(reason, message))),
  );
}

/** A correction that its fleet allows now and then waits for the work in the replica, under one reason. */
function isKept(reason: string, message: string): boolean {
  return reason === 'AwaitsTurn' && / waits for the (ProtectedTask|activity) /.test(message);
}

/**
 * The API hides some values. Only a moved revision shows that somebody may have changed them. They are sent once for each generation; after that,
 * they are reported. Of an environment nobody can know where something else moved the revision, too.
 */
function isReportedAsHidden(view: View, key: ObjectKey, document: Document): boolean {
  const { status, externalId, generation } = view.disk.record(key) ?? {};
  if (document.kind !== 'ContainerService') return false;
  const unlike = fieldsUnlike(view, externalId, document.spec);
  const reported = new Set(
    status?.drift?.flatMap(({ path, kind }) => (kind === 'RevisionMoved' ? path : [])),
  );
  const canBeKnown = !view.neighbours || view.neighbours.changed.get(externalId ?? '') === generation;
  const isReported = (path: string) => reported.has(path) || (path === 'env' && !canBeKnown);
  return unlike.length > 0 && unlike.every(isReported);
}

/** S22: what carries the mark of an object, and is not what is recorded for it, is told. */
function unreportedCopy(view: View): Unsettled | undefined {
  const { neighbours, plane, disk } = view;
  for (const [id, key] of neighbours?.copies ?? []) {
    const state = plane.store?.services.get(id)?.state;
    const record = disk.record(key);
    if (state === undefined || state === 'deleting' || !record?.status) continue;
    // Somebody may have given the copy another environment since.
    const isMarked = Object.keys(plane.store?.environmentOf(id) ?? {}).some((name) => parseBeacon(name));
    if (!isMarked) continue;
    if (record.deletionRequestedAt !== undefined) continue;
    const { duplicates = [], conditions } = record.status;
    const isReported =
      duplicates.some((each) => each.id === id) || conditions.some(({ message }) => message.includes(id));
    if (!isReported)
      return { invariant: 'S22', message: `${id} carries the mark of ${key}: ${shown(view, key)}` };
  }
  return undefined;
}

/** An object that is not as wanted, and neither says what a person has to do nor waits for people. */
export function stuck(view: View, users: Users): Unsettled | undefined {
  const documents = new Map(users.documents());
  for (const { key, deletionRequestedAt } of view.disk.records()) {
    const document = documents.get(key) ?? asOwned(view, key);
    if (siblingsOf(view, key).some((each) => isExcused(view, each))) continue;
    const service: string | undefined = document?.spec.serviceRef?.name;
    if (document && isReportedAsHidden(view, key, document)) continue;
    const isOfReported =
      service !== undefined && tellsPeople(view, objectKey('ContainerService', 'default', service));
    if (isOfReported || tellsPeople(view, key) || parseObjectKey(key).kind === 'Account') continue;
    if (!document || deletionRequestedAt !== undefined)
      return { invariant: 'L2', message: `${key} is still there: ${shown(view, key)}` };
    const problem = problemOf(view, key, document);
    if (problem) return problem;
  }
  const unreported = unreportedCopy(view);
  if (unreported) return unreported;
  const missing = [...documents.keys()].find((key) => !view.disk.record(key));
  return missing && { invariant: 'L1', message: `${missing} has not been taken in` };
}

/** The document that a replica or its volume would have, if its fleet has it. */
function asOwned(view: View, key: ObjectKey): Document | undefined {
  const fleet = fleetOf(key);
  const asked: Json = fleet && view.wanted.get(fleet)?.spec;
  if (fleet === undefined || !asked) return undefined;
  const spec = asAsked(asked, view.wanted);
  const slot = (placeInFleet(key) ?? volumeInFleet(key))?.slot;
  const entry = rosterOf(view.disk, fleet)?.find((each) => each.slot === slot);
  if (placeInFleet(key)) return entry?.phase === 'wanted' ? replicaDocument(key, spec) : undefined;
  const isUsed = entry?.phase === 'wanted' && spec.storage?.perReplica !== undefined;
  return slot !== undefined && volumesOf(view.disk, fleet).includes(slot)
    ? volumeDocument(key, spec, isUsed)
    : undefined;
}

function isExcused(view: View, key: ObjectKey): boolean {
  const document = asOwned(view, key);
  return tellsPeople(view, key) || (document !== undefined && isReportedAsHidden(view, key, document));
}

/** Undefined when the account is as everybody wants it, and the records say so. */
export function unsettled(view: View, users: Users): Unsettled | undefined {
  const { disk, plane } = view;
  if (!plane.isUp) return { invariant: 'L1', message: 'the control plane is down' };
  for (const { object, outcome, action } of disk.intents()) {
    if (outcome === 'unknown' || outcome === 'pending') {
      return {
        invariant: 'L3',
        message: `what became of ${action} for ${object} is not known: ${shown(view, object)}`,
      };
    }
  }
  for (const { key } of disk.records()) {
    const isWanted =
      view.wanted.has(key) || parseObjectKey(key).kind === 'Account' || asOwned(view, key) !== undefined;
    if (!isWanted) return { invariant: 'L2', message: `${key} is still there: ${shown(view, key)}` };
  }
  for (const [key, document] of users.documents()) {
    const problem = problemOf(view, key, document);
    if (problem) return problem;
  }
  return undefined;
}

function problemOf(view: View, key: ObjectKey, document: Document): Unsettled | undefined {
  if (document.kind === 'ProtectedTask') return taskProblem(view, key, document);
  if (document.kind !== 'ServiceFleet') return thingProblem(view, key, document);
  const problem = fleetProblem(view, key, document) ?? (isReady(view, key) ? undefined : 'not Ready');
  return problem === undefined
    ? undefined
    : { invariant: 'FI8', message: `${key} is not as wanted (${problem}): ${shown(view, key)}` };
}

function taskProblem(view: View, key: ObjectKey, { spec }: Document): Unsettled | undefined {
  const record = view.disk.record(key);
  const { registration, releasedAt } = taskPart(record);
  const isDone = spec.released
    ? registration === undefined || releasedAt !== undefined
    : isReady(view, key) || releasedAt !== undefined;
  if (record && isDone) return undefined;
  return {
    invariant: 'L6',
    message: `${key} is not ${spec.released ? 'released' : 'held'}: ${shown(view, key)}`,
  };
}

function thingProblem(view: View, key: ObjectKey, document: Document): Unsettled | undefined {
  const record = view.disk.record(key);
  const unlike = record && differenceOf(view, record.externalId, document);
  if (record && isReady(view, key) && unlike === undefined) return undefined;
  return {
    invariant: 'L1',
    message: `${key} is not as wanted (${unlike ?? 'not Ready'}): ${shown(view, key)}`,
  };
}

/** What a document does not give is left to the service. */
function fieldsOf(spec: Json): Json {
  const { image, httpPort } = spec;
  const env = environmentOf(spec);
  const resources = spec.resources && { gpuCount: 0, ...spec.resources };
  return {
    ...(image && { image }),
    ...(resources && { resources }),
    ...(httpPort === undefined ? {} : { httpPort }),
    ...(env && { env }),
  };
}

/** Between the document of a service and what really exists. */
function fieldsUnlike({ plane }: Pick<View, 'plane'>, id = '', spec: Json): string[] {
  const service = plane.store?.services.get(id);
  if (!plane.store || !service) return [];
  const wanted = fieldsOf(spec);
  const is: Json = { ...service, env: withoutBeacon(plane.store.environmentOf(id)) };
  return Object.keys(wanted).filter((field) => !sameValue(wanted[field], is[field]));
}

/** Between the document and what really exists. */
function differenceOf({ plane }: View, id: string | undefined, { kind, spec }: Document): string | undefined {
  if (id === undefined || !plane.store) return 'not made';
  const { services, volumes, templates, registries } = plane.store;
  switch (kind) {
    case 'ContainerService': {
      const service = services.get(id);
      if (!service) return 'gone';
      const states = spec.desiredState === 'Stopped' ? ['paused'] : ['running', 'sleeping'];
      if (!states.includes(service.state)) return `in the state ${service.state}`;
      const unlike = fieldsUnlike({ plane }, id, spec);
      return unlike.length === 0 ? undefined : `not as declared in ${unlike.join(', ')}`;
    }
    case 'StorageVolume': {
      const volume = volumes.get(id);
      return volume && volume.sizeGb >= spec.sizeGb
        ? undefined
        : `${volume?.sizeGb} GB and not ${spec.sizeGb}`;
    }
    case 'ServiceTemplate':
      return templates.get(id)?.image === spec.image ? undefined : 'another image';
    case 'ImageRegistry':
      return registries.get(id) ? undefined : 'gone';
    case 'ProtectedTask':
    case 'ServiceFleet':
      return undefined;
  }
}

function isReady({ disk }: View, key: ObjectKey): boolean {
  const record = disk.record(key);
  const { status, generation, deletionRequestedAt } = record ?? {};
  const ready = status?.conditions.find(({ type }) => type === 'Ready');
  return (
    ready?.status === 'True' && status?.observedGeneration === generation && deletionRequestedAt === undefined
  );
}

function shown({ disk }: View, key: ObjectKey): string {
  const conditions = disk.record(key)?.status?.conditions ?? [];
  return conditions
    .filter(({ type }) => type === 'Ready' || type === 'Stalled' || type === 'Synced')
    .map(({ type, status, reason, message }) => `${type}=${status} ${reason}: ${message}`)
    .join('; ');
}
