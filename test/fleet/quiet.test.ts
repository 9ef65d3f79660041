import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { apiVersion } from '../../src/resources/index.ts';
import { ControlPlane, apiKey, isMutation } from '../support/processes/control-plane.ts';
import {
  account,
  createFleet,
  folderOf,
  isInCluster,
  service,
  testInFolder,
} from '../support/processes/fleet.ts';
import { eventually, fetch, fleetkeeper, nowMs, temporaryFolder } from '../support/processes/processes.ts';
import { isSimulated, manyServices, world } from '../support/world.ts';

testInFolder('secrets of the manifests appear in no log, state, status, plan or journal', async () => {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  const canaries = { secret: 'CANARY-secret-77f1', literal: 'CANARY-literal-90ab', map: 'CANARY-map-1c2d' };
  await fleet.write('fleet.yaml', [
    ...account(plane.url),
    { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, stringData: { token: canaries.secret } },
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c' }, data: { mode: canaries.map } },
  ]);
  const web = (image: string) =>
    service('web', {
      image,
      env: [
        { name: 'TOKEN', valueFrom: { secretKeyRef: { name: 's', key: 'token' } } },
        { name: 'MODE', valueFrom: { configMapKeyRef: { name: 'c', key: 'mode' } } },
        { name: 'LITERAL', value: canaries.literal },
      ],
    });
  await fleet.write('web.yaml', [web('ghcr.io/acme/app:1')]);
  const outputs = [
    await fleetkeeper(['plan', ...fleet.flags]),
    await fleetkeeper(['plan', ...fleet.flags, '--output', 'json']),
  ];
  // A server that echoes what it was sent is a trap of its own.
  await plane.faults([{ method: 'PATCH', fault: 'drop-response', times: 1 }]);
  const manager = fleet.run('--log-level', 'trace', '--listen', '127.0.0.1:0');
  const [, url = ''] = await manager.line(/^listening on (.*)$/);
  await fleet.untilReady(1);
  await fleet.write('web.yaml', [web('ghcr.io/acme/app:2')]);
  await eventually('the new image', async () => (await plane.service('web')).image === 'ghcr.io/acme/app:2');
  await fleet.untilReady(1);
  const metrics = await (await fetch(`${url}/metrics`)).text();
  outputs.push(
    await fleetkeeper(['status', ...fleet.flags]),
    await fleetkeeper(['status', ...fleet.flags, '--output', 'json']),
  );
  outputs.push(await manager.kill('SIGTERM'));
  const state = path.dirname(folderOf(fleet).state);
  const files = await Promise.all(
    (await readdir(state)).map((file) => readFile(path.join(state, file), 'latin1')),
  );
  const everything = [
    ...outputs.flatMap(({ stdout, stderr }) => [stdout, stderr]),
    metrics,
    JSON.stringify(await plane.requests()),
    ...files,
  ].join('\n');
  expect(everything).toContain('ghcr.io/acme/app:2');
  for (const canary of [...Object.values(canaries), apiKey]) {
    for (const form of [
      canary,
      Buffer.from(canary).toString('base64'),
      Buffer.from(canary).toString('hex'),
    ]) {
      expect(everything).not.toContain(form);
    }
  }
});

test('a plan reads the account once, however much there is to do, and however long it takes', async () => {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(plane.url, { pollSeconds: 60 }));
  const template = { apiVersion, kind: 'ServiceTemplate', metadata: { name: 'base' } };
  const spec = { image: 'ghcr.io/acme/base:1', resources: { cpu: 1, memoryGb: 1 } };
  await fleet.write('fleet.yaml', [
    { ...template, spec },
    service('web', { templateRef: { name: 'base' } }),
    service('other'),
  ]);
  // One service waits for it, and one for the template; what is to be done about the template is known at once.
  await plane.faults([{ method: 'GET', path: '^/api/catalog$', fault: 'delay', delayMs: 2500, times: 1 }]);
  expect((await fleet.plan()).code).toBe(2);
  const paths = (await plane.requests()).map(({ path: asked }) => asked);
  expect(paths.filter((asked) => asked === '/api/account')).toHaveLength(1);
});

// COVERAGE 3, 113
// Beside a real API server and its etcd, so many creations take their time.
test(
  `with ${manyServices} Ready services a poll costs one GET, and no status is written`,
  { timeout: 240_000 },
  async () => {
    const folder = await temporaryFolder();
    const plane = await new ControlPlane(folder, { timeScale: 600 }).start();
    const fleet = await createFleet(folder);
    await fleet.write(
      'account.yaml',
      account(plane.url, { requests: { perSecond: 1000, burst: 1000, concurrency: 32 } }),
    );
    await fleet.write(
      'fleet.yaml',
      Array.from({ length: manyServices }, (_, index) => service(`app-${index}`)),
    );
    const manager = fleet.run('--listen', '127.0.0.1:0');
    const [, url = ''] = await manager.line(/^listening on (.*)$/);
    await fleet.untilReady(manyServices, 200_000);
    const written = async () =>
      /^fleetkeeper_status_writes_total\{kind="ContainerService"\} (\d+)$/m.exec(
        await (await fetch(`${url}/metrics`)).text(),
      )?.[1];
    const writes = await written();
    const since = nowMs();
    await plane.forgetRequests();
    const polls = 5;
    const requests = await eventually('five polls', async () => {
      const seen = await plane.requests();
      return seen.length >= polls && seen;
    });
    expect(requests.map(({ method, path: where }) => `${method} ${where}`)).toEqual(
      Array.from(requests, () => 'GET /api/account'),
    );
    expect(requests.filter(isMutation)).toEqual([]);
    // One may have begun before, and one may come late where machines are busy.
    expect(requests.length).toBeLessThanOrEqual((nowMs() - since) / 1000 + 2);
    expect(await written()).toBe(writes);
  },
);

// It takes a quarter of an hour.
test.skipIf(!isSimulated || isInCluster)(
  'an account in which nothing happens is read ever more seldom, and drift is seen within `quietPollSeconds`',
  async () => {
    const folder = await temporaryFolder();
    const plane = await new ControlPlane(folder).start();
    const fleet = await createFleet(folder);
    await fleet.write('fleet.yaml', [
      ...account(plane.url, { pollSeconds: 5, quietPollSeconds: 40 }),
      service('web'),
    ]);
    fleet.run();
    await fleet.untilReady(1);
    await world.pause(900_000);
    await plane.forgetRequests();
    await world.pause(400_000);
    expect(await plane.requests()).toHaveLength(10);
    const { id, revision } = await plane.service('web');
    await plane.call('PATCH', `/api/services/${id}`, { revision, patch: { image: 'ghcr.io/acme/other:9' } });
    const since = nowMs();
    const isRight = async () => (await plane.service('web')).image === 'ghcr.io/acme/app:1';
    await eventually('the image is put right', isRight, 60_000);
    expect(nowMs() - since).toBeLessThan(45_000);
    await plane.forgetRequests();
    await world.pause(60_000);
    // At the usual pace again.
    const reads = (await plane.requests()).filter(({ path: where }) => where === '/api/account');
    expect(reads.length).toBeGreaterThanOrEqual(12);
  },
);
