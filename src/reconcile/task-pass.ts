/**
 * The pass of a ProtectedTask: says to the keeper of leases what is wanted, and tells how it stands. Where an activity may
 * be registered, and the key of its release, are saved before the keeper sends the first request; so a crash at any moment
 * leaves nothing that a restart does not know of.
 */
import {
  holdFor,
  inSync,
  leftUntilDeadline,
  planTask,
  taskEnd,
  type LeaseView,
  type Plan,
  type ProtectedService,
  type TaskInputs,
} from '../plan/index.ts';
import { annotations, parseObjectKey, remoteName } from '../resources/index.ts';
import type { TaskLease } from '../state/index.ts';
import { observedTask, taskHealth } from '../status/index.ts';
import type { AccountHandle } from './accounts.ts';
import type { KindPass } from './kind-pass.ts';
import { LocalPass } from './local-pass.ts';
import type { KeptLease } from './leases.ts';
import { jobOf, serviceKeyOf } from './tasks.ts';

/** What requests to a service that is gone may be refused with. */
const goneStatuses: ReadonlySet<number> = new Set([400, 404, 409, 410]);

export class TaskPass extends LocalPass implements KindPass {
  readonly kind = 'ProtectedTask';
  #lease: LeaseView | undefined;
  /** Its activity gets its id, or its service, in this pass. */
  #isNew = false;

  /** That of the service; when its document is gone, the one in which the activity was registered. */
  account(): { handle: AccountHandle | undefined; problem: Plan | undefined } {
    const { accounts } = this.options;
    const reference = this.options.fleet.accountOf(this.record());
    if (!reference) return { handle: undefined, problem: undefined };
    const resolved = accounts.resolve(reference.namespace, reference.name);
    if (resolved.kind === 'usable') return { handle: resolved.handle, problem: undefined };
    return {
      handle: undefined,
      problem: holdFor(resolved.reason, resolved.message, { path: ['spec', 'serviceRef', 'name'] }),
    };
  }

  released(): boolean {
    const { deletionRequestedAt, lease, releasedAt } = this.record();
    return deletionRequestedAt !== undefined && (lease === undefined || releasedAt !== undefined);
  }

  /** A document that can't be read, or has gone with many others, ends no protection; not even when the process starts anew meanwhile. */
  async goOn(handle: AccountHandle | undefined): Promise<number | undefined> {
    const { clock, fleet, mode } = this.options;
    if (this.record().releasedAt !== undefined || mode === 'preview') return undefined;
    const end = taskEnd(this.#object(), this.#job(), clock.wallMs());
    const isDeleted = fleet.snapshot.cluster?.get(this.key)?.deletionRequestedAt !== undefined;
    // Nothing is released by a document that may mean something else by now; a release that is under way is seen through.
    if (end === 'DeadlinePassed' || (end !== undefined && !handle)) this.options.leases.drop(this.key);
    if (end !== undefined || isDeleted) return undefined;
    await this.#writeDown();
    // Without its Account it is beaten for as it was before.
    if (handle) this.#keep(handle, false);
    return leftUntilDeadline(this.#object().spec, clock.wallMs());
  }

  async observe(handle: AccountHandle): Promise<void> {
    const { store, leases, mode, clock, random } = this.options;
    const object = this.#object();
    if (this.record().releasedAt !== undefined || mode === 'preview') return;
    const job = this.#job();
    const ends = taskEnd(object, job, clock.wallMs()) !== undefined;
    if (!ends && job === 'running') await this.#prepare(handle);
    // A task that is over gets no heartbeat, also while its end can't be written.
    await this.#writeDown(ends).catch((error: unknown) => {
      if (ends) leases.drop(this.key);
      throw error;
    });
    const kept = this.#keep(handle, ends);
    if (kept?.phase === 'released' || (ends && this.#isServiceGone(handle, kept))) {
      await store.save({ ...this.record(), releasedAt: clock.wallMs() });
      leases.drop(this.key);
    } else if (kept?.phase === 'spent' && this.record().lease) {
      await this.#saveLease(handle, { activityId: random.uuid(), releaseKey: random.uuid() });
      this.#keep(handle, ends);
    }
  }

  /**
   * Writes what an earlier pass could not write. Heartbeats need only the activity registration to be durable: an API server that
   * refuses a status must not end protection.
   */
  async #writeDown(ends = false): Promise<void> {
    const { store } = this.options;
    try {
      await store.flush(this.key);
    } catch (error) {
      if (ends || !store.isLeaseDurable(this.key)) throw error;
    }
  }

