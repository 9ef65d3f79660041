/**
 * The life of a service.
 *
 *   create ──> provisioning ──> running ──(idle)──> sleeping
 *                 ^    │         │  │                  │ start
 *                 │    └> error <┘  │ stop             v
 *                 │         └───────┤              provisioning
 *                 │                 v
 *                 └──── start ── paused
 *
 * `provisioning`: compute is allocated; once the service's volume is ready, the image is pulled and launched. It
 * ends in `running` (with an endpoint if there is an HTTP port) or, when that fails, in `error`. A running service
 * whose container ends by itself is in `error`, too. There the compute stays allocated, and is charged, until
 * `restart`, `resize`, a patch (all: provisioning again), `stop` or `delete`.
 *
 * `stop` is accepted in `provisioning`, `running` and `error`: the state stays as it is while the containers
 * stop (the operation `stop` is pending, the endpoint is gone), then it is `paused`. A sleeping service has
 * nothing to stop and is paused at once. While a stop is pending only `delete` and patches are accepted.
 *
 * `start` leads from `paused` and `sleeping` to `provisioning`; `restart` and `resize` do so from `running` and
 * `error`. A resize of a running service leaves its container as it is where the runtime can, and replaces it otherwise.
 * A resize of a paused or sleeping service only changes the record. A patch that changes something
 * takes a provisioning, running or erroneous service through `provisioning`; otherwise only the record changes.
 *
 * A running service with a sleep policy falls asleep when it has been idle that long: since it became running, was
 * last used, had its policy set, or had its last activity released, whichever is latest. Unreleased activities
 * keep it awake. Falling asleep is like a pending stop (the operation is `sleep`), but `stop` is accepted; it ends
 * in `sleeping`. If the service turns out to be in use, it continues to run; if an activity was registered
 * meanwhile, it is launched again. Sleeping and paused services hold no compute.
 *
 * `delete` is accepted everywhere but in `deleting`. When the removal is done the record is gone, together with
 * storage that the service owns; an independent volume is detached and stays.
 *
 * Every step, and every accepted change, advances the revision by one. When the funds are exhausted, every
 * service that holds compute is stopped.
 */
import { Sensitive } from '../../base/sensitive.ts';
import { Agenda } from './agenda.ts';
import { newOperation, type Platform } from './platform.ts';
import {
  holdsCompute,
  isStopping,
  serviceCharge,
  type Operation,
  type ServiceOperationKind,
  type ServiceRecord,
} from '../store/records.ts';
import type { Launch, Report, RuntimeRequest } from './runtime.ts';
import type { Volumes } from './volumes.ts';

type How = Pick<Operation<ServiceOperationKind>, 'isResize'>;
type Changes = Partial<Omit<ServiceRecord, 'id' | 'accountId' | 'revision'>>;

export class Lifecycle {
  readonly #platform: Platform;
  readonly #volumes: Volumes;
  readonly #idle: Agenda;
  /** What is to be stopped for lack of funds. */
  readonly #broke: Agenda;

