/**
 * What clients may ask of a service: creation, patches, actions, the sleep policy, activities. The checks are
 * here, in this order: email (403), the request itself (400), the record (404), its revision and state (409),
 * funds and capacity (409). What then happens is in lifecycle.ts.
 */
import type { ServiceAction, ServiceCreate, ServicePatch, ServiceResources } from '../../api/wire.ts';
import { limits } from '../../api/wire.ts';
import { sameValue } from '../../base/stable.ts';
import type { Task } from './activities.ts';
import type { Placement } from './capacity.ts';
import { activityExpirySeconds, heartbeatSeconds, type RegionConfig } from './config.ts';
import { conflict, invalidRequest, notFound, revisionConflict } from './errors.ts';
import {
  requireFunds,
  requireGeographies,
  requirePrices,
  requireRegion,
  requireResources,
  requireVerifiedEmail,
} from './gates.ts';
import type { Lifecycle } from './lifecycle.ts';
import type { Platform } from './platform.ts';
import {
  holdsCompute,
  isStopping,
  stateText,
  type AccountRecord,
  type ServiceRecord,
} from '../store/records.ts';
import type { Volumes } from './volumes.ts';

export class Services {
  readonly #platform: Platform;
  readonly #volumes: Volumes;
  readonly #lifecycle: Lifecycle;

  constructor(platform: Platform, volumes: Volumes, lifecycle: Lifecycle) {
    this.#platform = platform;
    this.#volumes = volumes;
    this.#lifecycle = lifecycle;
  }

  find(account: AccountRecord, id: string): ServiceRecord {
    const service = this.#platform.store.services.get(id.toLowerCase());
    if (service?.accountId !== account.id) throw notFound('service', id);
    return service;
  }

