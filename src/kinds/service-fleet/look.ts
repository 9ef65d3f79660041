/** Everything that the planner of a fleet may see: document, roster, and the records of its replicas. */
import { Sensitive } from '../../base/index.ts';
import {
  contentDigests,
  contentValues,
  hasSameValues,
  type Reading,
  type ShedFor,
  type View,
} from '../../engine/index.ts';
import { holdFor, protectedReason, type Plan } from '../../engine/plan/index.ts';
import { isReportedReady } from '../../engine/status/index.ts';
import { isReason, reasons, type Reason, type ReasonEntry } from '../../reasons/index.ts';
import {
  annotations,
  parseObjectKey,
  traitsOf,
  windowState,
  type ServiceState,
} from '../../resources/index.ts';
import type { ObjectRecord, OwnerRevision } from '../../state/index.ts';
import { containerService } from '../container-service/declaration.ts';
import { protectorOf, withoutReleased } from '../container-service/disruption.ts';
import { acknowledgedIn } from '../protected-task/tasks.ts';
import { resolveEnvironment } from '../container-service/environment-values.ts';
import { newestReading } from '../container-service/draining.ts';
import type { TemplateState, TemplateView } from '../container-service/inputs.ts';
import { accessValues } from '../image-registry/view.ts';
import { templateView } from '../service-template/view.ts';
import { candidatesOf, type Candidate } from './candidates.ts';
import { wantedReplicas } from './counts.ts';
import { endpointsOf, type FleetEndpoint } from './endpoints.ts';
import { isUntried } from './failure.ts';
import { environmentValues, faultText } from './fault-text.ts';
import type { FleetInputs, Measured } from './inputs.ts';
import { accountOf, marketsOf } from './markets.ts';
import { availableAt, beginMs, contentAt, type Replica } from './replica.ts';
import { contentOf, hasContent, newestHealthy, revisionOf, type PresentContent } from './revisions.ts';
import { targetOf } from './rollout.ts';
import { replicaKey } from './roster.ts';
import { rosterSeen } from './roster-seen.ts';
import type { ServiceFleetSpec } from './schema.ts';
import type { FleetState, RosterEntry } from './state.ts';
import { documentAt, isShown, otherSlots, shownReplica } from './slots-seen.ts';
import { resolveTemplate, templatePath } from './template.ts';
import { troubleOf } from './trouble.ts';
import { isSmallerThan, volumesSeen } from './volumes-seen.ts';
import type { VolumeFacts } from './volumes.ts';
import { crowdsOf, serviceOf, whereabouts } from './whereabouts.ts';

export type FleetView = View<ServiceFleetSpec, never, Measured, FleetState>;

/** So long a replica that was found protected counts as that. */
const sparedMs = 900_000;

export interface FleetLook extends FleetInputs {
  /** Why nothing is known of the roster yet. */
  readonly unread: Plan | undefined;
  /** Nothing of the plan is done. */
  readonly isPreview: boolean;
  readonly name: string;
  /** Of its document. */
  readonly generation: number;
  /** Of the objects of the replicas, by slot. */
  readonly uids: ReadonlyMap<number, string>;
  readonly endpoints: readonly FleetEndpoint[];
  /** It has fewer replicas because of a budget. */
  readonly shed: ShedFor | undefined;
  /** What it takes of a ServiceTemplate, for the status. */
  readonly template: TemplateState;
  /** Of the Secrets and ConfigMaps that the document refers to. */
  readonly presentValues: Sensitive<Readonly<Record<string, string>>>;
}

