import { execFile } from 'node:child_process';
import { cpSync, existsSync, globSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../support/processes/processes.ts';

const dist = path.resolve(import.meta.dirname, '../../dist');

const run = promisify(execFile);

function start(folder: string, args: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  return run(process.execPath, [path.join(folder, 'main.mjs'), ...args], { env: environment });
}

test('dist/ needs nothing else: no package, no sources, no file beside it', async () => {
  const folder = await temporaryFolder();
  cpSync(dist, folder, { recursive: true });
  const manifest = readFileSync(path.resolve(dist, '../package.json'), 'utf8');
  expect((await start(folder, ['--version'])).stdout.trim()).toBe(JSON.parse(manifest).version);
  const chunks = globSync('chunks/*.mjs', { cwd: folder });
  expect(chunks.length).toBeGreaterThan(30);
  const all = `for (const file of ${JSON.stringify(chunks)}) await import('./' + file)`;
  expect(await run(process.execPath, ['--input-type=module', '--eval', all], { cwd: folder })).toEqual({
    stdout: '',
    stderr: '',
  });
});

test('V8 can keep the text of each module with one byte for a character', () => {
  const wide = globSync('**/*.mjs', { cwd: dist }).filter((file) =>
    /[\u0100-\uFFFF]/.test(readFileSync(path.join(dist, file), 'utf8')),
  );
  expect(wide).toEqual([]);
});

test('it says whose code is in it, and on which terms', () => {
  const text = readFileSync(path.join(dist, 'THIRD-PARTY.md'), 'utf8');
  expect(text).toMatch(/^# zod \d.*\n\nMIT\n\nMIT License/m);
  expect(text).toMatch(/^# undici \d/m);
  expect(text).not.toMatch(/^# fleetkeeper/m);
});

test('what was compiled is kept for the next start, where only the user can write', async () => {
  const home = await temporaryFolder();
  await start(dist, ['--help'], { HOME: home });
  expect(readdirSync(path.join(home, '.cache/fleetkeeper/compiled'))).toHaveLength(1);
  await start(dist, ['--help'], { HOME: home, XDG_CACHE_HOME: path.join(home, 'caches') });
  expect(readdirSync(path.join(home, 'caches/fleetkeeper/compiled'))).toHaveLength(1);
});

test.each(['/proc/none', '/nonexistent', '/dev/null'])(
  'with %s for a home, nothing is kept or made',
  async (HOME) => {
    expect((await start(dist, ['--help'], { HOME })).stderr).toBe('');
    expect(existsSync('/nonexistent')).toBe(false);
  },
);
