import { describeOutcome, type Outcome, type ProbeResult, type wire } from '../api/index.ts';
import { canonicalId } from '../base/index.ts';
import type { Target } from '../execute/index.ts';
import type { AccountSnapshot } from '../observed/index.ts';
import {
  attachable,
  doubtsKept,
  keptVolume,
  namedVolume,
  ownForm,
  ownsStorage,
  planService,
  probation,
  replacementPricing,
  readMark,
  recheckMs,
  rememberedDigests,
  resolveTemplate,
  serviceDigests,
  servicePricing,
  shownService,
  viewVolume,
  volumeMadeWith,
  waitFor,
  type InSync,
  type Observation,
  type Placement,
  type Plan,
  type Pricing,
  type ServiceInputs,
  type Step,
  type TemplateResolution,
  type TemplateView,
  type VolumeView,
} from '../plan/index.ts';
import { isLoopback, remoteName, type ContainerServiceSpec, type ObjectKey } from '../resources/index.ts';
import type { ObjectRecord } from '../state/index.ts';
import {
  observedReferences,
  observedService,
  serviceAllocation,
  serviceHealth,
  templateOutdated,
} from '../status/index.ts';
import type { AccountHandle } from './accounts.ts';
import { exchangeOf } from './exchanges.ts';
import type { Fleet } from './fleet.ts';
import type { KindPass } from './kind-pass.ts';
import { duplicatesOf, identify, serviceMarks, type Observed } from './observe.ts';
import { registryView, templateView } from './references.ts';
import { RemotePass } from './remote-pass.ts';
import { declaredTasks } from './tasks.ts';

export class ServicePass extends RemotePass<wire.Service> implements KindPass {
  readonly kind = 'ContainerService';
  #activities: readonly wire.Activity[] | undefined;

  protected identify(snapshot: AccountSnapshot, madeId?: string): Observed<wire.Service> {
    return identify(this.fleet.identity(this.record(), madeId), snapshot.services, serviceMarks);
  }

  protected shown(snapshot: AccountSnapshot): ReadonlyMap<string, wire.Service> {
    return snapshot.services;
  }

  protected unidentified({ unidentified }: AccountSnapshot) {
    return unidentified?.services ?? [];
  }

  /** Not by its marks, where they can be read, and else not by its name. */
  protected couldBeMine(entry: wire.Service | wire.Unidentified<wire.Service>): boolean {
    const identity = this.fleet.identity(this.record());
    if (entry.environmentNames)
      return serviceMarks.of({ ...entry, id: '' }).includes(serviceMarks.own(identity));
    const { unreadable = [] } = entry;
    return (
      this.hidesMarks(entry) || unreadable.some(({ field, decides }) => decides && field.startsWith('env'))
    );
  }

  protected read(account: AccountHandle, id: string) {
    return account.api.service(id);
  }

  /** Another name than ours, and it is not the one that was lost. */
  protected override hidesMarks({
    environmentNames,
    name,
  }: wire.Service | wire.Unidentified<wire.Service>): boolean {
    const { name: objectName, spec } = this.fleet.planned<'ContainerService'>(this.record());
    const ours = remoteName('ContainerService', objectName, spec);
    return !environmentNames && (name === undefined || name.toLowerCase() === ours.toLowerCase());
  }

  async events(account: AccountHandle): Promise<Outcome<readonly wire.ServiceEvent[]>> {
    const id = this.seen.kind === 'present' ? this.seen.value.id : undefined;
    return id === undefined ? { kind: 'not-sent', reason: 'there is no service' } : account.api.events(id);
  }

  explain(error: string): void {
    if (this.seen.kind === 'present') this.seen = { kind: 'present', value: { ...this.seen.value, error } };
  }

  secrets(): readonly string[] {
    const environment = this.fleet.environment(this.key, undefined);
    return environment.kind === 'given' ? Object.values(environment.values.reveal()) : [];
  }

  protected markedByKey({ environmentNames }: wire.Service): boolean {
    const { owner } = this.fleet;
    return readMark(environmentNames, owner, this.record().uid).ours?.keyId === owner.digestKey.id;
  }

  /** A service that is found again is taken as it is: its restart token has been seen to. */
  protected bound(id: string): Partial<ObjectRecord> {
    const { spec } = this.fleet.planned<'ContainerService'>(this.record());
    return { externalId: id, deletedByUs: false, restartToken: spec.restartToken };
  }

  protected override marked(identity: ReturnType<Fleet['identity']>, snapshot: AccountSnapshot) {
    return duplicatesOf(identity, snapshot.services, serviceMarks);
  }

