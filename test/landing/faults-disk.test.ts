/** Faults F73 to F79 and F83: the disk under a state file, and under the database of the control plane. */
import {
  copyFileSync,
  existsSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import {
  ControlPlane,
  ControlPlaneProcess,
  isMutation,
  keysWithTwoBodies,
} from '../support/processes/control-plane.ts';
import {
  canFailSyncs,
  canMount,
  failSyncs,
  makeReadOnly,
  slowSyncs,
  smallDisk,
  traceWrites,
} from '../support/processes/disk.ts';
import { account, FleetFolder, service } from '../support/processes/fleet.ts';
import { launch, eventually, fetch, fleetkeeper, temporaryFolder } from '../support/processes/processes.ts';

async function world(place?: string) {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder, { timeScale: 600 }).start();
  const fleet = new FleetFolder(folder);
  const state = place === undefined ? fleet.state : path.join(place, 'state.db');
  const flags = ['--source', fleet.folder, '--state', state, '--settle', '500ms'];
  await fleet.write('account.yaml', account(plane.url, { pollSeconds: 0.5 }));
  const write = (tag: number) => fleet.write('web.yaml', [service('web', { image: `a/a:${tag}` })]);
  const untilTagged = (tag: number) =>
    eventually(`image ${tag}`, async () => {
      const web = await plane.service('web');
      return web?.image === `a/a:${tag}` && web.state === 'running';
    });
  const run = (...more: string[]) => launch(['run', ...flags, ...more, '--log-level', 'warn']);
  const mutations = async () => (await plane.requests()).filter(isMutation);
  await write(1);
  return { plane, fleet, state, flags, write, untilTagged, run, mutations };
}

