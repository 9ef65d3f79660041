/** What a derived Idempotency-Key depends on. */
import { expect, test } from 'vitest';
import { Sensitive, digestKey, isUuid } from '../../../../src/base/index.ts';
import { creationKey } from '../../../../src/engine/mutation/creation-keys.ts';
import type { Action } from '../../../../src/engine/plan/index.ts';
import { aRecord, serviceKey } from '../../../support/plan.ts';

const state = {
  ownerName: 'shop',
  digestKey: digestKey(Buffer.alloc(32, 7)),
  isKeyShared: true,
  epoch: undefined,
};
const record = { ...aRecord(serviceKey), uid: '5dfe9a40-51a7-8b0e-8c6b-61b7c5ab3c6a', externalId: undefined };
const body = {
  name: 'web',
  region: 'standard',
  image: 'ghcr.io/acme/web:1',
  resources: { gpuCount: 0, cpu: 1, memoryGb: 1 },
};
const creation = (
  more: object = {},
  environment: Record<string, string> = { TOKEN: 'one', MODE: 'b' },
): Action => ({
  do: 'create-service',
  body: { ...body, ...more },
  environment: new Sensitive(environment),
});
const first = creationKey(state, record, creation(), 'acme');

test('it is a UUID, and the same for the same creation, however its members are ordered', () => {
  expect(isUuid(first ?? '')).toBe(true);
  expect(creationKey({ ...state }, { ...record }, creation({}, { MODE: 'b', TOKEN: 'one' }), 'acme')).toBe(
    first,
  );
});

test('it never changes from one version to the next: two may run at once', () => {
  expect(first).toBe('4b5a399c-c982-87a5-86aa-181917c9cf08');
});

test.each([
  ['owner', creationKey({ ...state, ownerName: 'other' }, record, creation(), 'acme')],
  [
    'object',
    creationKey(state, { ...record, uid: '5dfe9a40-51a7-8b0e-8c6b-61b7c5ab3c6b' }, creation(), 'acme'),
  ],
  ['account', creationKey(state, record, creation(), 'emca')],
  [
    'digest key',
    creationKey({ ...state, digestKey: digestKey(Buffer.alloc(32, 8)) }, record, creation(), 'acme'),
  ],
  ['field of the body', creationKey(state, record, creation({ image: 'ghcr.io/acme/web:2' }), 'acme')],
  ['value of a variable', creationKey(state, record, creation({}, { TOKEN: 'two', MODE: 'b' }), 'acme')],
  ['thing before it', creationKey(state, { ...record, externalId: 'x' }, creation(), 'acme')],
  ['refused creation', creationKey(state, { ...record, refusedKey: first }, creation(), 'acme')],
  ['epoch of the state', creationKey({ ...state, epoch: '1' }, record, creation(), 'acme')],
])('another %s has another key', (_what, key) => {
  expect(isUuid(key ?? '')).toBe(true);
  expect(key).not.toBe(first);
});

test('two Accounts of one name are two tenants: the credential tells them apart where the API shows no identity', () => {
  const keys = ['acme', 'digest-of-key-1', 'digest-of-key-2', undefined];
  expect(new Set(keys.map((identity) => creationKey(state, record, creation(), identity))).size).toBe(4);
});

test('nothing is derived of a digest key that no other state has, and for nothing but creations', () => {
  expect(creationKey({ ...state, isKeyShared: false }, record, creation(), 'acme')).toBeUndefined();
  for (const action of ['start-service', 'stop-service', 'restart-service', 'delete-service'] as const) {
    expect(creationKey(state, record, { do: action, id: 'x' }, 'acme')).toBeUndefined();
  }
});