  plan(): Plan {
    return planService(this.#inputs());
  }

  override pricing(step: Step): Pricing | undefined {
    const service = this.seen.kind === 'present' ? this.seen.value : undefined;
    return servicePricing(step, this.#resolution(this.seen).spec, service);
  }

  roomFor(step: Step): Pricing | undefined {
    return replacementPricing(step, this.#resolution(this.seen).spec);
  }

  protected override placement(): Placement {
    const { region, geography, resources } = this.#resolution(this.seen).spec;
    return { region, geography, gpuCount: resources?.gpuCount ?? 0 };
  }

  protected override replaces(): boolean {
    return this.fleet.planned<'ContainerService'>(this.record()).spec.replacement === 'Recreate';
  }

  async readActivities(account: AccountHandle): Promise<Plan | undefined> {
    const id = this.seen.kind === 'present' ? this.seen.value.id : undefined;
    if (id === undefined) return undefined;
    const outcome = await account.api.activities(id);
    if (outcome.kind === 'applied') {
      this.#activities = outcome.value;
      return undefined;
    }
    return waitFor(
      'ActivitiesUnreadable',
      `before a disruptive change, activities: ${describeOutcome(outcome)}`,
      {
        recheckAfterMs: recheckMs.protection,
      },
    );
  }

  target(): Target {
    const inputs = this.#inputs();
    const target = this.targetOf(serviceDigests(inputs), inputs.object.spec.restartToken, (service) =>
      shownService(inputs, service),
    );
    const { taken: template } = this.#resolution(this.seen);
    return { ...target, record: { ...target.record, madeVolumeId: this.#madeVolumeId(), template } };
  }

  exchanges(): readonly ObjectKey[] {
    return this.#exchange().map(({ key }) => key);
  }

  #exchange(): readonly ObjectRecord[] {
    // In a cluster the object may go by itself during its pass.
    const record = this.store.record(this.key);
    return this.snapshot && record ? exchangeOf(this.fleet, record, this.snapshot) : [];
  }

  settledRecord({ differences }: InSync): Partial<ObjectRecord> {
    const inputs = this.#inputs();
    const { spec } = inputs.object;
    return {
      applied: rememberedDigests(this.record(), serviceDigests(inputs)),
      shownAs: { ...this.record().shownAs, ...ownForm(inputs, this.#present()) },
      ...doubtsKept(this.record(), differences),
      restartToken: spec.restartToken ?? this.record().restartToken,
      pausedFor: undefined,
      madeVolumeId: this.#madeVolumeId(),
      template: this.#resolution(this.seen).taken,
      remediation: probation(this.record(), inputs.nowMs).remediation,
      repeated: undefined,
      unconfirmed: [],
      refusal: undefined,
    };
  }

  mayRemediate(): boolean {
    const inputs = this.#inputs();
    const record = { ...inputs.record, remediation: undefined };
    return planService({ ...inputs, record, remediations: { services: 1, underWay: 0 } }).kind === 'act';
  }

  told() {
    const observation = this.lastSeen();
    const { spec, state: template } = this.#resolution(observation);
    const registry = registryView(this.fleet, this.record(), spec.image, this.snapshot);
    return {
      health: serviceHealth(spec, observation, this.#probe(spec, observation), this.secrets()),
      observed: { ...observedService(observation), ...observedReferences(template, registry) },
      revision: observation.kind === 'present' ? observation.value.revision : undefined,
      more: [...serviceAllocation(observation), ...templateOutdated(template)],
      reconcileAt: this.reconcileAt(),
    };
  }

  #inputs(): ServiceInputs {
    const record = this.record();
    const { seen } = this;
    const { spec, state: template } = this.#resolution(seen);
    const object = { ...this.fleet.planned<'ContainerService'>(record), spec };
    const service = seen.kind === 'present' ? seen.value : undefined;
    return {
      object,
      template,
      registry: registryView(this.fleet, record, spec.image, this.snapshot),
      record,
      owner: this.fleet.owner,
      observation: seen,
      environment: this.fleet.environment(this.key, this.handle),
      volume: object.deleting ? { kind: 'none' } : this.#volume(record, service),
      replacementVolume:
        object.deleting || !service ? { kind: 'none' } : this.#volume(record, undefined, service),
      attachedVolume: service && this.#attachedVolume(service),
      volumesInAccount: (this.snapshot?.volumes.size ?? 0) + this.#unidentifiedVolumes().length,
      ownsStorage: ownsStorage(
        object.spec,
        service,
        [...(this.snapshot?.volumes.values() ?? []), ...this.#unidentifiedVolumes()],
        (id) => this.store.recordOf(id) !== undefined,
      ),
      gates: this.gates(),
      driftBrake: this.driftBrake(),
      declaredTasks: declaredTasks(this.fleet, this.key, this.clock.wallMs()),
      activities: this.#activities,
      remediations: this.#remediations(object.spec, service),
      nowMs: this.clock.wallMs(),
    };
  }

  /** The spec with what the service takes of its template. */
  #resolution(observation: Observation<wire.Service>): TemplateResolution {
    const record = this.record();
    const { spec, deleting } = this.fleet.planned<'ContainerService'>(record);
    const service = observation.kind === 'present' ? observation.value : undefined;
    const view: TemplateView = deleting
      ? { kind: 'none' }
      : templateView(this.fleet, record, this.handle, this.snapshot);
    return resolveTemplate(spec, record, view, service);
  }

  /** The endpoint of a running service is looked at from here on, until the service runs no more. */
  #probe(
    { readiness }: ContainerServiceSpec,
    observation: Observation<wire.Service>,
  ): ProbeResult | undefined {
    const service = observation.kind === 'present' ? observation.value : undefined;
    if (!readiness || service?.state !== 'running' || !service.endpoint || !this.handle) {
      this.readiness.unwatch(this.key);
      return undefined;
    }
    return this.readiness.watch(this.key, {
      url: service.endpoint.replace(/\/+$/, '') + readiness.path,
      periodMs: readiness.periodSeconds * 1000,
      timeoutMs: readiness.timeoutSeconds * 1000,
      loopback: isLoopback(this.handle.spec.url),
    });
  }

  /** Counted only when it matters: all records are looked at. */
  #remediations({ onError }: ContainerServiceSpec, service: wire.Service | undefined) {
    const { handle, snapshot } = this;
    return service?.state === 'error' && onError && handle && snapshot
      ? this.fleet.remediations(handle, snapshot, this.clock.wallMs())
      : { services: 0, underWay: 0 };
  }

  #present(): wire.Service | undefined {
    return this.seen.kind === 'present' ? this.seen.value : undefined;
  }

  #attachedVolume(service: wire.Service): wire.Volume | undefined {
    return [...(this.snapshot?.volumes.values() ?? [])].find(
      ({ id, serviceId }) =>
        (serviceId === service.id || id === service.volumeId) && this.store.recordOf(id) === undefined,
    );
  }

  #madeVolumeId(): string | undefined {
    const { madeVolumeId } = this.record();
    if (this.seen.kind !== 'present' || !this.snapshot) return madeVolumeId;
    const { spec } = this.fleet.planned<'ContainerService'>(this.record());
    return volumeMadeWith(spec, this.seen.value, this.snapshot.volumes) ?? madeVolumeId;
  }

  #unidentifiedVolumes(): readonly wire.Unidentified<wire.Volume>[] {
    return this.snapshot?.unidentified?.volumes ?? [];
  }

