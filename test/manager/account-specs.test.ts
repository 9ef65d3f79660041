import { expect, test } from 'vitest';
import { Sensitive } from '../../src/base/index.ts';
import type { DesiredSnapshot } from '../../src/desired/index.ts';
import { accountSpecs, credentialOf } from '../../src/manager/index.ts';
import { desiredOf } from '../support/desired.ts';

const environment = { url: 'https://own.example', apiKey: () => new Sensitive('own-key') };

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

function keyOf(snapshot: DesiredSnapshot): string | undefined {
  const wanted = accountSpecs(snapshot, environment).get('team/theirs');
  return wanted && credentialOf('team/theirs', wanted.spec, snapshot, environment)?.reveal();
}

/** The same documents, as objects of a cluster. */
function inCluster(folder: DesiredSnapshot): DesiredSnapshot {
  const facts = { uid: 'uid', generation: 1, resourceVersion: '1', finalizers: [], status: undefined };
  const cluster = { ...facts, deletionRequestedAt: undefined };
  const objects = [...folder.objects].map(([key, object]) => [key, { ...object, cluster }] as const);
  return { ...folder, objects: new Map(objects), cluster: new Map(objects.map(([key]) => [key, cluster])) };
}

test('in a folder, an Account that names no Secret has the key of the environment', () => {
  expect(keyOf(desiredOf({ 'account.yaml': accountDocument() }))).toBe('own-key');
});

test("in a cluster, the operator's own key goes to no address that somebody else has written", () => {
  expect(keyOf(inCluster(desiredOf({ 'account.yaml': accountDocument() })))).toBeUndefined();
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
  expect(own?.shared).toBe(true);
  expect(own && credentialOf('default/default', own.spec, snapshot, environment)?.reveal()).toBe('own-key');
});
