/** What `exec` does with a stdin of every kind. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { reply, serve, type ScriptedServer } from '../servers/api/support.ts';
import { temporaryFolder } from '../support/processes/processes.ts';

const main = path.resolve(import.meta.dirname, '../../dist/main.mjs');
const id = '0f8fad5b-d9cb-469f-a165-70867728950e';
const exec = [process.execPath, main, 'exec', '--id', id, '--', 'cat'];

let server: ScriptedServer;
beforeEach(async () => {
  server = await serve(reply(200, { exitCode: 0, stdout: 'ran\n' }));
  return () => server[Symbol.asyncDispose]();
});

/** With its exit code, and how many commands were sent. */
async function finished(child: ReturnType<typeof spawn>) {
  let stderr = '';
  child.stderr?.on('data', (part) => (stderr += String(part)));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stderr, sent: server.requests.length };
}

function start(program: string, args: readonly string[], stdin: 'pipe' | 'ignore' = 'ignore') {
  const env = { ...process.env, FLEETKEEPER_API_URL: server.url, FLEETKEEPER_API_KEY: 'key' };
  return spawn(program, args, { env, stdio: [stdin, 'ignore', 'pipe'] });
}

/** In a shell, where "$@" is the command. */
function inShell(script: string, folder = '.') {
  return finished(start('sh', ['-c', `cd "$0" && ${script}`, folder, ...exec]));
}

const refused = { code: 125, sent: 0, stderr: expect.stringContaining('</dev/null') };
const ran = { code: 0, sent: 1, stderr: '' };

test('data in a pipe or a file is refused, and nothing is sent', async () => {
  const folder = await temporaryFolder();
  await writeFile(path.join(folder, 'data'), 'data');
  expect(await inShell('printf data | "$@"')).toEqual(refused);
  expect(await inShell('"$@" <data', folder)).toEqual(refused);
});

test('data in a socket, as other programs give it to their children, is refused', async () => {
  const [program = '', ...args] = exec;
  const child = start(program, args, 'pipe');
  child.stdin?.end('data');
  expect(await finished(child)).toEqual(refused);
});

test.each(['"$@" </dev/null', ': | "$@"', '"$@" <&-'])('nothing to read is no input: %s', async (script) => {
  expect(await inShell(script)).toEqual(ran);
});

test('an empty file is no input', async () => {
  const folder = await temporaryFolder();
  await writeFile(path.join(folder, 'empty'), '');
  expect(await inShell('"$@" <empty', folder)).toEqual(ran);
});

test('a pipe that stays open and silent is no input, and is not waited for', async () => {
  const [program = '', ...args] = exec;
  expect(await finished(start(program, args, 'pipe'))).toEqual(ran);
  expect(await inShell('mkfifo fifo && "$@" <>fifo', await temporaryFolder())).toEqual({ ...ran, sent: 2 });
});