  /** What `service` is attached to, or a new one would be, once `leaving` has gone. */
  #volume(record: ObjectRecord, service: wire.Service | undefined, leaving?: wire.Service): VolumeView {
    const object = this.fleet.planned<'ContainerService'>(record);
    const { storage } = object.spec;
    const volume = this.fleet.volumeOf(record, service);
    const path = ['spec', 'storage', 'volumeRef', 'name'];
    if (volume === 'dangling') {
      const message = `there is no StorageVolume ${storage?.volumeRef?.name} in this namespace; add its document, or correct the name`;
      return { kind: 'problem', reason: 'ReferenceNotFound', message, path };
    }
    const volumes = this.snapshot?.volumes;
    const going = leaving && new Set([leaving.id, ...this.#exchange().map(({ externalId }) => externalId)]);
    const goes = going && ((user: string) => going.has(user));
    if (storage?.volumeGb !== undefined && !service && volumes) {
      const name = remoteName('ContainerService', object.name, object.spec);
      const { madeVolumeId: id } = record;
      if (id !== undefined && !volumes.has(id) && this.#unidentifiedVolumes().length > 0) {
        const message = `the account does not show the volume ${id}, and shows volumes that can't be identified`;
        return { kind: 'not-ready', id, message };
      }
      return keptVolume(object, record, name, this.fleet.owner.digestKey, volumes, goes);
    }
    if (!volume || !this.snapshot || !this.handle) {
      const { volumeId } = storage ?? {};
      if (volumeId === undefined) return { kind: 'none' };
      if (service || !volumes) return { kind: 'usable', id: volumeId };
      return namedVolume(canonicalId(volumeId), object.spec, volumes, goes);
    }
    if (volume.account !== undefined && volume.account !== this.handle.name) {
      const message = `StorageVolume ${storage?.volumeRef?.name} lives in another account (${volume.account}); use one of ${this.handle.name}`;
      return { kind: 'problem', reason: 'ReferenceNotFound', message, path };
    }
    const isUnproven = volume.unproven && !this.store.ownerConfirmed;
    if ((isUnproven || volume.distrusted !== undefined) && service === undefined) {
      const message = `StorageVolume ${storage?.volumeRef?.name} may be another fleet's (OwnershipUnproven); see its own condition first`;
      return { kind: 'problem', reason: 'OwnershipUnproven', message, path };
    }
    const inputs = {
      ...this.fleet.volumeInputs(volume, this.handle, this.snapshot, this.money),
      driftBrake: this.driftBrake(volume.key),
    };
    const view = viewVolume(inputs);
    return service ? view : attachable(view, inputs, object.spec, goes);
  }
}
