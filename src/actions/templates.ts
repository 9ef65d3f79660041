/** Templates: creation, replacement as a whole, deletion. */
import { creation, defineAction, deletion } from './action.ts';

export const createTemplate = defineAction({
  ...creation,
  name: 'create-template',
  request: (api, { body }, key) => api.createTemplate(body, key),
  evidence: { by: 'mark' },
  spends: false,
  needsVerifiedEmail: false,
});

export const replaceTemplate = defineAction({
  name: 'replace-template',
  effect: 'change',
  request: (api, { id, revision, spec }, key) => api.replaceTemplate(id, { revision, spec }, key),
  fields: 'all',
  evidence: {
    by: 'fields',
    paths:
      /^(templateName|description|image|command|resources|httpPort|containerDiskGb|workspaceGb|sleepAfterMinutes|requiredEnvironment)$/,
    isRevised: true,
  },
  spends: false,
  needsVerifiedEmail: false,
  verb: 'update',
  progressive: 'replacing',
  event: 'Replaced',
});

export const deleteTemplate = defineAction({
  ...deletion,
  name: 'delete-template',
  request: (api, { id, revision }, key) => api.deleteTemplate(id, { revision }, key),
  evidence: { by: 'gone', stateless: true },
});

export const templateActions = {
  'create-template': createTemplate,
  'replace-template': replaceTemplate,
  'delete-template': deleteTemplate,
};
