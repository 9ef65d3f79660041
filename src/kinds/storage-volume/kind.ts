/** StorageVolume: a volume at the provider (§3). */
import { createVolume } from '../../actions/index.ts';
import type { wire } from '../../api/index.ts';
import { rememberedDigests } from '../../engine/plan/index.ts';
import { defineKind, type RemoteThings } from '../../engine/index.ts';
import type { StorageVolumeSpec } from '../../resources/index.ts';
import { volumeDemand, volumePricing } from '../pricing.ts';
import { heldVolumes } from './held.ts';
import { volumeLook, type VolumeLook } from './look.ts';
import { volumeMarks } from './marks.ts';
import { planVolume, shownVolume, volumeDigests, volumeForms } from './plan.ts';
import { observedVolume, volumeAllocation, volumeHealth } from './status.ts';

const remote: RemoteThings<StorageVolumeSpec, wire.Volume, VolumeLook> = {
  listing: ({ volumes, unidentified }) => ({
    kind: 'read',
    items: volumes,
    unidentified: unidentified?.volumes ?? [],
  }),
  read: (api, id) => api.volume(id),
  marks: volumeMarks,
  creation: createVolume,
  held: heldVolumes,
  couldBe: (entry, { fleet: { owner }, record }) =>
    entry.name === undefined ||
    volumeMarks.of({ ...entry, id: '' }).includes(volumeMarks.own({ owner, record })),
  hidesMarks: ({ name }) => name === undefined,
  needsCatalog: true,
};

function present({ observation }: VolumeLook): wire.Volume | undefined {
  return observation.kind === 'present' ? observation.value : undefined;
}

export const storageVolume = defineKind<StorageVolumeSpec, wire.Volume, VolumeLook>({
  name: 'StorageVolume',
  remote,
  look: volumeLook,
  plan: planVolume,
  pricing: (look, step) => volumePricing(step, look.object.spec, present(look)),
  demand: (_look, step) => volumeDemand(step),
  target: (look) => ({
    digests: volumeDigests(look),
    shownIn: (volume) => shownVolume(look, volume),
    formsIn: (volume) => volumeForms(look, volume),
  }),
  settled: (look) => ({
    applied: rememberedDigests(look.record, volumeDigests(look)),
    repeated: undefined,
    unconfirmed: [],
    refusal: undefined,
  }),
  status: ({ observation }) => ({
    health: volumeHealth(observation),
    observed: observedVolume(observation),
    revision: observation.kind === 'present' ? observation.value.revision : undefined,
    more: volumeAllocation(observation),
  }),
});
