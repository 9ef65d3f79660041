import { execFile } from 'node:child_process';
import { cpSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { temporaryFolder } from './support/processes.ts';

const dist = path.resolve(import.meta.dirname, '../../dist');

function start(folder: string, args: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const main = path.join(folder, 'main.mjs');
  return promisify(execFile)(process.execPath, [main, ...args], { cwd: folder, env: environment });
}

test('dist/ needs nothing else: no package, no sources, no file beside it', async () => {
  const folder = await temporaryFolder();
  cpSync(dist, folder, { recursive: true });
  const manifest = readFileSync(path.resolve(dist, '../package.json'), 'utf8');
  expect((await start(folder, ['--version'])).stdout.trim()).toBe(JSON.parse(manifest).version);
  const { stdout } = await start(folder, ['--help']);
  const commands = [...stdout.matchAll(/^ {2}(?<name>[a-z-]+) {2,}/gm)].map((match) => match[1] ?? '');
  expect(commands.length).toBeGreaterThan(15);
  for (const command of commands) {
    expect((await start(folder, ['help', command])).stdout).toContain(`fleetkeeper ${command}`);
  }
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

test('without a place to keep it, the command works all the same', async () => {
  expect((await start(dist, ['--help'], { HOME: '/proc/none' })).stderr).toBe('');
});