export function fleetLook(given: FleetView): FleetLook {
  const { record, key, fleet, clock, seen } = given;
  const nowMs = clock.wallMs();
  const shed = given.money.shedFor(key);
  const candidates = candidatesOf(given.object.spec);
  const { state, isFound, numberIsLost, unread } = rosterSeen(given, candidates, nowMs, documentAt(given));
  const { roster, volumes: kept = [] } = state;
  const volumes = volumesSeen(given, kept, roster, isFound, documentAt(given));
  const revisions = given.store.revisions(key);
  const update = revisionOf(revisions, record.kind.update);
  const healthy = newestHealthy(revisions);
  const { spec, ...templated } = resolveTemplate(
    given.object.spec,
    { state, update, healthy, shown: shownReplica(given, roster) },
    templateOf(given),
  );
  const object = { ...given.object, spec };
  const view = { ...given, object };
  const present = presentContent(view);
  const target = targetOf(record.kind, update, healthy);
  const { namespace } = parseObjectKey(key);
  const crowds = crowdsOf(spec, candidates, roster);
  const untried = revisions.find((revision) => isUntried(state, revision, healthy));
  const facts = { present, revisions, target, untried, nowMs, candidates, crowds, volumes: volumes.facts };
  const replicas = roster.map((entry) => replica(view, entry, facts));
  return {
    name: object.name,
    isPreview: given.mode === 'preview',
    object,
    ...templated,
    problem: templated.problem ?? missingValue(view, update, present),
    state,
    isFound,
    numberIsLost,
    unread,
    owner: fleet.store.ownerName,
    replicas,
    ...otherSlots(view, roster, candidates),
    volumes,
    wanted: {
      ...wantedReplicas(spec, nowMs, state.scaled, shed?.replicas),
      ...(shed?.replicas === undefined ? {} : { budget: shed.budget }),
    },
    shed,
    generation: record.generation,
    uids: new Map(
      roster.flatMap(({ slot }) => {
        const uid = fleet.store.record(replicaKey(key, slot))?.uid;
        return uid === undefined ? [] : [[slot, uid] as const];
      }),
    ),
    present,
    presentValues: new Sensitive(contentValues(fleet, namespace, present.data)),
    revisions,
    update,
    healthy,
    target,
    hasHealthyValues: healthy !== undefined && hasSameValues(fleet, namespace, healthy),
    isWindowClosed: !windowState(spec.template.spec.disruptionWindows, nowMs).open,
    markets: marketsOf(view, candidates),
    measured: seen.local ?? { by: undefined, results: new Map() },
    nowMs,
    endpoints: endpointsOf(fleet.store, key, nowMs) ?? [],
  };
}

function templateOf({ object: { spec }, key, fleet, ...view }: FleetView): TemplateView {
  const { accountRef, template } = spec;
  const { handle } = accountOf({ ...view, fleet, key }, accountRef.name);
  const user = { key, spec: { ...template.spec, accountRef }, specPath: templatePath };
  return templateView(fleet, user, handle, handle?.informer.current, view.mode);
}

/** A Secret or ConfigMap that a new revision needs, and nobody can give to its replicas. */
function missingValue(
  { fleet, key, object: { spec } }: FleetView,
  update: OwnerRevision | undefined,
  present: PresentContent,
): Plan | undefined {
  if (update && hasContent(update, present)) return undefined;
  const { namespace } = parseObjectKey(key);
  const resolved = resolveEnvironment({ spec: spec.template.spec, namespace }, fleet.snapshot);
  if (resolved.ok) return undefined;
  const path = [...templatePath, ...resolved.path.slice(1)];
  return holdFor(resolved.reason, `${resolved.message}; ${resolved.remedy}`, { path });
}

function presentContent({ fleet, key, object }: FleetView): PresentContent {
  const { namespace } = parseObjectKey(key);
  const { storage, template } = object.spec;
  const { spec } = template;
  const content = contentOf(spec, storage?.perReplica?.sizeGb);
  const data = traitsOf(containerService.name).data?.(spec) ?? [];
  return { content, data, ...contentDigests(fleet, namespace, content, data) };
}

interface RevisionFacts {
  readonly present: PresentContent;
  readonly revisions: readonly OwnerRevision[];
  readonly target: OwnerRevision | undefined;
  /** No replica has run it yet. */
  readonly untried: OwnerRevision | undefined;
  readonly nowMs: number;
  readonly candidates: readonly Candidate[];
  readonly crowds: ReadonlyMap<string, number>;
  readonly volumes: ReadonlyMap<number, VolumeFacts>;
}

