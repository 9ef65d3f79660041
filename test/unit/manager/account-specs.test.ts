import { expect, test } from 'vitest';
import { Sensitive, VersionedMap } from '../../../src/base/index.ts';
import type { SecretData } from '../../../src/desired/data-documents.ts';
import type { DesiredSnapshot } from '../../../src/desired/index.ts';
import { AccountKeys, accountSpecs, type EnvironmentAccount } from '../../../src/manager/index.ts';
import { desiredOf, inCluster } from '../../support/desired.ts';

const apiKey = () => new Sensitive('own-key');
const environment = { url: 'https://own.example', apiKey };

function accountDocument(more: readonly string[] = []): string {
  return [
    'apiVersion: fleetkeeper.dev/v1alpha1',
    'kind: Account',
    'metadata: {name: theirs, namespace: team}',
    'spec:',
    '  url: https://elsewhere.example',
    ...more.map((line) => `  ${line}`),
    '',
  ].join('\n');
}

function keyOf(
  snapshot: DesiredSnapshot,
  from: EnvironmentAccount = { url: undefined, apiKey },
  name = 'team/theirs',
): string | undefined {
  const wanted = accountSpecs(snapshot, from).get(name);
  const found = wanted && new AccountKeys(from).keyOf({ name, ...wanted }, snapshot);
  return found?.kind === 'key' ? found.key.reveal() : undefined;
}

test('in a folder, an Account that names no Secret has the key of the environment', () => {
  expect(keyOf(desiredOf({ 'account.yaml': accountDocument() }))).toBe('own-key');
});

test.each([
  ['https://elsewhere.example/base', 'own-key'],
  ['https://own.example', undefined],
  ['https://elsewhere.example:8443', undefined],
])('with FLEETKEEPER_API_URL %s it has that key only when it is of the same origin', (url, key) => {
  expect(keyOf(desiredOf({ 'account.yaml': accountDocument() }), { url, apiKey })).toBe(key);
});

test("in a cluster, the operator's own key goes to no address that somebody else has written", () => {
  expect(keyOf(inCluster(desiredOf({ 'account.yaml': accountDocument() })))).toBeUndefined();
});

test('a Secret that was not read yet counts as no missing one', () => {
  const document = accountDocument(['credentialsSecretRef: {name: compute, key: apiKey}']);
  const message = 'the Secret compute in the namespace team has not been read yet';
  const fault = { reason: 'InvalidReference', message, remedy: 'wait for the API server' } as const;
  const data = Object.assign(new Map<string, Sensitive<string>>(), { fault });
  const secrets = VersionedMap.of<string, SecretData>([['team/compute', data]]);
  const snapshot = {
    ...inCluster(desiredOf({ 'account.yaml': document })),
    secrets,
  };
  const from = { url: undefined, apiKey };
  const wanted = accountSpecs(snapshot, from).get('team/theirs');
  expect(wanted && new AccountKeys(from).keyOf({ name: 'team/theirs', ...wanted }, snapshot)).toEqual({
    kind: 'none',
    remedy: `${message}; wait for the API server`,
  });
});

test('a Secret that is named is used in both, without the line break at its end', () => {
  const secret = [
    'apiVersion: v1',
    'kind: Secret',
    'metadata: {name: compute, namespace: team}',
    'stringData: {apiKey: "their-key\\n"}',
    '',
  ].join('\n');
  const account = accountDocument(['credentialsSecretRef: {name: compute, key: apiKey}']);
  const folder = desiredOf({ 'account.yaml': account, 'secret.yaml': secret });
  expect([keyOf(folder), keyOf(inCluster(folder))]).toEqual(['their-key', 'their-key']);
});

test('the account of the environment is there for objects of a cluster that name none', () => {
  const snapshot = inCluster(desiredOf({}));
  const own = accountSpecs(snapshot, environment).get('default/default');
  expect(own?.origin).toEqual({ kind: 'environment' });
  expect(keyOf(snapshot, environment, 'default/default')).toBe('own-key');
});