  create(account: AccountRecord, spec: ServiceCreate): ServiceRecord {
    const { config, ledger, capacity, quotas, events, store, random } = this.#platform;
    requireVerifiedEmail(account);
    requireStorageForm(spec);
    requireResources(config, spec.resources);
    requireEnvironmentNames(spec.environment);
    this.#requireRunnable(spec.image, spec.environment);
    const region = requireRegion(config, spec.region);
    const geographies = requireGeographies(region, spec.geography);
    quotas.requireService(account);
    quotas.requireCompute(account.id, spec.resources);
    requireFunds(account, ledger);
    const attached =
      spec.volumeId === undefined
        ? undefined
        : this.#volumes.attachable(account, spec.volumeId, region.name, geographies);
    const places = attached ? [attached.geography] : geographies;
    requirePrices(region);
    const placement = capacity.place(region, places, spec.resources, spec.volumeGb);
    const id = random.uuid();
    const volumeId = attached
      ? this.#volumes.attach(attached, id).id
      : this.#addStorage(account, region, placement, id, spec);
    store.setEnvironment({ id, accountId: account.id }, spec.environment ?? {});
    const created = this.#lifecycle.launch(
      this.#draft(account, spec, { id, volumeId, region, placement }),
      {},
    );
    events.add(id, `created by ${account.name}`);
    return created;
  }

  patch(account: AccountRecord, id: string, revision: number, patch: ServicePatch): ServiceRecord {
    requireVerifiedEmail(account);
    if (Object.keys(patch).length === 0) {
      throw invalidRequest('patch: at least one of image, command, environment and httpPort must be present');
    }
    requireEnvironmentNames(patch.environment);
    this.#requireRunnable(patch.image, patch.environment);
    const service = this.find(account, id);
    if (revision !== service.revision) throw revisionConflict('service', revision, service.revision);
    if (service.state === 'deleting') throw conflict('invalid_state', 'the service is being deleted');
    const changed = this.#changedFields(service, patch);
    const { environment } = patch;
    const changes = {
      image: patch.image ?? service.image,
      command: patch.command ?? service.command,
      httpPort: patch.httpPort ?? service.httpPort,
      environmentNames: environment ? Object.keys(environment) : service.environmentNames,
    };
    if (environment) this.#platform.store.setEnvironment(service, environment);
    const relaunches = changed.length > 0 && holdsCompute(service) && !isStopping(service);
    const patched = relaunches
      ? this.#lifecycle.launch(service, { ...changes, ...this.#placeAgain(service) })
      : this.#lifecycle.patchRecord(service, changes, changed.length > 0);
    this.#platform.events.add(
      service.id,
      `patched by ${account.name}: ${changed.join(', ') || 'nothing differs'}`,
    );
    return patched;
  }

  act(account: AccountRecord, id: string, request: ServiceAction): ServiceRecord {
    const { config, ledger, events } = this.#platform;
    const { action } = request;
    const isGated = action !== 'stop' && action !== 'delete';
    if (isGated) requireVerifiedEmail(account);
    if (request.action === 'resize') requireResources(config, request.resources);
    const service = this.find(account, id);
    requireStateFor(action, service);
    if (isGated) requireFunds(account, ledger);
    events.add(service.id, `${action} requested by ${account.name}`);
    switch (request.action) {
      case 'start':
        this.#volumes.requireReady(service.volumeId);
        return this.#lifecycle.launch(service, this.#placeAgain(service));
      case 'restart':
        return this.#lifecycle.launch(service, this.#placeAgain(service));
      case 'resize':
        return this.#resize(service, request.resources);
      case 'stop':
        return this.#lifecycle.stop(service);
      case 'delete':
        return this.#lifecycle.remove(service);
    }
  }

  setSleepPolicy(account: AccountRecord, id: string, sleepAfterMinutes: number | null): ServiceRecord {
    const service = this.find(account, id);
    if (service.state === 'deleting') throw conflict('invalid_state', 'the service is being deleted');
    const policy = sleepAfterMinutes === null ? 'never sleep' : `sleep after ${sleepAfterMinutes} min idle`;
    this.#platform.events.add(service.id, `sleep policy set by ${account.name}: ${policy}`);
    return this.#lifecycle.write(service, {
      sleepAfterMinutes,
      idleSinceMs: this.#platform.time.nowMs(),
    });
  }

  recordActivity(account: AccountRecord, id: string, request: Task): object {
    const { activities, events, store, time } = this.#platform;
    const service = this.find(account, id);
    if (service.state === 'deleting') throw conflict('invalid_state', 'the service is being deleted');
    const outcome = activities.record(service.id, request);
    if (outcome !== 'unchanged') {
      events.add(service.id, `activity ${request.id} ${outcome} by ${account.name}`);
    }
    if (outcome === 'released') store.services.put({ ...service, idleSinceMs: time.nowMs() });
    return { id: request.id, heartbeatSeconds, expiresInSeconds: activityExpirySeconds };
  }

  /** Some images and variables reach into the machine that would run them. */
  #requireRunnable(image = '', environment: Readonly<Record<string, string>> = {}): void {
    const refusal = this.#platform.runtime.refusal?.(image, Object.keys(environment));
    if (refusal !== undefined) throw invalidRequest(refusal);
  }

  #resize(service: ServiceRecord, resources: ServiceResources): ServiceRecord {
    const region = this.#platform.capacity.regionOf(service);
    if (!holdsCompute(service)) {
      const hourlyMicros = computePrice(region, resources, service.gpuModel);
      return this.#lifecycle.write(service, { resources, hourlyMicros });
    }
    const placement = this.#placeAgain(service, resources);
    const hourlyMicros = computePrice(region, resources, placement.gpuModel);
    return this.#lifecycle.resize(service, { resources, ...placement, hourlyMicros });
  }

  /** With the price, where that is another one because the model is. */
  #placeAgain(
    service: ServiceRecord,
    resources = service.resources,
  ): Placement & Partial<Pick<ServiceRecord, 'hourlyMicros'>> {
    const { quotas, capacity } = this.#platform;
    quotas.requireCompute(service.accountId, resources, service);
    const placement = capacity.placeAgain(service, resources);
    if (placement.gpuModel === service.gpuModel) return placement;
    const hourlyMicros = computePrice(capacity.regionOf(service), resources, placement.gpuModel);
    return { ...placement, hourlyMicros };
  }

  #changedFields(service: ServiceRecord, patch: ServicePatch): string[] {
    const current = (field: string): unknown =>
      field === 'environment'
        ? this.#platform.store.environmentOf(service.id)
        : service[field as 'image' | 'command' | 'httpPort'];
    return Object.entries(patch)
      .filter(([field, value]) => !sameValue(current(field), value))
      .map(([field]) => field);
  }

  #addStorage(
    account: AccountRecord,
    region: RegionConfig,
    placement: Placement,
    serviceId: string,
    spec: ServiceCreate,
  ): string | null {
    if (spec.volumeGb === undefined) return null;
    return this.#volumes.add(account, region, {
      // Not half a pair.
      name: spec.name.slice(0, limits.volumeNameLength).replace(/[\uD800-\uDBFF]$/, ''),
      geography: placement.geography,
      sizeGb: spec.volumeGb,
      mode: spec.volumeMode === 'independent' ? 'independent' : 'service',
      serviceId,
    }).id;
  }

  #draft(
    account: AccountRecord,
    spec: ServiceCreate,
    made: { id: string; volumeId: string | null; region: RegionConfig; placement: Placement },
  ): ServiceRecord {
    return {
      id: made.id,
      accountId: account.id,
      name: spec.name,
      region: made.region.name,
      ...made.placement,
      registryAccess: null,
      image: spec.image,
      command: spec.command ?? null,
      resources: spec.resources,
      httpPort: spec.httpPort ?? null,
      environmentNames: Object.keys(spec.environment ?? {}),
      sleepAfterMinutes: spec.sleepAfterMinutes ?? null,
      volumeId: made.volumeId,
      state: 'provisioning',
      // The launch that follows makes it 1, and captures the access to the registry.
      revision: 0,
      endpoint: null,
      hourlyMicros: computePrice(made.region, spec.resources, made.placement.gpuModel),
      error: null,
      operation: null,
      idleSinceMs: this.#platform.time.nowMs(),
      createdAtMs: this.#platform.clock.wallMs(),
    };
  }
}

