/** Everything that the planner of a volume may see. */
import type { wire } from '../../api/index.ts';
import type { AccountSnapshot } from '../../observed/index.ts';
import { identify, type AccountHandle, type Fleet, type KindOptions, type View } from '../../engine/index.ts';
import { parseObjectKey, type StorageVolumeSpec } from '../../resources/index.ts';
import type { ObjectRecord } from '../../state/index.ts';
import { volumePricing } from '../pricing.ts';
import type { AttachedService, VolumeInputs } from './inputs.ts';
import { volumeMarks } from './marks.ts';

export type VolumeLook = VolumeInputs;

export function volumeLook(view: View<StorageVolumeSpec, wire.Volume, undefined>): VolumeLook {
  const { fleet, record, object, seen } = view;
  const { observation, snapshot } = seen;
  const volume = observation.kind === 'present' ? observation.value : undefined;
  const { region, geography } = object.spec;
  return {
    object,
    record,
    owner: fleet.owner,
    observation,
    attachedTo: snapshot ? attachedTo(fleet, volume, snapshot) : { kind: 'none' },
    volumesInAccount: volumesIn(snapshot),
    gates: view.gates({ region, geography, gpuCount: 0 }),
    driftBrake: view.driftBrake(),
  };
}

/** The same for the sake of a service that refers to the volume: as one account read shows it. */
export function volumeInputs(
  { fleet, money }: Pick<KindOptions, 'fleet' | 'money'>,
  record: ObjectRecord,
  account: AccountHandle,
  snapshot: AccountSnapshot,
): VolumeInputs {
  const { observation } = identify(fleet.identity(record, undefined, account), snapshot.volumes, volumeMarks);
  const object = fleet.planned(record, 'StorageVolume');
  const volume = observation.kind === 'present' ? observation.value : undefined;
  return {
    object,
    record,
    owner: fleet.owner,
    observation,
    attachedTo: attachedTo(fleet, volume, snapshot),
    volumesInAccount: volumesIn(snapshot),
    gates: {
      ...fleet.gates(account, snapshot),
      increase: (step) => money.gate(account, record.key, volumePricing(step, object.spec, volume)),
    },
    driftBrake: () => undefined,
  };
}

function volumesIn(snapshot: AccountSnapshot | undefined): number {
  return (snapshot?.volumes.size ?? 0) + (snapshot?.unidentified?.volumes.length ?? 0);
}

/** The service that a volume is attached to. */
function attachedTo(
  { store }: Fleet,
  volume: wire.Volume | undefined,
  { services }: AccountSnapshot,
): AttachedService {
  if (!volume) return { kind: 'none' };
  const id = volume.serviceId ?? [...services.values()].find((service) => service.volumeId === volume.id)?.id;
  if (!id) return { kind: 'none' };
  const state = services.get(id)?.state;
  const record = store.recordOf(id);
  if (!record) return { kind: 'foreign', id, state };
  return { kind: 'ours', id, name: parseObjectKey(record.key).name, state };
}
