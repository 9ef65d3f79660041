import { expect, test } from 'vitest';
import { systemRandom } from '../../../src/base/index.ts';
import { readState } from '../../../src/state/index.ts';
import { temporaryFile } from '../../support/temporary.ts';
import { open, owner } from './support.ts';

const pin = { id: 'acme', emailDigest: '0123456789abcdef' };

test('the identity of an account outlives the process and its Account document, until it is forgotten', async () => {
  const file = temporaryFile('state.db');
  {
    using state = open(file);
    await state.store.saveIdentityPin('default/default', { id: 'old', emailDigest: undefined });
    await state.store.saveIdentityPin('default/default', pin);
    await state.store.saveIdentityPin('team/other', { id: 'other', emailDigest: undefined });
    await state.store.remove('Account/default/default');
  }
  {
    using state = open(file);
    expect(state.store.identityPin('default/default')).toEqual(pin);
    expect(state.store.identityPin('team/other')?.id).toBe('other');
    await state.store.saveIdentityPin('team/other', undefined);
  }
  const read = readState(file, systemRandom, owner);
  expect(read.identityPin('default/default')).toEqual(pin);
  expect(read.identityPin('team/other')).toBeUndefined();
});

test('what a reader pins stays with the reader', async () => {
  const file = temporaryFile('state.db');
  open(file).close();
  const reader = readState(file, systemRandom, owner);
  await reader.saveIdentityPin('default/default', pin);
  expect(reader.identityPin('default/default')).toEqual(pin);
  expect(readState(file, systemRandom, owner).identityPin('default/default')).toBeUndefined();
});
