/** Volumes: creation, name and size, deletion. */
import type { wire } from '../api/index.ts';
import { creation, defineAction, deletion, type ActionOf } from './action.ts';

export const createVolume = defineAction({
  ...creation,
  name: 'create-volume',
  request: (api, { body }, key) => api.createVolume(body, key),
  evidence: { by: 'mark' },
  demand: ({ do: name, body: { region, geography, sizeGb } }) => ({ do: name, region, geography, sizeGb }),
  spends: true,
  needsVerifiedEmail: true,
});

export const updateVolume = defineAction({
  name: 'update-volume',
  effect: 'change',
  request: (api, action, key) => api.updateVolume(action.id, updateBody(action), key),
  fields: ['volumeName', 'sizeGb'],
  isSent: ({ name, sizeGb }, field) => (field === 'volumeName' ? name : sizeGb) !== undefined,
  evidence: { by: 'fields', paths: /^(volumeName|sizeGb)$/, isRevised: true },
  spends: true,
  needsVerifiedEmail: true,
  isRetried: ({ sizeGb }) => sizeGb !== undefined,
  verb: 'update',
  progressive: 'growing',
  event: 'Updated',
});

export const deleteVolume = defineAction({
  ...deletion,
  name: 'delete-volume',
  request: async (api, { id }, key) => {
    const outcome = await api.deleteVolume(id, key);
    if (outcome.kind !== 'applied') return outcome;
    const { volumeId, operationId } = outcome.value;
    return { ...outcome, value: { id: volumeId, operationId } };
  },
  evidence: { by: 'gone' },
});

export const volumeActions = {
  'create-volume': createVolume,
  'update-volume': updateVolume,
  'delete-volume': deleteVolume,
};

function updateBody({ revision, name, sizeGb }: ActionOf<'update-volume'>): wire.VolumeUpdate {
  return {
    revision,
    ...(name === undefined ? {} : { name }),
    ...(sizeGb === undefined ? {} : { sizeGb }),
  };
}
