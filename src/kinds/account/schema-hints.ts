/** What belongs into a Secret, and other names of the address. */
const key =
  'remove it, and change that key if others have seen it: put it into a Secret, and write `credentialsSecretRef: {name: SECRET, key: apiKey}`';
const address = 'write `url: https://HOST`, without /api';

export const accountHints: Readonly<Record<string, string>> = {
  'spec.apiKey': key,
  'spec.key': key,
  'spec.token': key,
  'spec.password': key,
  'spec.credentials': key,
  'spec.secret': key,
  'spec.apiKeySecretRef': 'write `credentialsSecretRef: {name: SECRET, key: KEY}`',
  'spec.credentialsSecretRef': 'write `credentialsSecretRef: {name: SECRET, key: KEY}`',
  'spec.endpoint': address,
  'spec.host': address,
  'spec.address': address,
};
