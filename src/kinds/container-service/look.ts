/** Everything that the planner of a service may see: the object, the service, and what it refers to. */
import { isCreation } from '../../actions/index.ts';
import type { wire } from '../../api/index.ts';
import type { AccountSnapshot } from '../../observed/index.ts';
import type { AccountHandle, View } from '../../engine/index.ts';
import { parseObjectKey, type ContainerServiceSpec, type ServiceState } from '../../resources/index.ts';
import type { ObjectRecord } from '../../state/index.ts';
import { accessValues, registryView } from '../image-registry/view.ts';
import { acknowledgedIn, declaredTasks, hasRegisteredTask } from '../protected-task/tasks.ts';
import { taskTime } from '../protected-task/time.ts';
import { templateView } from '../service-template/view.ts';
import { desiredEnvironment } from './desired-environment.ts';
import { withoutReleased } from './disruption.ts';
import { newestReading } from './draining.ts';
import type { ServiceInputs, TemplateView } from './inputs.ts';
import { justRemediated } from './remediation.ts';
import { ownsStorage, storageMadeWith, volumeMadeWith } from './storage.ts';
import { resolveTemplate } from './template.ts';
import { volumeFor } from './volume.ts';

export type ServiceView = View<ContainerServiceSpec, wire.Service, undefined, ServiceState>;

export interface ServiceLook extends ServiceInputs {
  /** What it has taken of its template, for the record. */
  readonly taken: ServiceState['template'];
  /** The volume that the provider made for it. */
  readonly madeVolumeId: string | undefined;
  /** Unix milliseconds at which the activities were asked for. */
  readonly activitiesAskedAt: number | undefined;
  /** Unix milliseconds at which the account read began in which it was looked for. */
  readonly observedAt: number | undefined;
  /** A creation of it may still take effect. */
  readonly mayAppear: boolean;
  /** Of the account, where there is one. */
  readonly apiUrl: string | undefined;
}

/** Values of the environment, and of the access to the image: the provider may repeat them in an error. */
function secretValues({ fleet, key, object }: Pick<ServiceView, 'fleet' | 'key' | 'object'>): string[] {
  const environment = desiredEnvironment(fleet, key, undefined, false);
  const values = environment.kind === 'given' ? Object.values(environment.values.reveal()) : [];
  return [...values, ...accessValues(fleet, parseObjectKey(key).namespace, object.spec.image)];
}

export function serviceLook(view: ServiceView): ServiceLook {
  const { fleet, key, record, store, clock } = view;
  const { observation, account, snapshot } = view.seen;
  const service = observation.kind === 'present' ? observation.value : undefined;
  const { deleting } = view.object;
  const user = { key, spec: view.object.spec, specPath: ['spec'] };
  const from: TemplateView = deleting
    ? { kind: 'none' }
    : templateView(fleet, user, account, snapshot, view.mode);
  const { spec, state: template, taken } = resolveTemplate(view.object.spec, record, from, service);
  const object = { ...view.object, spec };
  const { region, geography, resources } = spec;
  const unidentified = snapshot?.unidentified?.volumes ?? [];
  const environment = desiredEnvironment(fleet, key, account, service !== undefined);
  return {
    object,
    template,
    taken,
    registry: registryView(fleet, record, spec.image, snapshot),
    record,
    owner: fleet.owner,
    observation,
    environment,
    secretValues: () => secretValues({ fleet, key, object }),
    volume: deleting ? { kind: 'none' } : volumeFor(view, service),
    replacementVolume: deleting || !service ? { kind: 'none' } : volumeFor(view, undefined, service),
    attachedVolume: service && attachedVolume(view, service),
    madeVolumeId:
      service && snapshot ? madeVolumeId(view, service, snapshot.volumes) : record.kind.madeVolumeId,
    volumesInAccount: (snapshot?.volumes.size ?? 0) + unidentified.length,
    ownsStorage: ownsStorage(
      spec,
      service,
      [...(snapshot?.volumes.values() ?? []), ...unidentified],
      (id) => store.recordOf(id) !== undefined,
      storageMadeWith(spec, record, fleet.owner.digestKey),
    ),
    gates: view.gates({ region, geography, gpuCount: resources?.gpuCount ?? 0 }),
    driftBrake: view.driftBrake(),
    declaredTasks: declaredTasks(fleet, key, taskTime(view, account), view.mode),
    holdsActivity: () => hasRegisteredTask(fleet, key) || holdsActivity(view),
    ...activitiesOf(view),
    observedAt: snapshot && clock.wallMs() - (clock.monotonicMs() - snapshot.startedAtMs),
    mayAppear: mayAppear(view),
    remediations: remediations(view, service),
    shed: shedView(view),
    nowMs: clock.wallMs(),
    apiUrl: account?.spec.url,
  };
}