function replica(
  view: FleetView,
  entry: RosterEntry,
  { present, revisions, target, untried, nowMs, candidates, crowds, volumes }: RevisionFacts,
): Replica {
  const { fleet, key, object, mode } = view;
  const { store } = fleet;
  const child = store.record(replicaKey(key, entry.slot));
  const own = child?.derived?.owner === key ? child : undefined;
  const isMade = mayBeThere(view, entry, own);
  const revision = revisionOf(revisions, entry.revision);
  const settled = own?.derived?.settled;
  const volume = entry.place.volume ? volumes.get(entry.slot) : undefined;
  const isTooSmall = isSmallerThan(volume, present);
  const isAsGranted = settled === present.digest || entry.granted === present.digest;
  const known = {
    revision,
    isSettled: revision !== undefined && settled === revision.digest && !isSmallerThan(volume, revision),
    isAsDocument: isAsGranted && !isTooSmall,
    reportsDifference: reportsDifference(own, mode === 'preview') || (isAsGranted && isTooSmall),
  };
  const { ready } = own?.report ?? {};
  const isReady = own !== undefined && isReportedReady(own);
  const waitsUntil =
    isReady && ready ? availableAt(ready.since, object.spec.update.minReadySeconds * 1000, nowMs) : undefined;
  const isAsItIsToBe = revision === undefined || known.isSettled;
  const isAsleep = ready?.reason === 'Sleeping';
  // It may have got the revision in its sleep.
  const isToWake = isAsleep && revision !== undefined && revision === untried;
  const isAvailable = isReady && waitsUntil === undefined && isAsItIsToBe && !isToWake;
  const isCurrent = revision !== undefined && settled === revision.digest;
  const correction = correctionOf(entry, own, { isCurrent, isAvailable, nowMs });
  const service = serviceOf(view, entry, own);
  const trouble = troubleOf(entry, own, isReady, {
    sentAt: own && store.lastIntent(own.key)?.createdAt,
    volumeWaits: volume?.pending,
  });
  const { remediation }: ServiceState = own?.kind ?? {};
  const facts = {
    ...known,
    entry,
    isRecorded: child !== undefined,
    isDeleted: entry.phase !== 'retiring' && own?.deletionRequestedAt !== undefined,
    isMade,
    isChosen: isChosen(view, entry),
    isUnproven:
      !store.ownerConfirmed &&
      (own?.unproven === true || (entry.revision === undefined && isShown(view, entry, own))),
    ...whereabouts(entry, { object, candidates, crowds, record: own, service, volume }),
    isReady,
    isAvailable,
    mayServe: isMade && !(own && isDown(own, service?.state)),
    availableAt: waitsUntil,
    isAsleep,
    isInError: own?.seen?.state === 'error',
    restartedAt: remediation?.at,
    correction,
    givenUp: isReady ? undefined : (givenUp(own) ?? lostVolume(own, volume)),
    ...protectionOf(entry, own, nowMs, own && lastReading(fleet, own)),
    ...trouble,
    excuse: trouble.excuse ?? (isToWake ? 'Sleeping' : undefined),
    faultText:
      trouble.fault === undefined
        ? undefined
        : faultText(trouble.fault, service, own, () => secretValues(view, present)),
    isBlocked:
      isBlocked(entry, own, known.isSettled) && store.openIntent(replicaKey(key, entry.slot)) === undefined,
  };
  return { ...facts, content: contentAt(facts, target) };
}

function secretValues(view: FleetView, present: PresentContent): string[] {
  const { image } = present.content as { readonly image?: string };
  const access = accessValues(view.fleet, parseObjectKey(view.key).namespace, image);
  return [...environmentValues(view, present), ...access];
}

function mayBeThere(view: FleetView, entry: RosterEntry, record: ObjectRecord | undefined): boolean {
  return (
    record?.externalId !== undefined ||
    record?.creationInDoubt !== undefined ||
    (record !== undefined && view.fleet.store.openIntent(record.key) !== undefined) ||
    isShown(view, entry, record)
  );
}

/** By an annotation, which only an object of a cluster can get. */
function isChosen({ fleet, key }: FleetView, { slot }: RosterEntry): boolean {
  const given = fleet.snapshot.objects.get(replicaKey(key, slot))?.annotations;
  return given?.[annotations.retireFirst] === 'true';
}

function isBlocked(entry: RosterEntry, record: ObjectRecord | undefined, isSettled: boolean): boolean {
  const { pending } = record?.report ?? {};
  return pending?.reason === protectedReason && entry.revision !== undefined && !isSettled;
}

const givenUpReasons: readonly string[] = [
  'RemediationExhausted',
  'ServiceError',
  'DataLost',
] satisfies Reason[];