  constructor(platform: Platform, volumes: Volumes, onFailure: (error: unknown) => void) {
    this.#platform = platform;
    this.#volumes = volumes;
    this.#idle = new Agenda(platform.time, (ids) => this.#sleepIdle(ids), onFailure);
    this.#broke = new Agenda(platform.time, (ids) => this.#stopBroke(ids), onFailure);
    platform.store.services.observe((before, after) => this.#watchIdle(before, after));
  }

  /** After a restart: asks the runtime again for what is pending, and watches who is idle. */
  resume(): void {
    for (const service of this.#platform.store.services.all()) {
      if (service.operation) this.#beginNow(service);
      this.#watchIdle(undefined, service);
    }
  }

  close(): void {
    this.#idle.close();
    this.#broke.close();
  }

  /** An accepted change that the runtime need not hear of. */
  write(service: ServiceRecord, changes: Changes): ServiceRecord {
    return this.#platform.store.services.put({ ...service, ...changes, revision: service.revision + 1 });
  }

  /** To `provisioning`, from wherever that is allowed. */
  launch(service: ServiceRecord, changes: Changes, how: How = {}): ServiceRecord {
    const image = changes.image ?? service.image;
    const launching = {
      ...changes,
      registryAccess: this.#platform.registries.accessTo(service.accountId, image),
      state: 'provisioning',
      // A launch that replaces another one under way: that may have started its container already.
      runsMeanwhile: serviceCharge(service) > 0 || service.operation?.kind === 'provision',
      endpoint: null,
      error: null,
    } as const;
    const launched = this.#begin(service, 'provision', launching, how);
    const problem = this.#volumes.errorOf(service.volumeId);
    return problem === undefined ? launched : this.#fail(launched, problem);
  }

  /** Of a service that has no container, or is about to give it up. One that does not fall asleep after all is launched anew. */
  patchRecord(service: ServiceRecord, changes: Changes, differs: boolean): ServiceRecord {
    const { operation } = service;
    if (!differs || operation?.kind !== 'sleep') return this.write(service, changes);
    return this.write(service, { ...changes, operation: { ...operation, isPatched: true } });
  }

  /** As a launch, but a container that runs may run on, where the runtime can give it other resources. */
  resize(
    service: ServiceRecord,
    changes: Changes & Pick<ServiceRecord, 'resources' | 'gpuModel'>,
  ): ServiceRecord {
    const { state, gpuModel, resources } = service;
    const isOfSameGpus = changes.gpuModel === gpuModel && changes.resources.gpuCount === resources.gpuCount;
    return this.launch(service, changes, state === 'running' && isOfSameGpus ? { isResize: true } : {});
  }

  /** Its volume is settled: a launch that waits for it continues, or fails with it. */
  volumeSettled(serviceId: string | null): void {
    const service = serviceId === null ? undefined : this.#platform.store.services.get(serviceId);
    if (service?.operation?.kind !== 'provision') return;
    const problem = this.#volumes.errorOf(service.volumeId);
    if (problem === undefined) this.#platform.store.unit.afterCommit(() => this.#beginNow(service));
    else this.#fail(service, problem);
  }

  stop(service: ServiceRecord): ServiceRecord {
    if (service.state === 'sleeping') {
      this.#platform.events.add(service.id, 'paused');
      return this.write(service, { state: 'paused' });
    }
    return this.#begin(service, 'stop', { endpoint: null });
  }

  remove(service: ServiceRecord): ServiceRecord {
    const runsMeanwhile = holdsCompute(service);
    const removed = this.#begin(service, 'remove', { state: 'deleting', runsMeanwhile, endpoint: null });
    this.#volumes.releaseBegin(removed);
    return removed;
  }

  /** What the runtime reports about a service; a report on an operation that was superseded is ignored. */
  settle(service: ServiceRecord, report: Report): void {
    if (service.operation?.id !== report.operationId) return;
    switch (service.operation.kind) {
      case 'provision':
        return this.#provisioned(service, report);
      case 'sleep':
        return this.#asleep(service, report);
      case 'stop':
        this.write(service, { state: 'paused', operation: null, error: null });
        return this.#platform.events.add(service.id, 'paused');
      case 'remove':
        this.#volumes.releaseEnd(service);
        return this.#platform.store.removeService(service);
    }
  }

  /** The container has ended without being asked to. What is under way takes care of that by itself. */
  ended(serviceId: string, reason: string): void {
    const service = this.#platform.store.services.get(serviceId);
    if (service?.state === 'running' && !service.operation) this.#fail(service, reason);
  }

  /** The services were in use just now, and so were not idle. */
  used(serviceIds: readonly string[]): void {
    const { store, time } = this.#platform;
    for (const id of serviceIds) {
      const service = store.services.get(id);
      if (!service || idleUntilMs(service) === undefined) continue;
      store.services.put({ ...service, idleSinceMs: time.nowMs() });
    }
  }

  /** Stops everything of the account that holds compute, within moments, unless the account has funds by then. */
  stopForLackOfFunds(accountId: string): void {
    const nowMs = this.#platform.time.nowMs();
    for (const service of this.#platform.store.services.of(accountId)) {
      if (holdsCompute(service) && !isStopping(service)) this.#broke.at(service.id, nowMs);
    }
  }

  #stopBroke(serviceIds: readonly string[]): void {
    const { store, ledger, events } = this.#platform;
    store.unit.run(() => {
      for (const id of serviceIds) {
        const service = store.services.get(id);
        const account = service && store.accounts.get(service.accountId);
        if (!account || !holdsCompute(service) || isStopping(service)) continue;
        if (ledger.balanceMicros(account) > 0) continue;
        this.stop(service);
        events.add(id, 'stopping: the balance of the account is exhausted');
      }
    });
  }

