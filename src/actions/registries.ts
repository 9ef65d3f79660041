/** Registries: creation, rotation of the credentials, deletion. */
import type { wire } from '../api/index.ts';
import { creation, defineAction, deletion, type ActionOf } from './action.ts';

export const createRegistry = defineAction({
  ...creation,
  name: 'create-registry',
  request: (api, action, key) => api.createRegistry(registryBody(action), key),
  evidence: { by: 'mark', isSingle: true },
  spends: false,
  needsVerifiedEmail: true,
});

export const rotateRegistry = defineAction({
  name: 'rotate-registry',
  effect: 'change',
  request: (api, action, key) =>
    api.rotateRegistry(action.id, { revision: action.revision, spec: registryBody(action) }, key),
  fields: ['credentials'],
  // Nobody can see whose rotation moved the revision.
  evidence: { by: 'fields', paths: /^credentials$/, isRevised: true },
  spends: false,
  needsVerifiedEmail: true,
  verb: 'update',
  progressive: 'rotating',
  event: 'CredentialsRotated',
});

export const deleteRegistry = defineAction({
  ...deletion,
  name: 'delete-registry',
  request: (api, { id, revision }, key) => api.deleteRegistry(id, { revision }, key),
  evidence: { by: 'gone', stateless: true },
});

export const registryActions = {
  'create-registry': createRegistry,
  'rotate-registry': rotateRegistry,
  'delete-registry': deleteRegistry,
};

function registryBody({
  repository,
  credentials,
}: ActionOf<'create-registry' | 'rotate-registry'>): wire.RegistryCreate {
  return { repository, ...credentials.reveal() };
}
