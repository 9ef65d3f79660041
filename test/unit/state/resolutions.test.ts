import { expect, test } from 'vitest';
import { leaveResolution } from '../../../src/state/index.ts';
import { temporaryFile } from '../../support/temporary.ts';
import { intentOf, open, recordOf, trainer } from './support.ts';

const word = { idempotencyKey: 'k1', applied: true, id: 'made' };

test('a word left by another process is found by the one that has the state open, and gone with the outcome', async () => {
  const file = temporaryFile('state.db');
  using state = open(file);
  await state.store.saveIntent(intentOf(trainer, 'k1', { outcome: 'unknown' }), recordOf(trainer));
  expect(state.store.resolution(trainer)).toBeUndefined();
  leaveResolution(file, trainer, word);
  expect(state.store.resolution(trainer)).toEqual(word);
  await state.store.saveIntent(intentOf(trainer, 'k1', { outcome: 'applied' }), recordOf(trainer));
  expect(state.store.resolution(trainer)).toBeUndefined();
});

test('it is there after a restart, too, and is forgotten with the object', async () => {
  const file = temporaryFile('state.db');
  {
    using state = open(file);
    await state.store.saveIntent(intentOf(trainer, 'k1', { outcome: 'unknown' }), recordOf(trainer));
  }
  leaveResolution(file, trainer, word);
  using state = open(file);
  expect(state.store.resolution(trainer)).toEqual(word);
  await state.store.remove(trainer);
  expect(state.store.resolution(trainer)).toBeUndefined();
});

test('without a state file there is nothing to leave it in', () => {
  expect(() => leaveResolution('/nowhere/state.db', trainer, word)).toThrow(/there is no state file/);
});
