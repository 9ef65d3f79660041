/**
 * The life of a service.
 *
 *   create ──> provisioning ──> running ──(idle)──> sleeping
 *                 ^    │           │                   │ start
 *                 │    └─> error ──┤ stop              v
 *                 │                v               provisioning
 *                 └──── start ── paused
 *
 * `provisioning`: compute is allocated and the image is being pulled. It ends in `running` (with an endpoint if
 * there is an HTTP port) or, when the image can't be pulled, in `error`. In `error` the compute stays
 * allocated, and is charged, until `restart`, `resize`, a patch (all: provisioning again), `stop` or `delete`.
 *
 * `stop` is accepted in `provisioning`, `running` and `error`: the state stays as it is while the containers
 * stop (the operation `stop` is pending, the endpoint is gone), then it is `paused`. A sleeping service has
 * nothing to stop and is paused at once. While a stop is pending only `delete` and patches are accepted.
 *
 * `start` leads from `paused` and `sleeping` to `provisioning`; `restart` and `resize` do so from `running` and
 * `error`. A resize of a paused or sleeping service only changes the record. A patch that changes something
 * takes a provisioning, running or erroneous service through `provisioning`; otherwise only the record changes.
 *
 * A running service with a sleep policy sleeps when it has been idle that long: since it became running, since
 * its policy was set, or since its last activity was released, whichever is latest. Unreleased activities keep
 * it awake. Sleeping and paused services hold no compute.
 *
 * `delete` is accepted everywhere but in `deleting`. When the removal is done the record is gone, together with
 * storage that the service owns; an independent volume is detached and stays.
 *
 * Every step, and every accepted change, advances the revision by one. When the funds are exhausted, every
 * service that holds compute is stopped.
 */
import { Agenda } from './agenda.ts';
import { newOperation, type Platform } from './platform.ts';
import { holdsCompute, isStopping, type OperationKind, type ServiceRecord } from './records.ts';
import type { Report } from './runtime.ts';
import type { Volumes } from './volumes.ts';

type Changes = Partial<Omit<ServiceRecord, 'id' | 'accountId' | 'revision'>>;

export class Lifecycle {
  readonly #platform: Platform;
  readonly #volumes: Volumes;
  readonly #idle: Agenda;

  constructor(platform: Platform, volumes: Volumes, onFailure: (error: unknown) => void) {
    this.#platform = platform;
    this.#volumes = volumes;
    this.#idle = new Agenda(platform.time, (ids) => this.#sleepIdle(ids), onFailure);
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
  }

  /** An accepted change that the runtime need not hear of. */
  write(service: ServiceRecord, changes: Changes): ServiceRecord {
    return this.#platform.store.services.put({ ...service, ...changes, revision: service.revision + 1 });
  }

  /** To `provisioning`, from wherever that is allowed. */
  launch(service: ServiceRecord, changes: Changes): ServiceRecord {
    const image = changes.image ?? service.image;
    return this.#begin(service, 'provision', {
      ...changes,
      registryAccess: this.#platform.registries.accessTo(service.accountId, image),
      state: 'provisioning',
      endpoint: null,
      error: null,
    });
  }

  stop(service: ServiceRecord): ServiceRecord {
    if (service.state === 'sleeping') {
      this.#platform.events.add(service.id, 'paused');
      return this.write(service, { state: 'paused' });
    }
    return this.#begin(service, 'stop', { endpoint: null });
  }

  remove(service: ServiceRecord): ServiceRecord {
    const removed = this.#begin(service, 'remove', { state: 'deleting', endpoint: null });
    this.#volumes.releaseBegin(removed);
    return removed;
  }

  /** What the runtime reports about a service; a report on an operation that was superseded is ignored. */
  settle(service: ServiceRecord, report: Report): void {
    const { operation } = service;
    if (operation?.id !== report.operationId) return;
    if (operation.kind === 'provision') {
      this.#provisioned(service, report);
    } else if (operation.kind === 'stop') {
      this.write(service, { state: 'paused', operation: null, error: null });
      this.#platform.events.add(service.id, 'paused');
    } else if (operation.kind === 'remove') {
      this.#volumes.releaseEnd(service);
      this.#platform.store.removeService(service);
    }
  }

  /** Stops everything of the account that holds compute. */
  stopForLackOfFunds(accountId: string): void {
    for (const service of this.#platform.store.services.of(accountId)) {
      if (!holdsCompute(service) || isStopping(service)) continue;
      this.stop(service);
      this.#platform.events.add(service.id, 'stopping: the balance of the account is exhausted');
    }
  }

  #provisioned(service: ServiceRecord, report: Report): void {
    if (!this.#volumes.isReady(service.volumeId)) {
      this.#begin(service, 'provision', {});
      return;
    }
    if (report.error !== undefined) {
      this.write(service, { state: 'error', operation: null, error: report.error });
      return this.#platform.events.add(service.id, `error: ${report.error}`);
    }
    this.write(service, {
      state: 'running',
      operation: null,
      endpoint: service.httpPort === null ? null : (report.endpoint ?? null),
      idleSinceMs: this.#platform.time.nowMs(),
    });
    this.#platform.events.add(service.id, 'running');
  }

  #begin(service: ServiceRecord, kind: OperationKind, changes: Changes): ServiceRecord {
    const operation = newOperation(this.#platform, kind);
    const begun = this.write(service, { ...changes, operation });
    this.#platform.store.unit.afterCommit(() => this.#beginNow(begun));
    return begun;
  }

  #beginNow(service: ServiceRecord): void {
    const { id, operation, image, registryAccess } = service;
    if (!operation) return;
    const credentials =
      registryAccess && operation.kind === 'provision'
        ? this.#platform.registries.credentialsOf(registryAccess)
        : undefined;
    this.#platform.runtime.begin({ ...operation, subjectId: id, image, ...(credentials && { credentials }) });
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
          this.write(service, { state: 'sleeping', endpoint: null });
          events.add(id, `sleeping: idle for ${service.sleepAfterMinutes} min`);
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