  /** With its service an activity is gone, too: its requests are refused, and nothing answers its release any more. */
  #isServiceGone({ informer }: AccountHandle, kept: KeptLease | undefined): boolean {
    const { lease } = this.record();
    const { current, failure } = informer;
    if (!goneStatuses.has(kept?.refusedWith ?? 0)) return false;
    if (!lease || !current || failure || (current.unidentified?.services.length ?? 0) > 0) return false;
    return (
      !current.services.has(lease.serviceId) && this.options.store.recordOf(lease.serviceId) === undefined
    );
  }

  /** Where the activity is to be registered is known from here on. */
  async #prepare(handle: AccountHandle): Promise<void> {
    const service = this.#service();
    const { lease } = this.record();
    if (service.kind === 'there' && lease?.serviceId !== service.id) {
      // A release may have been sent to the service that it was registered in before: its key is used up.
      await this.#saveLease(handle, { serviceId: service.id, releaseKey: this.options.random.uuid() });
      this.#isNew = true;
    }
  }

  async #saveLease(handle: AccountHandle, changes: Partial<TaskLease>): Promise<void> {
    const { store, random } = this.options;
    const record = this.record();
    const before = record.lease ?? { serviceId: '', activityId: record.uid, releaseKey: random.uuid() };
    await store.save({ ...record, lease: { ...before, ...changes }, account: handle.name });
  }

  #keep(handle: AccountHandle, ends: boolean): KeptLease | undefined {
    const { lease } = this.record();
    if (!lease) return undefined;
    const { leases, clock } = this.options;
    const { name, spec } = this.#object();
    const kept = leases.keep(this.key, {
      account: handle.name,
      api: handle.api,
      ...lease,
      name: remoteName('ProtectedTask', name, spec),
      wanted: ends ? 'released' : 'held',
      isNew: this.#isNew,
      visibilityMs: handle.spec.visibilitySeconds * 1000,
    });
    const { phase, failure, expiresAtMs } = kept;
    const expiresInMs = expiresAtMs === undefined ? undefined : expiresAtMs - clock.monotonicMs();
    this.#lease = { phase, failure, expiresInMs };
    return kept;
  }

  plan(): Plan {
    const plan = planTask(this.#inputs());
    const isKnown = this.options.mode === 'preview' && this.record().lease !== undefined;
    // Whether it is being beaten for is the business of the manager that runs.
    return isKnown && plan.kind === 'wait' && plan.reason === 'Registering' ? inSync() : plan;
  }

  told() {
    const inputs = this.#inputs();
    return {
      health: taskHealth(inputs),
      observed: observedTask(inputs),
      revision: undefined,
      reconcileAt: inputs.object.annotations[annotations.reconcileAt],
    };
  }

  #object() {
    return this.options.fleet.planned<'ProtectedTask'>(this.record());
  }

  #job() {
    return jobOf(this.options.fleet, this.record());
  }

  #inputs(): TaskInputs {
    return {
      object: this.#object(),
      record: this.record(),
      service: this.#service(),
      lease: this.#lease,
      job: this.#job(),
      nowMs: this.options.clock.wallMs(),
    };
  }

  #service(): ProtectedService {
    const { store, fleet } = this.options;
    const key = serviceKeyOf(this.record(), this.#object().spec);
    const { name, namespace } = parseObjectKey(key);
    const record = store.record(key);
    const { lease } = this.record();
    const home = store.recordOf(lease?.serviceId ?? '');
    if (home !== undefined && home.distrusted === undefined && home.key !== key) {
      const { name: before } = parseObjectKey(home.key);
      const message = `the activity is registered in ContainerService ${before}, and stays there until the task is over; for ${name} write a ProtectedTask with another name`;
      return { kind: 'another', message };
    }
    if (!record && !fleet.snapshot.unusable.has(key)) {
      const message = `there is no ContainerService ${name} in the namespace ${namespace}; add its document, correct serviceRef, or end the task`;
      return { kind: 'dangling', message };
    }
    if (record?.distrusted !== undefined) {
      // What nobody has signed moves no activity, and its release would be forgotten where it is.
      if (lease) return { kind: 'there', id: lease.serviceId };
      const message = `what ContainerService ${name} stands for is not proven yet; the activity is registered when it is`;
      return { kind: 'missing', message };
    }
    return record?.externalId === undefined
      ? { kind: 'missing', message: `ContainerService ${name} is not there yet` }
      : { kind: 'there', id: record.externalId };
  }
}
