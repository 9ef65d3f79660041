import {
  createRegistry,
  createService,
  createTemplate,
  createVolume,
  deleteRegistry,
  deleteService,
  deleteTemplate,
  deleteVolume,
  patchService,
  replaceTemplate,
  resizeService,
  restartService,
  rotateRegistry,
  setSleepPolicy,
  startService,
  stopService,
  updateVolume,
  type ActionName,
  type ActionOf,
} from '../../../src/actions/index.ts';
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
  'create-service': createService({
    body: { name: 'web', region: 'standard', image: 'web:1', resources },
    environment,
  }),
  'patch-service': patchService({
    ...revised,
    patch: { image: 'web:2', command: ['serve'], httpPort: 80 },
    environment,
  }),
  'resize-service': resizeService({ ...target, resources }),
  'set-sleep-policy': setSleepPolicy({ ...target, sleepAfterMinutes: 30 }),
  'start-service': startService(target),
  'stop-service': stopService(target),
  'restart-service': restartService(target),
  'delete-service': deleteService(target),
  'create-volume': createVolume({ body: { name: 'data', region: 'standard', sizeGb: 100 } }),
  'update-volume': updateVolume({ ...revised, name: 'data', sizeGb: 200 }),
  'delete-volume': deleteVolume(target),
  'create-template': createTemplate({ body: { name: 'base', image: 'base:1' } }),
  'replace-template': replaceTemplate({ ...revised, spec: { name: 'base', image: 'base:2' } }),
  'delete-template': deleteTemplate(revised),
  'create-registry': createRegistry(registry),
  'rotate-registry': rotateRegistry({ ...revised, ...registry }),
  'delete-registry': deleteRegistry(revised),
};
