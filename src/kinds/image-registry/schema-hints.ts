/** What belongs into a Secret, and other names of the repository. */
const secret =
  'remove it, and change it if others have seen it: put `username` and `password` into a Secret, and write `credentialsSecretRef: {name: SECRET}`';
const repository = 'write `repository: ghcr.io/acme/app`: one exact repository with its host';

export const registryHints: Readonly<Record<string, string>> = {
  'spec.username': secret,
  'spec.password': secret,
  'spec.token': secret,
  'spec.credentials': secret,
  'spec.credentialsSecretRef': 'write `credentialsSecretRef: {name: SECRET}`',
  'spec.server': repository,
  'spec.registry': repository,
  'spec.image': repository,
  'spec.repository': repository,
};