  #provisioned(service: ServiceRecord, report: Report): void {
    if (report.error !== undefined) return void this.#fail(service, report.error);
    this.#run(service, report);
    this.#platform.events.add(service.id, 'running');
  }

  #asleep(service: ServiceRecord, report: Report): void {
    const { activities, events } = this.#platform;
    if (report.staysRunning && service.operation?.isPatched) {
      this.launch(service, {});
      return events.add(service.id, 'not sleeping: in use again, and launched as it was patched meanwhile');
    }
    if (report.staysRunning) {
      this.#run(service, report);
      return events.add(service.id, 'not sleeping: in use again');
    }
    if (activities.protect(service.id)) {
      this.launch(service, {});
      return events.add(service.id, 'waking: an activity was registered meanwhile');
    }
    this.write(service, { state: 'sleeping', operation: null });
    events.add(service.id, 'sleeping');
  }

  #run(service: ServiceRecord, report: Report): void {
    this.write(service, {
      state: 'running',
      operation: null,
      endpoint: service.httpPort === null ? null : (report.endpoint ?? null),
      idleSinceMs: this.#platform.time.nowMs(),
    });
  }

  #fail(service: ServiceRecord, reason: string): ServiceRecord {
    this.#platform.events.add(service.id, `error: ${reason}`);
    return this.write(service, { state: 'error', operation: null, endpoint: null, error: reason });
  }

  #begin(service: ServiceRecord, kind: ServiceOperationKind, changes: Changes, how: How = {}): ServiceRecord {
    const operation = { ...newOperation(this.#platform, kind), ...how };
    const begun = this.write(service, { ...changes, operation });
    this.#platform.store.unit.afterCommit(() => this.#beginNow(begun));
    return begun;
  }

  #beginNow(service: ServiceRecord): void {
    const { operation } = service;
    if (!operation) return;
    // `volumeSettled` comes back to it.
    if (operation.kind === 'provision' && !this.#volumes.isReady(service.volumeId)) return;
    this.#platform.runtime.begin(this.#requestOf(service, operation));
  }

  #requestOf(service: ServiceRecord, operation: Operation<ServiceOperationKind>): RuntimeRequest {
    const { id, startedAtMs, kind, isResize = false } = operation;
    const { region, geography, accountId } = service;
    const asked = { id, startedAtMs, accountId, subjectId: service.id, place: { region, geography } };
    switch (kind) {
      case 'provision':
        return { ...asked, kind, launch: this.#launchOf(service), isResize };
      case 'remove':
        return { ...asked, kind, ownedVolumeId: this.#volumes.ownedBy(service) };
      case 'stop':
      case 'sleep':
        return { ...asked, kind };
    }
  }

  #launchOf(service: ServiceRecord): Launch {
    const { image, command, resources, gpuModel, httpPort, volumeId, registryAccess } = service;
    const { registries, store } = this.#platform;
    const credentials = registryAccess && registries.credentialsOf(registryAccess);
    return {
      image,
      command,
      environment: new Sensitive(store.environmentOf(service.id)),
      resources,
      gpuModel,
      httpPort,
      volumeId,
      credentials: credentials ? new Sensitive(credentials) : null,
    };
  }

  #watchIdle(before: ServiceRecord | undefined, after: ServiceRecord | undefined): void {
    const dueMs = after && idleUntilMs(after);
    if (after && dueMs !== undefined) this.#idle.at(after.id, dueMs);
    else if (before) this.#idle.cancel(before.id);
  }

  #sleepIdle(serviceIds: readonly string[]): void {
    const { store, activities, events, time } = this.#platform;
    store.unit.run(() => {
      for (const id of serviceIds) {
        const service = store.services.get(id);
        const dueMs = service && idleUntilMs(service);
        if (!service || dueMs === undefined) continue;
        if (dueMs > time.nowMs()) this.#idle.at(id, dueMs);
        // A release sets `idleSinceMs`, and so puts the service back on the agenda.
        else if (!activities.protect(id)) {
          this.#begin(service, 'sleep', { endpoint: null });
          events.add(id, `falling asleep: idle for ${service.sleepAfterMinutes} min`);
        }
      }
    });
  }
}

function idleUntilMs(service: ServiceRecord): number | undefined {
  if (service.state !== 'running' || service.operation || service.sleepAfterMinutes === null)
    return undefined;
  return service.idleSinceMs + service.sleepAfterMinutes * 60_000;
}
