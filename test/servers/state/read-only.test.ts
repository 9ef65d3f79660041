/** A state file on a file system that takes no write, such as a snapshot that is mounted. */
import { copyFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { systemRandom } from '../../../src/base/index.ts';
import { openState, readState } from '../../../src/state/index.ts';
import { canMount, makeReadOnly, smallDisk } from '../../support/processes/disk.ts';
import { temporaryFile } from '../../support/temporary.ts';
import { owner, recordOf, trainer } from '../../unit/state/support.ts';

test.skipIf(!canMount)('is read there, and nothing is written beside it', async () => {
  const file = path.join(smallDisk(), 'a state?#.db');
  const state = openState(file, systemRandom, owner);
  await state.store.save(recordOf(trainer));
  state.close();
  makeReadOnly(path.dirname(file));
  expect(readState(file, systemRandom, owner).record(trainer)).toEqual(recordOf(trainer));
  expect(() => openState(file, systemRandom, owner)).toThrow(
    expect.objectContaining({ remedy: expect.stringContaining('this user may write there') }),
  );
});

test.skipIf(!canMount)('with a log that can not be read there is refused, with what to do', async () => {
  const disk = smallDisk();
  const [original, file] = [temporaryFile('state.db'), path.join(disk, 'state.db')];
  const state = openState(original, systemRandom, owner);
  await state.store.save(recordOf(trainer));
  for (const end of ['', '-wal']) copyFileSync(`${original}${end}`, `${file}${end}`);
  state.close();
  makeReadOnly(disk);
  expect(() => readState(file, systemRandom, owner)).toThrow(
    expect.objectContaining({
      name: 'UserError',
      message: expect.stringContaining('this file system is read-only'),
      remedy: expect.stringMatching(/^copy the file, .* -wal, to another folder/),
    }),
  );
});
