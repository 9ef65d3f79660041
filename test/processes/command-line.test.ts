/** What commands say, and exit with, when something around them is not as usual. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { ControlPlane } from '../support/processes/control-plane.ts';
import { FleetFolder, account, service, testInFolder, volume } from '../support/processes/fleet.ts';
import { eventually, fleetkeeper, temporaryFolder } from '../support/processes/processes.ts';

const main = path.resolve(import.meta.dirname, '../../dist/main.mjs');

async function world() {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = new FleetFolder(folder);
  await fleet.write('account.yaml', account(plane.url));
  return { plane, fleet };
}

/** Its exit code, with a reader of its output who has gone. */
async function withoutReader(args: readonly string[]): Promise<number | null> {
  const child = spawn(process.execPath, [main, ...args], { stdio: ['ignore', 'pipe', 'ignore'] });
  child.stdout?.destroy();
  const [code] = (await once(child, 'close')) as [number | null];
  return code;
}

testInFolder('a reader who stops reading changes neither what is done nor the exit code', async () => {
  const { plane, fleet } = await world();
  await fleet.write('data.yaml', [volume('data')]);
  expect(await withoutReader(['plan', ...fleet.flags])).toBe(2);
  expect(await withoutReader(['apply', ...fleet.flags, '--yes'])).toBe(0);
  expect((await plane.account()).volumes).toHaveLength(1);
  expect(await withoutReader(['plan', ...fleet.flags])).toBe(0);
});

testInFolder('what only shows ends when its reader is gone', async () => {
  const { fleet } = await world();
  await fleet.write('data.yaml', [volume('data')]);
  expect((await fleet.apply()).code).toBe(0);
  expect(await withoutReader(['status', ...fleet.flags, '--watch'])).toBe(0);
});

/** A file on a disk without room. */
async function onFullDisk(
  args: readonly string[],
  full: 'stdout' | 'stderr',
  endsAfter?: () => Promise<void>,
) {
  const disk = await open('/dev/full', 'w');
  const child = spawn(process.execPath, [main, ...args], {
    stdio: ['ignore', full === 'stdout' ? disk.fd : 'pipe', full === 'stderr' ? disk.fd : 'pipe'],
  });
  const closed = once(child, 'close') as Promise<[number | null]>;
  await disk.close();
  const other = child.stdout ?? child.stderr;
  const shown = other ? text(other) : Promise.resolve('');
  await endsAfter?.();
  if (endsAfter) child.kill('SIGTERM');
  const [code] = await closed;
  return { code, shown: await shown };
}