/** Rounded up to a whole micro-USD. */
function computePrice(region: RegionConfig, resources: ServiceResources, gpuModel: string | null): number {
  const { gpuHourMicros, gpuModelHourMicros = {}, cpuHourMicros, memoryGbHourMicros } = requirePrices(region);
  const gpuMicros = gpuModel === null ? gpuHourMicros : (gpuModelHourMicros[gpuModel] ?? gpuHourMicros);
  return Math.ceil(
    resources.gpuCount * gpuMicros + resources.cpu * cpuHourMicros + resources.memoryGb * memoryGbHourMicros,
  );
}

function requireStateFor(action: ServiceAction['action'], service: ServiceRecord): void {
  const { state } = service;
  const isUp = (state === 'running' || state === 'error') && !isStopping(service);
  const isDown = state === 'paused' || state === 'sleeping';
  const allowed = {
    start: isDown,
    stop: state === 'sleeping' || (holdsCompute(service) && service.operation?.kind !== 'stop'),
    restart: isUp,
    resize: isUp || isDown,
    delete: state !== 'deleting',
  };
  if (allowed[action]) return;
  throw conflict('invalid_state', `can't ${action} a service that is ${stateText(service)}`);
}

function requireStorageForm(spec: ServiceCreate): void {
  const { volumeGb, volumeMode, volumeId } = spec;
  const { min, max } = limits.volumeSizeGb;
  if (volumeGb !== undefined && volumeId !== undefined) {
    throw invalidRequest('volumeId: give either volumeGb (new storage) or volumeId (existing), not both');
  }
  if (volumeGb !== undefined && (volumeGb < min || volumeGb > max)) {
    throw invalidRequest(`volumeGb: must be between ${min} and ${max}`);
  }
  if (volumeMode !== undefined && volumeGb === undefined) {
    throw invalidRequest('volumeMode: only together with volumeGb');
  }
  if (volumeMode !== undefined && volumeMode !== 'independent' && volumeMode !== 'service') {
    throw invalidRequest('volumeMode: must be independent or service');
  }
}

function requireEnvironmentNames(environment: Readonly<Record<string, string>> | undefined): void {
  for (const [name, value] of Object.entries(environment ?? {})) {
    if (/[=\0]/.test(name)) throw invalidRequest('environment: a name must not contain "=" or NUL');
    if (value.includes('\0')) throw invalidRequest(`environment.${name}: a value must not contain NUL`);
  }
}