test.skipIf(!canMount)(
  'F73 without room for the intent nothing is sent, and with room it goes on',
  async () => {
    const disk = smallDisk();
    const { write, untilTagged, run, mutations, flags } = await world(disk);
    const manager = run('--listen', '127.0.0.1:0');
    const [, url = ''] = await manager.line(/^listening on (.*)$/);
    const text = async (target: string) => (await fetch(`${url}${target}`)).text();
    const readiness = () => text('/readyz?verbose');
    const status = () => fleetkeeper(['status', ...flags.slice(0, 4)]);
    await untilTagged(1);
    expect((await status()).code).toBe(0);
    expect(await readiness()).not.toContain('state-file');
    const filler = path.join(disk, 'filler');
    for (let bytes = 1024 * 1024; bytes >= 1; bytes = Math.floor(bytes / 2)) {
      try {
        writeFileSync(filler, Buffer.alloc(bytes), { flag: 'a' });
      } catch {
        // Until not a byte more goes in.
      }
    }
    const before = (await mutations()).length;
    // SQLite's log has pages that it uses again, and so room for a while.
    let tag = 1;
    await eventually('a full disk', async () => {
      tag += 1;
      await write(tag);
      return /full|disk I\/O error/.test(manager.stderr);
    });
    const failures = () => manager.stderr.match(/pass failed|could not be taken in/g) ?? [];
    await eventually('a second failure', async () => failures().length > 1);
    const sent = (await mutations()).length;
    expect(sent - before).toBeLessThan(tag);
    expect(await readiness()).toMatch(/^\[-\]state-file failed: .*(full|disk I\/O error)/m);
    expect(await text('/healthz')).toBe('ok\n');
    expect(await text('/metrics')).toContain('fleetkeeper_manager_impaired{cause="StateNotWritable"} 1');
    expect(await text('/api/v1/problems')).toContain('"reason":"StateNotWritable"');
    // The sign of life is written over, since there is no room for a new one.
    await eventually('`status` shows it', async () => (await status()).code === 3);
    expect((await status()).stdout).toMatch(/^as of .* may be out of date: .* the state can't be written: /m);
    rmSync(filler);
    await untilTagged(tag);
    await eventually('`status` shows that it is over', async () => (await status()).code === 0);
    await eventually('readiness', async () => !(await readiness()).includes('state-file'));
    expect(manager.running).toBe(true);
  },
);

test.skipIf(!canMount)('F73 a disk that is full at the start is not taken for a second manager', async () => {
  const disk = smallDisk();
  const { flags } = await world(disk);
  for (let bytes = 1024 * 1024; bytes >= 1; bytes = Math.floor(bytes / 2)) {
    try {
      writeFileSync(path.join(disk, 'filler'), Buffer.alloc(bytes), { flag: 'a' });
    } catch {
      // Until not a byte more goes in.
    }
  }
  const applied = await fleetkeeper(['apply', ...flags, '--yes']);
  expect(applied).toMatchObject({ code: 1, stderr: expect.stringMatching(/full|no space left/) });
  expect(applied.stderr).toMatch(/make room|has room/);
  expect(applied.stderr).not.toMatch(/in use| {4}at /);
  const made = await fleetkeeper(['init', path.join(disk, 'new'), '--simulated']);
  expect(made).toMatchObject({ code: 1, stderr: expect.stringMatching(/^error: .*no space left/) });
  expect(existsSync(path.join(disk, 'new'))).toBe(false);
});

test.skipIf(!canMount)(
  'F73 apply shows that the disk became full, and does not wait in silence',
  async () => {
    const disk = smallDisk();
    const { flags, mutations } = await world(disk);
    const { bavail, bsize } = statfsSync(disk);
    // An empty state fits, and not much more.
    writeFileSync(path.join(disk, 'filler'), Buffer.alloc(bavail * bsize - 190 * 1024));
    const { code, stderr } = await fleetkeeper(['apply', ...flags, '--yes', '--timeout', '5s']);
    expect(code).toBe(1);
    expect(stderr).toMatch(/can't be worked on, and is tried again: database or disk is full/);
    expect((await mutations()).length).toBeLessThan(2);
  },
);

test.skipIf(!canFailSyncs)('F74 a disk that does not confirm a write ends the manager', async () => {
  const { plane, write, untilTagged, run, mutations } = await world();
  const manager = run();
  await untilTagged(1);
  const before = (await mutations()).length;
  await failSyncs(manager.pid);
  await write(2);
  const { code, stderr } = await manager.finished();
  expect([code, stderr]).toEqual([1, expect.stringContaining('the disk did not confirm what was written')]);
  expect((await mutations()).length).toBe(before);
  run();
  await untilTagged(2);
  expect(keysWithTwoBodies(await plane.requests())).toEqual([]);
});

test.skipIf(!canFailSyncs)(
  'F74 each request leaves when its key has been written, and the disk has confirmed that',
  async () => {
    const { write, untilTagged, run } = await world();
    const manager = run();
    await untilTagged(1);
    const calls = await traceWrites(manager.pid);
    for (const tag of [2, 3, 4]) {
      await write(tag);
      await untilTagged(tag);
    }
    const traced = calls();
    const sent = traced.flatMap(({ text, beganAt }) => {
      const [, key] = /"PATCH \/api\/services\/.*idempotency-key: ([0-9a-f-]{36})/.exec(text) ?? [];
      return key === undefined ? [] : [{ key, beganAt }];
    });
    expect(sent).toHaveLength(3);
    const ofLog = traced.filter(({ text }) => text.includes('state.db-wal>'));
    for (const { key, beganAt } of sent) {
      const written = ofLog.find(({ name, text }) => name === 'pwrite64' && text.includes(key));
      const writtenAt = written?.beganAt ?? Number.POSITIVE_INFINITY;
      const confirmed = ofLog.find((call) => call.name === 'fdatasync' && call.beganAt > writtenAt);
      expect(confirmed?.endedAt).toBeLessThan(beganAt);
    }
  },
);

test.skipIf(!canFailSyncs)('F74 a disk that takes 2 s for a write holds up nothing else', async () => {
  const { write, untilTagged, flags } = await world();
  const manager = launch(['run', ...flags, '--log-level', 'warn', '--listen', '127.0.0.1:0']);
  const [, url = ''] = await manager.line(/^listening on (.*)$/);
  await untilTagged(1);
  await slowSyncs(manager.pid, 2000);
  const beganMs = Date.now();
  await write(2);
  const answered: number[] = [];
  const statuses = new Set<number>();
  const done = new AbortController();
  const watched = (async () => {
    while (!done.signal.aborted) {
      const askedMs = Date.now();
      statuses.add((await fetch(`${url}/healthz`)).status);
      answered.push(Date.now() - askedMs);
      // It answers 20 requests a second.
      await delay(100);
    }
  })();
  await untilTagged(2);
  done.abort();
  await watched;
  // The intent was on the disk before the request.
  expect(Date.now() - beganMs).toBeGreaterThan(2000);
  expect(Math.max(...answered)).toBeLessThan(1500);
  expect([...statuses]).toEqual([200]);
});

test('F75 a log whose last record is torn loses that record, and nothing is doubled', async () => {
  const { plane, state, write, untilTagged, run, mutations } = await world();
  const manager = run();
  await untilTagged(1);
  await write(2);
  await untilTagged(2);
  await manager.kill('SIGKILL');
  truncateSync(`${state}-wal`, statSync(`${state}-wal`).size - 100);
  await write(3);
  run();
  await untilTagged(3);
  expect((await plane.account()).services).toHaveLength(1);
  expect((await mutations()).map(({ method }) => method)).toEqual(['POST', 'PATCH', 'PATCH']);
  expect(keysWithTwoBodies(await plane.requests())).toEqual([]);
});

const damages: [string, (bytes: Buffer) => Buffer][] = [
  ['is cut in the middle', (bytes) => bytes.subarray(0, bytes.length / 2)],
  ['has noise at its head', (bytes) => Buffer.concat([Buffer.alloc(100, 0xa5), bytes.subarray(100)])],
  ['has noise in the middle', (bytes) => bytes.fill(0xa5, bytes.length / 2 - 2048, bytes.length / 2 + 2048)],
];

test.each(damages)('F76 a state file that %s is refused by name, and left as it is', async (_, damage) => {
  const { state, write, untilTagged, run, flags, mutations } = await world();
  const manager = run();
  await untilTagged(1);
  await manager.kill('SIGTERM');
  const damaged = damage(readFileSync(state));
  writeFileSync(state, damaged);
  await write(2);
  const before = (await mutations()).length;
  const given = flags.slice(0, 4);
  const readers = [fleetkeeper(['plan', ...given]), fleetkeeper(['status', ...given])];
  const writers = [await fleetkeeper(['run', ...flags]), await fleetkeeper(['apply', ...flags, '--yes'])];
  for (const { code, stderr } of [...writers, ...(await Promise.all(readers))]) {
    expect(code).toBe(1);
    expect(stderr).toContain(state);
    expect(stderr).toContain('restore it');
  }
  expect(readFileSync(state).equals(damaged)).toBe(true);
  expect((await mutations()).length).toBe(before);
});

test.skipIf(!canMount)('F77 a state file that can not be written is refused with what to do', async () => {
  const disk = smallDisk();
  const { state, untilTagged, run, mutations } = await world(disk);
  const manager = run();
  await untilTagged(1);
  await manager.kill('SIGTERM');
  makeReadOnly(disk);
  const before = (await mutations()).length;
  const { code, stderr } = await run().finished();
  expect([code, stderr]).toEqual([1, expect.stringContaining(state)]);
  expect(stderr).toMatch(/check that this user may write/);
  expect((await mutations()).length).toBe(before);
});

test('F79 a state file of the past is caught up by what is there, and nothing is doubled', async () => {
  const { plane, fleet, state, write, untilTagged, run, mutations } = await world();
  let manager = run();
  await untilTagged(1);
  await manager.kill('SIGTERM');
  copyFileSync(state, `${state}.old`);
  manager = run();
  await write(2);
  await untilTagged(2);
  await fleet.write('more.yaml', [service('more')]);
  await fleet.untilReady(2);
  await manager.kill('SIGTERM');
  copyFileSync(`${state}.old`, state);
  const before = (await mutations()).length;
  run();
  await fleet.untilReady(2);
  expect((await mutations()).length).toBe(before);
  await write(3);
  await untilTagged(3);
  expect((await plane.account()).services).toHaveLength(2);
  expect(keysWithTwoBodies(await plane.requests())).toEqual([]);
});

async function createService(plane: ControlPlane): Promise<unknown> {
  const resources = { gpuCount: 0, cpu: 1, memoryGb: 1 };
  return plane.call('POST', '/api/services', { name: 'web', region: 'standard', image: 'a/a:1', resources });
}

test.skipIf(!canFailSyncs)(
  'F83 a disk that does not confirm a commit ends the control plane before it answers',
  async () => {
    const plane = await new ControlPlaneProcess(await temporaryFolder()).start();
    await failSyncs(plane.pid);
    await expect(createService(plane)).rejects.toThrow('fetch failed');
    expect(await plane.end()).not.toBe(0);
    await plane.start();
    const left = (await plane.account()).services.length;
    expect([0, 1]).toContain(left);
    await createService(plane);
    expect((await plane.account()).services).toHaveLength(left + 1);
  },
);

test('F83 a database that somebody locks is not to be had, and one that is damaged is not opened', async () => {
  const folder = await temporaryFolder();
  const plane = await new ControlPlaneProcess(folder).start();
  await createService(plane);
  const other = new DatabaseSync(plane.database, { timeout: 0 });
  expect(() => other.exec('BEGIN IMMEDIATE')).toThrow('database is locked');
  other.close();
  await createService(plane);
  expect(await plane.end()).toBe(0);
  expect(existsSync(`${plane.database}-wal`)).toBe(false);
  const bytes = readFileSync(plane.database);
  writeFileSync(plane.database, bytes.fill(0xa5, 4096, bytes.length - 4096));
  await expect(plane.start()).rejects.toThrow(plane.database);
});
