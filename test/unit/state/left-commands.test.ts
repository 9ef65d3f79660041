import { systemRandom, Sqlite } from '../../../src/base/index.ts';
import { expect, test } from 'vitest';
import { leaveCommand, leaveResolution, readState } from '../../../src/state/index.ts';
import { temporaryFile } from '../../support/temporary.ts';
import { intentOf, open, owner, recordOf, trainer, withoutCommands } from './support.ts';

const handled = { at: 1000, result: 'Done', message: 'done' } as const;

test('a command left by another process is found, and gone with the record of what it did', async () => {
  const file = temporaryFile('state.db');
  using state = open(file);
  await state.store.save(recordOf(trainer));
  expect([state.store.command(trainer), state.store.newCommands()]).toEqual([undefined, []]);
  leaveCommand(file, trainer, 'scale:9@g1');
  expect(state.store.command(trainer)).toBe('scale:9@g1');
  expect(readState(file, systemRandom, owner).command(trainer)).toBe('scale:9@g1');
  expect(state.store.newCommands()).toEqual([trainer]);
  // Once: the object was rechecked then.
  expect(state.store.newCommands()).toEqual([]);
  const lastCommand = { ...handled, command: 'scale:9@g1' };
  await state.store.save(recordOf(trainer, { lastCommand }));
  expect(state.store.command(trainer)).toBeUndefined();
  expect(state.store.record(trainer)?.lastCommand).toEqual(lastCommand);
});

test('a command that replaces another one meanwhile stays', async () => {
  const file = temporaryFile('state.db');
  using state = open(file);
  await state.store.save(recordOf(trainer));
  leaveCommand(file, trainer, 'scale:9@g1');
  leaveCommand(file, trainer, 'scale:4@g1');
  await state.store.save(recordOf(trainer, { lastCommand: { ...handled, command: 'scale:9@g1' } }));
  expect(state.store.command(trainer)).toBe('scale:4@g1');
});

test('it is there after a restart, too, and is forgotten with the object', async () => {
  const file = temporaryFile('state.db');
  {
    using state = open(file);
    await state.store.save(recordOf(trainer));
  }
  leaveCommand(file, trainer, 'scale:9@g1');
  using state = open(file);
  // The first call names all that are there.
  expect(state.store.newCommands()).toEqual([trainer]);
  await state.store.remove(trainer);
  expect(state.store.command(trainer)).toBeUndefined();
});

test('a decision that an earlier version was left is found after the upgrade', async () => {
  const file = temporaryFile('state.db');
  {
    using state = open(file);
    await state.store.saveIntent(intentOf(trainer, 'k1', { outcome: 'unknown' }), recordOf(trainer));
  }
  const database = new Sqlite(file);
  withoutCommands(database);
  database.close();
  const word = { idempotencyKey: 'k1', applied: true, id: 'made' };
  // The earlier version may still run.
  leaveResolution(file, trainer, word);
  expect(() => leaveCommand(file, trainer, 'scale:9@g1')).toThrow(/written by an earlier version/);
  using state = open(file);
  expect(state.store.resolution(trainer)).toEqual(word);
  leaveCommand(file, trainer, 'scale:9@g1');
  expect([state.store.resolution(trainer), state.store.command(trainer)]).toEqual([word, 'scale:9@g1']);
});

test('without a state file there is nothing to leave it in', () => {
  expect(() => leaveCommand('/nowhere/state.db', trainer, 'scale:9@g1')).toThrow(/there is no state file/);
});
