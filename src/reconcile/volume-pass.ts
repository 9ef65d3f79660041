import type { wire } from '../api/index.ts';
import type { Target } from '../execute/index.ts';
import type { AccountSnapshot } from '../observed/index.ts';
import {
  planVolume,
  readVolumeMark,
  rememberedDigests,
  shownVolume,
  volumeDigests,
  volumeForms,
  volumeMark,
  volumePricing,
  type Placement,
  type Plan,
  type Pricing,
  type Step,
  type VolumeInputs,
} from '../plan/index.ts';
import type { ObjectRecord } from '../state/index.ts';
import { observedVolume, volumeAllocation, volumeHealth } from '../status/index.ts';
import type { AccountHandle } from './accounts.ts';
import type { Fleet } from './fleet.ts';
import type { KindPass } from './kind-pass.ts';
import { duplicatesOf, volumeMarks, type Observed } from './observe.ts';
import { RemotePass, noGates } from './remote-pass.ts';

export class VolumePass extends RemotePass<wire.Volume> implements KindPass {
  readonly kind = 'StorageVolume';

  protected identify(snapshot: AccountSnapshot, madeId?: string): Observed<wire.Volume> {
    return this.fleet.identifyVolume(this.record(), snapshot, madeId);
  }

  protected shown(snapshot: AccountSnapshot): ReadonlyMap<string, wire.Volume> {
    return snapshot.volumes;
  }

  protected unidentified({ unidentified }: AccountSnapshot) {
    return unidentified?.volumes ?? [];
  }

  protected couldBeMine(entry: wire.Volume | wire.Unidentified<wire.Volume>): boolean {
    const own = volumeMarks.own(this.fleet.identity(this.record()));
    return entry.name === undefined || volumeMarks.of({ ...entry, id: '' }).includes(own);
  }

  protected read(account: AccountHandle, id: string) {
    return account.api.volume(id);
  }

  protected override hidesMarks({ name }: wire.Volume): boolean {
    return name === undefined;
  }

  protected markedByKey({ name }: wire.Volume): boolean {
    return readVolumeMark(name) === volumeMark(this.fleet.owner, this.record().uid);
  }

  protected bound(id: string): Partial<ObjectRecord> {
    return { externalId: id, deletedByUs: false };
  }

  protected override marked(identity: ReturnType<Fleet['identity']>, snapshot: AccountSnapshot) {
    return duplicatesOf(identity, snapshot.volumes, volumeMarks);
  }

  plan(): Plan {
    return planVolume(this.#inputs());
  }

  override pricing(step: Step): Pricing | undefined {
    const volume = this.seen.kind === 'present' ? this.seen.value : undefined;
    return volumePricing(step, this.fleet.planned<'StorageVolume'>(this.record()).spec, volume);
  }

  protected override placement(): Placement {
    const { region, geography } = this.fleet.planned<'StorageVolume'>(this.record()).spec;
    return { region, geography, gpuCount: 0 };
  }

  async readActivities(): Promise<undefined> {
    return undefined;
  }

  target(): Target {
    const inputs = this.#inputs();
    const target = this.targetOf(volumeDigests(inputs), undefined, (volume) => shownVolume(inputs, volume));
    return { ...target, formsIn: (answer) => volumeForms(inputs, answer as wire.Volume) };
  }

  settledRecord(): Partial<ObjectRecord> {
    return {
      applied: rememberedDigests(this.record(), volumeDigests(this.#inputs())),
      repeated: undefined,
      unconfirmed: [],
      refusal: undefined,
    };
  }

  told() {
    const observation = this.lastSeen();
    return {
      health: volumeHealth(observation),
      observed: observedVolume(observation),
      revision: observation.kind === 'present' ? observation.value.revision : undefined,
      more: volumeAllocation(observation),
      reconcileAt: this.reconcileAt(),
    };
  }

  #inputs(): VolumeInputs {
    const record = this.record();
    const { seen } = this;
    if (!this.handle || !this.snapshot) {
      return {
        object: this.fleet.planned<'StorageVolume'>(record),
        record,
        owner: this.fleet.owner,
        observation: seen,
        attachedTo: { kind: 'none' },
        volumesInAccount: 0,
        gates: noGates,
        driftBrake: this.driftBrake(),
      };
    }
    const inputs = this.fleet.volumeInputs(record, this.handle, this.snapshot, this.money);
    const attachedTo = this.fleet.attachedTo(seen.kind === 'present' ? seen.value : undefined, this.snapshot);
    return { ...inputs, observation: seen, attachedTo, gates: this.gates(), driftBrake: this.driftBrake() };
  }
}
