import { expect, test } from 'vitest';
import { launch, eventually, fleetkeeper, temporaryFolder } from '../support/processes/processes.ts';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';

test('SIGUSR1 opens no debugger, also where Node was not told so by its flags', async () => {
  const folder = await temporaryFolder();
  const accounts = path.join(folder, 'accounts.yaml');
  await writeFile(accounts, 'accounts: [{name: acme, email: a@b.example, apiKeys: [key-of-acme]}]');
  const addresses = ['--listen', '127.0.0.1:0'];
  const program = launch(['control-plane', '--database', ':memory:', '--accounts', accounts, ...addresses]);
  const [, url = ''] = await program.line(/^listening on (.*)$/);
  process.kill(program.pid ?? 0, 'SIGUSR1');
  // Handled in a later turn than the signal.
  await eventually('an answer after the signal', async () => (await fetch(`${url}/api/catalog`)).ok);
  await eventually('another one', async () => (await fetch(`${url}/api/catalog`)).ok);
  const { code, stderr } = await program.kill('SIGTERM');
  expect([code, stderr]).toEqual([0, expect.not.stringMatching(/Debugger listening|inspector/)]);
});

test('the flags with which the image hardens Node break no command', async () => {
  const flags = '--disable-proto=delete --disable-sigusr1 --report-exclude-env';
  expect((await fleetkeeper(['crds'], { NODE_OPTIONS: flags })).code).toBe(0);
});