/** With `driftPolicy: Report`, a replica that vanished is in sync, and not there. */
export function givenUp(record: ObjectRecord | undefined): Replica['givenUp'] {
  const { ready, pending } = record?.report ?? {};
  const reason = pending ? pending.reason : ready?.reason;
  const isOver = pending ? givenUpReasons.includes(pending.reason) : reason === 'NotThere';
  return isOver && ready && reason !== undefined ? { reason, since: ready.since } : undefined;
}

/** The files are gone in any case. Another replica gets a new volume. */
function lostVolume(record: ObjectRecord | undefined, volume: VolumeFacts | undefined): Replica['givenUp'] {
  const { ready } = record?.report ?? {};
  return volume?.pending === 'DataLost' && ready ? { reason: 'DataLost', since: ready.since } : undefined;
}

const inUse: ReadonlySet<string> = new Set(['running', 'sleeping']);

/**
 * It was observed in a state in which it does not work. One that could not be observed may work. `shown`: its state in the newest
 * account read. Its own pass may not have ended since, so it may work if that shows that it runs.
 */
export function isDown(
  { seen, report }: Pick<ObjectRecord, 'seen' | 'report'>,
  shown: string | undefined,
): boolean {
  const isStopped = seen?.state !== undefined && !inUse.has(seen.state);
  if (isStopped && shown !== undefined && inUse.has(shown)) return false;
  const reason = report?.ready?.reason;
  const entry: ReasonEntry | undefined =
    reason !== undefined && isReason(reason) ? reasons[reason] : undefined;
  return isStopped || entry?.isDown === true;
}

export function correctionOf(
  { corrects }: RosterEntry,
  record: Pick<ObjectRecord, 'report'> | undefined,
  { isCurrent, isAvailable, nowMs }: Readonly<{ isCurrent: boolean; isAvailable: boolean; nowMs: number }>,
): Replica['correction'] {
  const { pending } = record?.report ?? {};
  const isWaiting = isCurrent && pending?.reason === 'AwaitsTurn';
  if (corrects === undefined) return isWaiting ? 'asked' : 'none';
  if (isWaiting) return nowMs >= corrects && nowMs < corrects + beginMs ? 'running' : 'blocked';
  // With another template meanwhile, the rollout has its turn.
  return !isCurrent || (pending === undefined && isAvailable) ? 'done' : 'running';
}

/** In a preview, a replica had no pass with the present document before, unless it was found again in it. */
function reportsDifference(record: ObjectRecord | undefined, isPreview: boolean): boolean {
  const isReported = record?.report?.pending?.reason === 'AwaitsTurn';
  return isReported || (isPreview && record?.derived?.settled !== undefined);
}

/** Without activities of tasks whose release was acknowledged. */
function lastReading(fleet: FleetView['fleet'], { key, externalId = '' }: ObjectRecord): Reading | undefined {
  const last = fleet.readings.of(key);
  return (
    last && { ...last, activities: withoutReleased(last.activities, acknowledgedIn(fleet, key, externalId)) }
  );
}

export function protectionOf(
  { phase, since, spared }: RosterEntry,
  record: ObjectRecord | undefined,
  nowMs: number,
  last?: Reading,
): Pick<Replica, 'protection' | 'protector'> {
  // Nobody works in what is gone, whatever a task still asks for. If it is back, its own deletion reads the activities again.
  if (phase === 'draining' && record?.report?.ready?.reason === 'NotThere')
    return { protection: 'no', protector: undefined };
  const { activities }: ServiceState = record?.kind ?? {};
  const newest = newestReading(last, record?.kind ?? {}, nowMs);
  const protector =
    phase === 'draining' && newest && newest.askedAt >= since
      ? protectorOf({ activities: newest.activities, declaredTasks: [] })
      : undefined;
  // The record may lack it yet.
  if (protector !== undefined) return { protection: 'yes', protector };
  const isRead = activities && since <= activities.readAt && activities.readAt <= nowMs;
  if (phase === 'draining' && isRead) {
    const { by } = activities;
    return by === undefined
      ? { protection: 'no', protector: undefined }
      : { protection: 'yes', protector: by };
  }
  const isSpared = spared !== undefined && spared <= nowMs && nowMs < spared + sparedMs;
  return { protection: isSpared ? 'yes' : 'unknown', protector: undefined };
}