testInFolder('a full disk where the output goes stops nothing, and makes it a failure', async () => {
  const { plane, fleet } = await world();
  await fleet.write('data.yaml', [volume('data')]);
  const lost = { code: 1, shown: expect.stringMatching(/error: can't write the output: ENOSPC.*\n {2}\S/) };
  const planned = await onFullDisk(['plan', ...fleet.flags], 'stdout');
  expect(planned).toMatchObject(lost);
  expect(planned.shown).not.toContain('    at ');
  expect(await onFullDisk(['apply', ...fleet.flags, '--yes'], 'stdout')).toMatchObject(lost);
  expect((await plane.account()).volumes).toHaveLength(1);
  expect(await onFullDisk(['plan', ...fleet.flags], 'stderr')).toMatchObject({ code: 0 });
});

testInFolder('a full disk where the log goes does not stop the manager', async () => {
  const { plane, fleet } = await world();
  const done = await onFullDisk(['run', ...fleet.flags], 'stderr', async () => {
    await eventually('it works', async () => (await fleet.records()).has('Account/default'));
    await fleet.write('data.yaml', [volume('data')]);
    await eventually('a volume is created', async () => (await plane.account()).volumes.length === 1);
  });
  expect(done).toMatchObject({ code: 0 });
});

testInFolder('what is to be left at the provider is planned, asked about, and found again', async () => {
  const { plane, fleet } = await world();
  await fleet.write('web.yaml', [service('web', { deletionPolicy: 'Retain' })]);
  await fleet.apply();
  const { id } = await plane.service('web');
  await fleet.remove('web.yaml');
  const { code, plan } = await fleet.plan();
  expect(code).toBe(2);
  expect(plan.changes).toMatchObject([{ name: 'web', action: 'leave', reason: 'Retained' }]);
  expect(plan.summary).toMatchObject({ leave: 1, delete: 0 });
  const unasked = await fleetkeeper(['apply', ...fleet.flags]);
  expect(unasked).toMatchObject({ code: 1, stderr: expect.stringContaining('--yes') });
  expect((await fleet.records()).has('ContainerService/web')).toBe(true);
  const { stderr } = await fleet.apply();
  expect(stderr).toContain(`ContainerService default/web: left at the provider, as ${id}`);
  const inventory = await fleetkeeper(['inventory', ...fleet.flags, '--output', 'json']);
  expect(JSON.parse(inventory.stdout).items).toMatchObject([{ id, kind: 'ContainerService' }]);
});

testInFolder('a document that can not be used, and never was, is not told to be gone', async () => {
  const { fleet } = await world();
  await fleet.write('web.yaml', [service('web')]);
  await fleet.write('small.yaml', [volume('small', { sizeGb: 5 })]);
  const { code, stderr } = await fleet.apply();
  expect(code).toBe(1);
  expect(stderr).toContain('small.yaml');
  expect(stderr).not.toContain('gone');
});

test('an address that others have is told with what to do, and no stack', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  onTestFinished(() => void taken.close());
  const address = `127.0.0.1:${(taken.address() as AddressInfo).port}`;
  const folder = await temporaryFolder();
  const fleet = new FleetFolder(folder);
  await fleet.write('account.yaml', account('http://127.0.0.1:9'));
  const accounts = path.join(folder, 'accounts.yaml');
  const acme = {
    name: 'acme',
    email: 'a@acme.example',
    emailVerified: true,
    balanceMicros: 1,
    apiKeys: ['key-of-nobody'],
  };
  await writeFile(accounts, JSON.stringify({ accounts: [acme] }));
  for (const args of [
    ['control-plane', '--listen', address, '--database', ':memory:', '--accounts', accounts],
    ['run', ...fleet.flags, '--listen', address],
  ]) {
    const { code, stderr } = await fleetkeeper(args);
    expect(code).toBe(1);
    expect(stderr).toContain(`can't listen on ${address}`);
    expect(stderr).toContain('port 0');
    expect(stderr).not.toContain('    at ');
  }
});

test('a wrong flag of what runs a command of somebody else is not taken for the exit code of that', async () => {
  for (const name of ['exec', 'protect']) {
    expect(await fleetkeeper([name, 'web', '--no-such-flag', '--', 'true'])).toMatchObject({ code: 125 });
    expect(await fleetkeeper([name, '--help'])).toMatchObject({ code: 0 });
  }
  expect(await fleetkeeper(['status', '--no-such-flag'])).toMatchObject({ code: 1 });
});

testInFolder(
  'of several accounts it is said which one can not be read, and where it is declared',
  async () => {
    const { fleet } = await world();
    const [document] = account('http://127.0.0.1:9');
    await fleet.write('other.yaml', [{ ...document, metadata: { name: 'other' } }]);
    await fleet.write('web.yaml', [service('web'), service('away', { accountRef: { name: 'other' } })]);
    for (const args of [['plan'], ['apply', '--yes']]) {
      const { code, stderr } = await fleetkeeper([...args, ...fleet.flags]);
      expect(code).toBe(1);
      expect(stderr).toMatch(/other\.yaml:1: Account other: the account can't be read: .*ECONNREFUSED/);
      expect(stderr).not.toContain('Account default');
    }
  },
);

testInFolder('apply does not wait for what is only reported to be gone', async () => {
  const { plane, fleet } = await world();
  await fleet.write('web.yaml', [service('web', { driftPolicy: 'Report' })]);
  await fleet.apply();
  const { id } = await plane.service('web');
  await plane.call('POST', `/api/services/${id}/actions`, { action: 'delete' });
  await eventually('it is gone', async () => (await plane.account()).services.length === 0);
  const { code, stderr } = await fleet.apply();
  expect(code).toBe(1);
  expect(stderr).toContain('1 object(s) need a person: ContainerService default/web');
});