/** The record shows that it is to be paused for a budget as soon as the request is recorded. */
function shedView({ money, key, record, store }: ServiceView): ServiceInputs['shed'] {
  const order = money.shedFor(key);
  const wasStopped = record.kind.pausedFor === 'Budget' && store.openIntent(key) === undefined;
  return order && { ...order, wasStopped };
}

function holdsActivity({ registrations, record, seen }: ServiceView): boolean {
  const { externalId } = record;
  if (externalId === undefined || seen.askedAtMs === undefined) return false;
  const evidence = registrations.evidenceOf(externalId, seen.askedAtMs);
  return evidence === 'accepted' || evidence === 'awaited';
}

/** While it drains, what a pass before has read and could not save is still to be saved. */
function activitiesOf({ seen, object, fleet, key, record, clock }: ServiceView) {
  const { activities, activitiesAskedAt } = seen;
  const isKept = activities === undefined && object.gate?.reason === 'Draining';
  const kept = isKept ? newestReading(fleet.readings.of(key), record.kind, clock.wallMs()) : undefined;
  const read = kept ?? { activities, askedAt: activitiesAskedAt };
  return {
    activities:
      read.activities &&
      withoutReleased(read.activities, acknowledgedIn(fleet, key, record.externalId ?? '')),
    activitiesAskedAt: read.askedAt,
  };
}

function mayAppear({ key, record, store }: ServiceView): boolean {
  const intent = store.openIntent(key);
  return record.creationInDoubt !== undefined || (intent !== undefined && isCreation(intent.action));
}

function madeVolumeId(
  { object: { spec }, record }: ServiceView,
  service: wire.Service,
  volumes: ReadonlyMap<string, wire.Volume>,
): string | undefined {
  return volumeMadeWith(spec, service, volumes) ?? record.kind.madeVolumeId;
}

function attachedVolume({ seen, store }: ServiceView, service: wire.Service): wire.Volume | undefined {
  return [...(seen.snapshot?.volumes.values() ?? [])].find(
    ({ id, serviceId }) =>
      (serviceId === service.id || id === service.volumeId) && store.recordOf(id) === undefined,
  );
}

/** Counted only when it matters: all records of the account are read. */
function remediations(view: ServiceView, service: wire.Service | undefined): ServiceInputs['remediations'] {
  const { account, snapshot } = view.seen;
  return service?.state === 'error' && view.object.spec.onError && account && snapshot
    ? remediationsIn(view, account, snapshot)
    : { services: 0, underWay: 0 };
}

/** Of the services of one account: how many there are, and how many are being restarted by remediation. */
function remediationsIn(
  { fleet, store, clock }: ServiceView,
  { name }: AccountHandle,
  { services }: AccountSnapshot,
): ServiceInputs['remediations'] {
  const nowMs = clock.wallMs();
  const isUnderWay = (record: ObjectRecord) =>
    fleet.remediating.has(record.key) ||
    ((record.kind as ServiceState).remediation !== undefined &&
      (justRemediated(record.kind, nowMs) ||
        services.get(record.externalId ?? '')?.state === 'provisioning'));
  const underWay = store
    .recordsOf(name)
    .filter((record) => parseObjectKey(record.key).kind === 'ContainerService' && isUnderWay(record));
  return { services: store.count(name, 'ContainerService'), underWay: underWay.length };
}
