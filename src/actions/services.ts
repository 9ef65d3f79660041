/** Services: creation, changes, power, deletion. */
import type { wire } from '../api/index.ts';
import { invariant } from '../base/index.ts';
import { creation, defineAction, deletion, type ActionOf } from './action.ts';

export const createService = defineAction({
  ...creation,
  name: 'create-service',
  request: (api, { body: { resources, ...body }, environment }, key) => {
    invariant(resources !== undefined, 'a service without resources');
    return api.createService({ ...body, resources, environment: inOrder(environment.reveal()) }, key);
  },
  evidence: { by: 'mark' },
  answersRestart: true,
  demand: ({ do: name, body: { region, geography, resources, volumeGb } }) => ({
    do: name,
    region,
    geography,
    resources,
    volumeGb,
  }),
  spends: true,
  needsVerifiedEmail: true,
});

export const patchService = defineAction({
  name: 'patch-service',
  effect: 'change',
  request: (api, action, key) =>
    api.patchService(action.id, { revision: action.revision, patch: patchBody(action) }, key),
  fields: ['image', 'command', 'httpPort', 'env'],
  isSent: ({ patch, environment }, field) => (field === 'env' ? environment !== undefined : field in patch),
  evidence: { by: 'fields', paths: /^(image|command|httpPort|env(\..*)?)$/, isRevised: true },
  spends: false,
  needsVerifiedEmail: true,
  verb: 'update',
  progressive: 'patching',
  event: 'Patched',
});

export const resizeService = defineAction({
  name: 'resize-service',
  effect: 'change',
  request: (api, { id, resources }, key) => api.actOnService(id, { action: 'resize', resources }, key),
  fields: ['resources'],
  evidence: { by: 'fields', paths: /^resources$/, isRevised: false },
  demand: (action) => action,
  spends: true,
  needsVerifiedEmail: true,
  verb: 'resize',
  progressive: 'resizing',
  event: 'Resized',
});

export const setSleepPolicy = defineAction({
  name: 'set-sleep-policy',
  effect: 'change',
  request: (api, { id, sleepAfterMinutes }, key) => api.setSleepPolicy(id, sleepAfterMinutes, key),
  fields: ['sleepAfterMinutes'],
  evidence: { by: 'fields', paths: /^sleepAfterMinutes$/, isRevised: false },
  spends: false,
  needsVerifiedEmail: false,
  verb: 'set-sleep-policy',
  progressive: 'setting the sleep policy',
  event: 'SleepPolicySet',
});

export const startService = defineAction({
  name: 'start-service',
  effect: 'change',
  request: (api, { id }, key) => api.actOnService(id, { action: 'start' }, key),
  fields: ['desiredState'],
  evidence: { by: 'left' },
  answersRestart: true,
  spends: true,
  needsVerifiedEmail: true,
  isRetried: () => true,
  verb: 'start',
  progressive: 'starting',
  event: 'Started',
});

export const stopService = defineAction({
  name: 'stop-service',
  effect: 'change',
  request: (api, { id }, key) => api.actOnService(id, { action: 'stop' }, key),
  fields: ['desiredState'],
  evidence: { by: 'paused' },
  spends: false,
  needsVerifiedEmail: false,
  isRetried: () => true,
  verb: 'stop',
  progressive: 'stopping',
  event: 'Stopped',
});

export const restartService = defineAction({
  name: 'restart-service',
  effect: 'change',
  request: (api, { id }, key) => api.actOnService(id, { action: 'restart' }, key),
  fields: [],
  evidence: { by: 'moved' },
  answersRestart: true,
  spends: false,
  needsVerifiedEmail: true,
  isRetried: () => true,
  verb: 'restart',
  progressive: 'restarting',
  event: 'Restarted',
});

export const deleteService = defineAction({
  ...deletion,
  name: 'delete-service',
  request: (api, { id }, key) => api.actOnService(id, { action: 'delete' }, key),
  evidence: { by: 'gone' },
});

export const serviceActions = {
  'create-service': createService,
  'patch-service': patchService,
  'resize-service': resizeService,
  'set-sleep-policy': setSleepPolicy,
  'start-service': startService,
  'stop-service': stopService,
  'restart-service': restartService,
  'delete-service': deleteService,
};

function patchBody({ patch, environment }: ActionOf<'patch-service'>): wire.ServicePatch {
  return environment ? { ...patch, environment: inOrder(environment.reveal()) } : patch;
}

/** By name: documents that list the same variables in another order make the same bytes. */
function inOrder(environment: Readonly<Record<string, string>>): Record<string, string> {
  // Without a prototype, as `wireEnvironment` makes it.
  const ordered = Object.create(null) as Record<string, string>;
  for (const name of Object.keys(environment).sort()) ordered[name] = environment[name] as string;
  return ordered;
}
