import { describeOutcome, type wire } from '../api/index.ts';
import type { Target } from '../execute/index.ts';
import type { AccountSnapshot } from '../observed/index.ts';
import {
  ownsStorage,
  planService,
  readMark,
  recheckMs,
  serviceDigests,
  viewVolume,
  waitFor,
  type Plan,
  type ServiceInputs,
  type VolumeView,
} from '../plan/index.ts';
import type { ObjectRecord } from '../state/index.ts';
import { observedService, serviceHealth } from '../status/index.ts';
import type { AccountHandle } from './accounts.ts';
import type { KindPass } from './kind-pass.ts';
import { identify, serviceMarks, type Observed } from './observe.ts';
import { RemotePass } from './remote-pass.ts';

export class ServicePass extends RemotePass<wire.Service> implements KindPass {
  readonly kind = 'ContainerService';
  #activities: readonly wire.Activity[] | undefined;

  protected identify(snapshot: AccountSnapshot): Observed<wire.Service> {
    return identify(this.fleet.identity(this.record()), snapshot.services, serviceMarks);
  }

  protected shown(snapshot: AccountSnapshot): ReadonlyMap<string, wire.Service> {
    return snapshot.services;
  }

  protected read(account: AccountHandle, id: string) {
    return account.api.service(id);
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

  plan(): Plan {
    return planService(this.#inputs());
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
    return this.targetOf(serviceDigests(inputs), inputs.object.spec.restartToken);
  }

  settledRecord(): Partial<ObjectRecord> {
    const inputs = this.#inputs();
    const { spec } = inputs.object;
    return {
      applied: { ...this.record().applied, ...serviceDigests(inputs) },
      restartToken: spec.restartToken ?? this.record().restartToken,
      pausedFor: undefined,
      repeated: undefined,
      refusal: undefined,
    };
  }

  told() {
    const observation = this.lastSeen();
    return {
      health: serviceHealth(this.fleet.planned<'ContainerService'>(this.record()).spec, observation),
      observed: observedService(observation),
      revision: observation.kind === 'present' ? observation.value.revision : undefined,
      reconcileAt: this.reconcileAt(),
    };
  }

  #inputs(): ServiceInputs {
    const record = this.record();
    const object = this.fleet.planned<'ContainerService'>(record);
    const { seen } = this;
    const service = seen.kind === 'present' ? seen.value : undefined;
    return {
      object,
      record,
      owner: this.fleet.owner,
      observation: seen,
      environment: this.fleet.environment(this.key),
      volume: object.deleting ? { kind: 'none' } : this.#volume(record, service),
      ownsStorage: ownsStorage(
        object.spec,
        service,
        this.snapshot?.volumes.values() ?? [],
        (id) => this.store.recordOf(id) !== undefined,
      ),
      gates: this.gates(),
      activities: this.#activities,
    };
  }

  #volume(record: ObjectRecord, service: wire.Service | undefined): VolumeView {
    const { storage } = this.fleet.planned<'ContainerService'>(record).spec;
    const volume = this.fleet.volumeOf(record, service);
    const path = ['spec', 'storage', 'volumeRef', 'name'];
    if (volume === 'dangling') {
      const message = `there is no StorageVolume ${storage?.volumeRef?.name} in this namespace; add its document, or correct the name`;
      return { kind: 'problem', reason: 'ReferenceNotFound', message, path };
    }
    if (!volume || !this.snapshot || !this.handle) {
      return storage?.volumeId === undefined ? { kind: 'none' } : { kind: 'usable', id: storage.volumeId };
    }
    if (volume.account !== undefined && volume.account !== this.handle.name) {
      const message = `StorageVolume ${storage?.volumeRef?.name} lives in another account (${volume.account}); use one of ${this.handle.name}`;
      return { kind: 'problem', reason: 'ReferenceNotFound', message, path };
    }
    if (volume.unproven && !this.store.ownerConfirmed && service === undefined) {
      const message = `StorageVolume ${storage?.volumeRef?.name} may be another fleet's (OwnershipUnproven); see its own condition first`;
      return { kind: 'problem', reason: 'OwnershipUnproven', message, path };
    }
    return viewVolume(this.fleet.volumeInputs(volume, this.handle, this.snapshot));
  }
}
