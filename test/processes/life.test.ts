/**
 * What only real processes, sockets, files and clocks show, of a fleet in a folder and in a cluster.
 * Everything else about fleets is in test/fleet, which runs simulated every day.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { createClusterFleet } from '../support/processes/cluster-fleet.ts';
import { ControlPlane, isMutation, keysWithTwoBodies } from '../support/processes/control-plane.ts';
import { FleetFolder, account, service, volume, type Fleet } from '../support/processes/fleet.ts';
import { Front } from '../support/processes/front.ts';
import { replica, untilLed } from '../support/processes/operator.ts';
import { eventually, fetch, launch, temporaryFolder, type Program } from '../support/processes/processes.ts';
import { certificate, privateKey } from '../support/tls.ts';

const places: readonly (readonly [string, (folder: string) => Promise<Fleet>])[] = [
  ['a folder', async (folder) => new FleetFolder(folder)],
  ['a cluster', createClusterFleet],
];

async function world<Place extends Fleet>(create: (folder: string) => Promise<Place>) {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder, { timeScale: 600 }).start();
  const fleet = await create(folder);
  await fleet.write('account.yaml', account(plane.url));
  return { folder, plane, fleet };
}

describe.each(places)('in %s', (_place, create) => {
  test('a fleet is made, edited, put right and taken away, and served over a socket meanwhile', async () => {
    const { plane, fleet } = await world(create);
    await fleet.write('stay.yaml', [volume('data'), service('stay')]);
    await fleet.write('web.yaml', [service('web')]);
    const manager = fleet.run('--listen', '127.0.0.1:0');
    const [, url = ''] = await manager.line(/^listening on (.*)$/);
    await fleet.untilReady(3);
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    expect(await (await fetch(`${url}/metrics`)).text()).toContain('fleetkeeper_account_up');
    const imageIs = (image: string) => async () => (await plane.service('web')).image === image;
    await fleet.write('web.yaml', [service('web', { image: 'ghcr.io/acme/app:2' })]);
    await eventually('the new image', imageIs('ghcr.io/acme/app:2'));
    await fleet.untilReady(3);
    // A step of the lifecycle may move the revision between the read and the change.
    await eventually('a change by somebody else', async () => {
      const { id, revision } = await plane.service('web');
      const change = { revision, patch: { image: 'theirs:1' } };
      return plane.call('PATCH', `/api/services/${id}`, change).then(
        () => true,
        () => false,
      );
    });
    await eventually('our image again', imageIs('ghcr.io/acme/app:2'));
    await fleet.remove('web.yaml');
    await eventually('the deletion', async () => (await plane.service('web')) === undefined);
    await fleet.untilReady(2);
    expect((await fleet.plan()).code).toBe(0);
  });

  test('a manager that is killed with -9 in a creation is followed by one that makes nothing twice', async () => {
    const { plane, fleet } = await world(create);
    await plane.faults([{ method: 'POST', path: '/api/services$', fault: 'delay', delayMs: 1500, times: 1 }]);
    await fleet.write('web.yaml', [service('web')]);
    const first = fleet.run();
    await eventually('a creation under way', async () => (await plane.faultHits()) > 0);
    await first.kill('SIGKILL');
    fleet.run();
    await fleet.untilReady(1);
    expect((await plane.account()).services).toHaveLength(1);
    expect(keysWithTwoBodies(await plane.requests())).toEqual([]);
  });

  test('SIGTERM lets the request under way finish, and what came of it is recorded', async () => {
    const { plane, fleet } = await world(create);
    await plane.faults([{ method: 'POST', path: '/api/services$', fault: 'delay', delayMs: 1000, times: 1 }]);
    await fleet.write('web.yaml', [service('web')]);
    const manager = fleet.run();
    await eventually('a creation under way', async () => (await plane.faultHits()) > 0);
    expect((await manager.kill('SIGTERM')).code).toBe(0);
    const { id } = await plane.service('web');
    expect((await fleet.records()).get('ContainerService/web')?.externalId).toBe(id);
  });

  test('a certificate is trusted when its authority is given, and nothing is sent before', async () => {
    const { folder, plane, fleet } = await world(create);
    const front = await new Front(() => plane.url, { cert: certificate, key: privateKey }).start();
    await fleet.write('account.yaml', account(front.url));
    await fleet.write('web.yaml', [service('web')]);
    const command = ['run', ...fleet.flags, '--settle', '1s'];
    const distrustful = launch(command);
    const reported = await fleet.until('Account/default', 'Ready', 'Unknown', 'ApiUnreachable');
    expect(reported.message).toContain('NODE_EXTRA_CA_CERTS');
    expect(front.seen).toEqual([]);
    await distrustful.kill('SIGTERM');
    const authorities = path.join(folder, 'authorities.pem');
    await writeFile(authorities, certificate);
    launch(command, { NODE_EXTRA_CA_CERTS: authorities });
    await fleet.untilReady(1);
  });
});

test('the lock of a state file goes with the process that held it, however that ended', async () => {
  const { fleet } = await world(async (folder) => new FleetFolder(folder));
  const first = fleet.run('--listen', '127.0.0.1:0');
  await first.line(/^listening on /);
  const refused = await launch(['run', ...fleet.flags]).finished();
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringContaining(`is in use by process ${first.pid} `),
  ]);
  await first.kill('SIGKILL');
  const second = fleet.run('--listen', '127.0.0.1:0');
  await second.line(/^listening on /);
  expect((await second.kill('SIGTERM')).code).toBe(0);
});

const canLimit = spawnSync('prlimit', ['--version']).status === 0;

/** Files of the process may be so large. */
function limitFiles({ pid }: Program, bytes: number | 'unlimited'): void {
  execFileSync('prlimit', ['--pid', String(pid), `--fsize=${bytes}:unlimited`]);
}

