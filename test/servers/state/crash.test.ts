/** The crash point CP16 (docs/internals/fault-matrix.md): between any two steps of SQLite, copying its log into the database among them. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { Sqlite, systemRandom } from '../../../src/base/index.ts';
import { readState } from '../../../src/state/index.ts';
import { seed } from '../../support/seed.ts';
import { SeededRandom } from '../../support/seeded-random.ts';
import { temporaryFile } from '../../support/temporary.ts';
import { owner, trainer } from '../../unit/state/support.ts';

const writer = fileURLToPath(import.meta.resolve('../../support/write-state.ts'));
/** More than fill the log, which is copied into the database then. */
const writes = 12;

/** Kills the writer so much after it has told that number; returns the last one that it has told. */
async function writeAndKill(file: string, first: number, delayMs: number): Promise<number> {
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', writer, file, String(first)],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  let last = 0;
  createInterface({ input: child.stdout }).on('line', (line) => {
    last = Number(line);
    if (last === first + writes) setTimeout(() => child.kill('SIGKILL'), delayMs);
  });
  await once(child, 'close');
  return last;
}

test(`what was told to be durable outlives kill -9, also in the middle of a checkpoint (SEED=${seed})`, async () => {
  const random = new SeededRandom(seed);
  const file = temporaryFile('state.db');
  let last = 0;
  for (let kill = 0; kill < 3; kill += 1) {
    last = await writeAndKill(file, last + 2, random.between(0, 20));
    const found = readState(file, systemRandom, owner).lastIntent(trainer)?.idempotencyKey ?? '';
    // It may have been durable, and not told any more.
    expect([`key-${last}`, `key-${last + 1}`]).toContain(found);
    const database = new Sqlite(file, { readOnly: true });
    expect(database.get('PRAGMA integrity_check')).toEqual({ integrity_check: 'ok' });
    expect(database.all('SELECT 1 FROM intents').length).toBeLessThanOrEqual(20);
    database.close();
  }
});
