/** A template has names of variables, and no values. */
const names =
  'write `requiredEnvironment: [NAME]`: a template has names of variables, and services give the values';

export const templateHints: Readonly<Record<string, string>> = {
  'spec.env': names,
  'spec.environment': names,
  'spec.name': 'remove it: the name is `metadata.name`, or `templateName`',
  'spec.ports': 'write `httpPort: 8080`',
  'spec.command': 'write `command` as a list: `[python, train.py]`',
  'spec.region': 'remove it: each service has its own region',
  'spec.storage': 'remove it: each service has its own storage; `workspaceGb` is the size of a workspace',
};
