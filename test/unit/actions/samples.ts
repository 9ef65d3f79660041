import type { ActionName, ActionOf } from '../../../src/actions/index.ts';
import { Sensitive } from '../../../src/base/index.ts';

const id = '11111111-2222-4333-8444-555555555555';
const target = { id };
const revised = { id, revision: 5 };
const resources = { gpuCount: 1, cpu: 8, memoryGb: 64 };
const environment = new Sensitive({ MODE: 'fast' });
const registry = {
  repository: 'registry.example.com/team',
  credentials: new Sensitive({ username: 'team', password: 'secret' }),
};

/** One action of each name, with all that it can carry. */
export const samples: { readonly [Name in ActionName]: ActionOf<Name> } = {
  'create-service': {
    do: 'create-service',
    body: { name: 'web', region: 'standard', image: 'web:1', resources },
    environment,
  },
  'patch-service': {
    do: 'patch-service',
    ...revised,
    patch: { image: 'web:2', command: ['serve'], httpPort: 80 },
    environment,
  },
  'resize-service': { do: 'resize-service', ...target, resources },
  'set-sleep-policy': { do: 'set-sleep-policy', ...target, sleepAfterMinutes: 30 },
  'start-service': { do: 'start-service', ...target },
  'stop-service': { do: 'stop-service', ...target },
  'restart-service': { do: 'restart-service', ...target },
  'delete-service': { do: 'delete-service', ...target },
  'create-volume': { do: 'create-volume', body: { name: 'data', region: 'standard', sizeGb: 100 } },
  'update-volume': { do: 'update-volume', ...revised, name: 'data', sizeGb: 200 },
  'delete-volume': { do: 'delete-volume', ...target },
  'create-template': { do: 'create-template', body: { name: 'base', image: 'base:1' } },
  'replace-template': { do: 'replace-template', ...revised, spec: { name: 'base', image: 'base:2' } },
  'delete-template': { do: 'delete-template', ...revised },
  'create-registry': { do: 'create-registry', ...registry },
  'rotate-registry': { do: 'rotate-registry', ...revised, ...registry },
  'delete-registry': { do: 'delete-registry', ...revised },
};