test.skipIf(!canLimit)('without room for the intent nothing is sent, and with room it goes on', async () => {
  const { plane, fleet } = await world(async (folder) => new FleetFolder(folder));
  await fleet.write('web.yaml', [service('web')]);
  const manager = fleet.run();
  await fleet.untilReady(1);
  await plane.forgetRequests();
  limitFiles(manager, statSync(`${fleet.state}-wal`).size);
  await fleet.write('web.yaml', [service('web', { image: 'ghcr.io/acme/app:2' })]);
  await eventually('a write without room', async () => /full|disk I\/O error/.test(manager.stderr));
  await eventually('a poll after it', async () => (await plane.requests()).length > 2);
  expect((await plane.requests()).filter(isMutation)).toEqual([]);
  limitFiles(manager, 'unlimited');
  await eventually('the new image', async () => (await plane.service('web')).image === 'ghcr.io/acme/app:2');
  await fleet.untilReady(1);
  expect(manager.running).toBe(true);
});

test('another replica takes over from a leader that is killed, and makes nothing twice', async () => {
  const { plane, fleet } = await world(createClusterFleet);
  const names = Array.from({ length: 10 }, (_, index) => `app-${index}`);
  const pace = { requests: { perSecond: 5, burst: 1, concurrency: 2 }, visibilitySeconds: 2 };
  await fleet.write('account.yaml', account(plane.url, pace));
  await fleet.write(
    'services.yaml',
    names.map((name) => service(name)),
  );
  const replicas = [1, 2].map(() => replica(fleet, ['--lease', '2s']));
  const leader = await untilLed(fleet, replicas);
  await eventually('some creations', async () => (await plane.requests()).filter(isMutation).length > 2);
  await leader.kill('SIGKILL');
  expect(await untilLed(fleet, replicas)).not.toBe(leader);
  await fleet.untilReady(names.length);
  expect((await plane.account()).services.map(({ name }: { name: string }) => name).sort()).toEqual(names);
  expect(keysWithTwoBodies(await plane.requests())).toEqual([]);
});
