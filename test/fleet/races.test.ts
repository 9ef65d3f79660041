import { mkdir, rm, symlink } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { resourceTypes } from '../../src/resources/index.ts';
import { ClusterFleet } from '../support/processes/cluster-fleet.ts';
import { ControlPlane, isMutation } from '../support/processes/control-plane.ts';
import {
  account,
  createFleet,
  FleetFolder,
  folderOf,
  isInCluster,
  service,
  testInCluster,
  testInFolder,
  volume,
} from '../support/processes/fleet.ts';
import {
  eventually,
  fleetkeeper,
  launch,
  nowMs,
  sleep,
  temporaryFolder,
} from '../support/processes/processes.ts';

async function world() {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(plane.url));
  return { folder, plane, fleet };
}

test('a document that is taken away while its create is under way is deleted all the same', async () => {
  const { plane, fleet } = await world();
  await fleet.write('stay.yaml', [service('stay')]);
  fleet.run();
  await fleet.untilReady(1);
  await plane.faults([{ method: 'POST', path: '/api/services$', fault: 'delay', delayMs: 4000 }]);
  await fleet.write('go.yaml', [service('go')]);
  await eventually('a create under way', async () => (await plane.faultHits()) > 0);
  await fleet.remove('go.yaml');
  await eventually('the create done', async () => (await plane.service('go')) !== undefined);
  await eventually('only what stays', async () => (await plane.account()).services.length === 1);
});

test('an edit that is saved while a patch is under way is not lost', async () => {
  const { plane, fleet } = await world();
  await fleet.write('web.yaml', [service('web')]);
  fleet.run();
  await fleet.untilReady(1);
  await plane.faults([{ method: 'PATCH', fault: 'delay', delayMs: 3000, times: 1 }]);
  await fleet.write('web.yaml', [service('web', { image: 'ghcr.io/acme/app:2' })]);
  await eventually('a patch under way', async () => (await plane.faultHits()) > 0);
  await fleet.write('web.yaml', [service('web', { image: 'ghcr.io/acme/app:3' })]);
  await eventually(
    'the newest image',
    async () => (await plane.service('web')).image === 'ghcr.io/acme/app:3',
  );
  await fleet.untilReady(1);
  const record = (await fleet.records()).get('ContainerService/web');
  expect(record).toMatchObject({ generation: 3, status: { observedGeneration: 3 } });
  expect(record?.manifest.spec['image']).toBe('ghcr.io/acme/app:3');
});

testInCluster(
  'an object that is gone in the middle of its pass is passed over, and that is no error',
  async () => {
    const { plane, fleet } = await world();
    if (!(fleet instanceof ClusterFleet)) throw new Error('this test needs a cluster');
    await fleet.write('web.yaml', [service('web')]);
    await fleet.write('stay.yaml', [service('stay')]);
    const program = fleet.run();
    await fleet.untilReady(2);
    const { id } = await plane.service('web');
    await plane.faults([
      { method: 'GET', path: `/api/services/${id}$`, fault: 'delay', delayMs: 4000, times: 1 },
    ]);
    await fleet.write('web.yaml', [service('web', { image: 'ghcr.io/acme/app:2' })]);
    await eventually('a read under way', async () => (await plane.faultHits()) > 0);
    const { api } = fleet.cluster;
    const web = { type: resourceTypes.ContainerService, namespace: fleet.namespace, name: 'web' };
    await api.patch(web, { kind: 'merge', body: { metadata: { finalizers: [] } } });
    await api.remove(web);
    await eventually('its line', async () => program.stderr.includes('gone without a cleanup'));
    await fleet.write('stay.yaml', [service('stay', { image: 'ghcr.io/acme/app:2' })]);
    await eventually(
      'others go on',
      async () => (await plane.service('stay')).image === 'ghcr.io/acme/app:2',
    );
    await sleep(4000);
    expect(program.stderr).not.toContain('pass failed');
    expect((await plane.service('web')).image).not.toBe('ghcr.io/acme/app:2');
  },
);

testInFolder('two folders of one name on one account do not touch each other', async () => {
  const { folder, plane, fleet } = await world();
  await fleet.write('web.yaml', [
    service('web', { image: 'a/a:1' }),
    volume('data', { deletionPolicy: 'Delete' }),
  ]);
  expect((await fleet.apply()).code).toBe(0);
  const other = new FleetFolder(path.join(folder, 'team-b'));
  await other.write('account.yaml', account(plane.url));
  await other.write('web.yaml', [
    service('web', { image: 'b/b:1' }),
    volume('data', { sizeGb: 20, deletionPolicy: 'Delete' }),
  ]);
  await plane.forgetRequests();
  const planned = await other.plan();
  expect(planned.plan.changes).toEqual([]);
  expect(planned.plan.held.map(({ reason }: { reason: string }) => reason)).toEqual([
    'OwnershipUnproven',
    'OwnershipUnproven',
  ]);
  expect(planned.plan.held[0].message).toContain('--owner fleet');
  expect((await other.apply()).code).toBe(1);
  await other.remove('web.yaml');
  expect((await other.apply()).code).toBe(1);
  expect((await plane.requests()).filter(isMutation)).toEqual([]);
  const named = ['--source', other.folder, '--state', `${other.state}-named`, '--owner', 'team-b', '--yes'];
  await other.write('web.yaml', [service('web', { image: 'b/b:1' })]);
  expect((await fleetkeeper(['apply', ...named])).code).toBe(0);
  const images = (await plane.account()).services.map(({ image }: { image: string }) => image);
  expect(images.sort()).toEqual(['a/a:1', 'b/b:1']);
});

testInFolder('a fleet whose state was lost goes on when a person names its owner', async () => {
  const { plane, fleet } = await world();
  await fleet.write('web.yaml', [service('web'), volume('data')]);
  expect((await fleet.apply()).code).toBe(0);
  const before = await plane.service('web');
  await rm(path.dirname(folderOf(fleet).state), { recursive: true });
  await fleet.write('web.yaml', [
    service('web', { image: 'ghcr.io/acme/app:2' }),
    volume('data', { sizeGb: 20 }),
  ]);
  expect((await fleet.plan()).plan.held.length).toBe(2);
  expect((await fleet.apply('--owner', 'fleet')).code).toBe(0);
  expect(await plane.service('web')).toMatchObject({ id: before.id, image: 'ghcr.io/acme/app:2' });
  expect((await plane.account()).volumes.length).toBe(1);
  await fleet.write('web.yaml', [
    service('web', { image: 'ghcr.io/acme/app:3' }),
    volume('data', { sizeGb: 20 }),
  ]);
  expect((await fleet.apply()).code).toBe(0);
});

test('an edit of the Account does not forget a running Retry-After', async () => {
  const { plane, fleet } = await world();
  await fleet.write('web.yaml', [service('web')]);
  fleet.run();
  await fleet.untilReady(1);
  await plane.faults([{ fault: 'status', status: 429, code: 'rate_limited', retryAfter: 4, times: 1 }]);
  const limited = await eventually('a 429', async () =>
    (await plane.requests()).find(({ status }) => status === 429),
  );
  await fleet.write('account.yaml', account(plane.url, { pollSeconds: 2 }));
  const next = await eventually('the next request', async () =>
    (await plane.requests()).find(({ at }) => Date.parse(at) > Date.parse(limited.at) + 300),
  );
  expect(Date.parse(next.at) - Date.parse(limited.at)).toBeGreaterThanOrEqual(3990);
});

// COVERAGE 67
test('the Account of another namespace is not used', async () => {
  const { plane, fleet } = await world();
  await fleet.write('web.yaml', [{ ...service('web'), metadata: { name: 'web', namespace: 'other' } }]);
  const { code, plan } = await fleet.plan();
  expect([code, plan.held[0]?.reason]).toEqual([1, 'AccountNotFound']);
  expect((await fleet.apply()).code).toBe(1);
  expect((await plane.account()).services).toEqual([]);
});

test('objects whose account is gone are told of, planned without delay, and can be taken away', async () => {
  const { plane, fleet } = await world();
  await fleet.write('web.yaml', [service('web')]);
  await fleet.write('bad.yaml', [service('bad', { accountRef: { name: 'nope' } })]);
  expect((await fleet.apply()).code).toBe(1);
  const again = await fleet.plan('--timeout', '20s');
  expect([again.code, again.plan.held[0]?.reason]).toEqual([1, 'AccountNotFound']);
  await fleet.remove('bad.yaml');
  expect((await fleet.apply()).code).toBe(0);
  fleet.run();
  await fleet.remove('account.yaml');
  if (isInCluster) {
    // There it stays until nothing needs it any more.
    const inUse = await fleet.until('Account/default', 'Stalled', 'True', 'InUse');
    expect(inUse.message).toContain('ContainerService/');
    return;
  }
  const held = await fleet.until('ContainerService/web', 'Ready', 'False', 'AccountNotFound');
  expect(held.message).toContain((await plane.service('web')).id);
});

test('what is held for the sake of the account goes on when the account has changed', async () => {
  const { plane, fleet } = await world();
  const volumes = [];
  for (let index = 0; index < 50; index += 1) {
    volumes.push(
      await plane.call('POST', '/api/volumes', { name: `other-${index}`, region: 'standard', sizeGb: 10 }),
    );
  }
  await fleet.write('data.yaml', [volume('data')]);
  fleet.run();
  await fleet.until('StorageVolume/data', 'Stalled', 'True', 'LimitReached');
  await plane.call('DELETE', `/api/volumes/${volumes[0].id}`);
  await fleet.untilReady(1);
});

test('a mass change in the account is accepted by an annotation with a time', async () => {
  const { plane, fleet } = await world();
  await fleet.write(
    'web.yaml',
    ['a', 'b', 'c'].map((name) => service(name)),
  );
  fleet.run();
  await fleet.untilReady(3);
  for (const { id } of (await plane.account()).services) {
    await plane.call('POST', `/api/services/${id}/actions`, { action: 'delete' });
  }
  await fleet.until('ContainerService/a', 'Stalled', 'True', 'MassChangeBrake');
  const [document, secret] = account(plane.url) as [{ metadata: object }, object];
  const until = new Date(nowMs() + 60_000).toISOString();
  const metadata = { name: 'default', annotations: { 'fleetkeeper.dev/allow-mass-change-until': until } };
  await fleet.write('account.yaml', [{ ...document, metadata }, secret]);
  await fleet.untilReady(3);
});

testInFolder('a state file by another name is the same state', async () => {
  const { folder, fleet } = await world();
  await fleet.write('web.yaml', [service('web')]);
  const first = fleet.run('--listen', '127.0.0.1:0');
  await first.line(/^listening on /);
  await mkdir(`${folder}/elsewhere`);
  await symlink(folderOf(fleet).state, `${folder}/elsewhere/state.db`);
  const second = await launch([
    'run',
    '--source',
    folderOf(fleet).folder,
    '--state',
    `${folder}/elsewhere/state.db`,
  ]).finished();
  expect([second.code, second.stderr]).toEqual([1, expect.stringContaining('is in use by process')]);
});

testInFolder('with its state file taken away a manager sends nothing more', async () => {
  const { plane, fleet } = await world();
  await fleet.write('web.yaml', [service('web')]);
  const manager = fleet.run();
  await fleet.untilReady(1);
  await rm(path.dirname(folderOf(fleet).state), { recursive: true });
  await plane.forgetRequests();
  await fleet.write('web.yaml', [service('web', { image: 'ghcr.io/acme/app:2' })]);
  await eventually('a complaint', async () => manager.stderr.includes('was moved or deleted while in use'));
  expect((await plane.requests()).filter(isMutation)).toEqual([]);
});

testInFolder('a refused --owner confirms nothing, and neither does a create that was refused', async () => {
  const { folder, plane, fleet } = await world();
  const other = new FleetFolder(path.join(folder, 'team-b'));
  await other.write('account.yaml', account(plane.url));
  await other.write('web.yaml', [service('web', { image: 'b/b:1' })]);
  await plane.faults([{ method: 'POST', fault: 'status', status: 503, code: 'unavailable' }]);
  expect((await other.apply('--timeout', '3s')).code).toBe(1);
  await plane.faults([]);
  await fleet.write('web.yaml', [service('web', { image: 'a/a:1' })]);
  expect((await fleet.apply()).code).toBe(0);
  await plane.forgetRequests();
  const wrong = await fleetkeeper(['run', ...other.flags, '--owner', 'team-b']);
  expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('was made for the owner "fleet"')]);
  expect((await other.apply()).code).toBe(1);
  expect(await other.condition('ContainerService/web', 'Stalled')).toMatchObject({
    reason: 'OwnershipUnproven',
  });
  expect((await plane.requests()).filter(isMutation)).toEqual([]);
});

testInFolder("a volume that may be another fleet's is attached to nothing", async () => {
  const { folder, plane, fleet } = await world();
  await fleet.write('data.yaml', [volume('data')]);
  expect((await fleet.apply()).code).toBe(0);
  const other = new FleetFolder(path.join(folder, 'team-b'));
  await other.write('account.yaml', account(plane.url));
  await other.write('data.yaml', [
    volume('data'),
    service('thief', { storage: { volumeRef: { name: 'data' } } }),
  ]);
  expect((await other.apply()).code).toBe(1);
  expect(await other.condition('ContainerService/thief', 'Stalled')).toMatchObject({
    reason: 'OwnershipUnproven',
  });
  expect((await plane.account()).services).toEqual([]);
});

testInFolder('a broken file does not release the brake', async () => {
  const { plane, fleet } = await world();
  const named = (prefix: string) => Array.from({ length: 8 }, (_, index) => service(`${prefix}-${index}`));
  await fleet.write('fleet.yaml', named('a'));
  const manager = fleet.run();
  await fleet.untilReady(8);
  await fleet.remove('fleet.yaml');
  await fleet.until('ContainerService/a-0', 'Stalled', 'True', 'MassChangeBrake');
  await fleet.write('fleet.yaml', named('b'));
  await fleet.until('ContainerService/b-0', 'Stalled', 'True', 'MassChangeBrake');
  await fleet.write('broken.yaml', 'kind: [broken');
  await eventually('the problem told', async () => manager.stderr.includes('broken.yaml'));
  await fleet.until('ContainerService/a-0', 'Stalled', 'True', 'SourceIncomplete');
  expect((await plane.account()).services.length).toBe(8);
  expect(await fleet.condition('ContainerService/b-0', 'Stalled')).toMatchObject({
    reason: 'MassChangeBrake',
  });
});

test('an edit that is saved while the outcome of a create is unknown is a change, not drift', async () => {
  const { plane, fleet } = await world();
  const web = (image: string) => service('web', { image, driftPolicy: 'Report' });
  await plane.faults([{ method: 'POST', fault: 'drop-response', times: 1 }]);
  await fleet.write('web.yaml', [web('a/a:1')]);
  fleet.run('--settle', '3s');
  await fleet.until('ContainerService/web', 'OutcomeUnknown', 'True');
  await fleet.write('web.yaml', [web('a/a:2')]);
  await eventually('the newer image', async () => (await plane.service('web')).image === 'a/a:2');
});

testInFolder(
  'a state file that is yet to be made is the same state by the name of a link to it',
  async () => {
    const { folder, fleet } = await world();
    await mkdir(path.dirname(folderOf(fleet).state));
    await symlink(folderOf(fleet).state, `${folder}/link.db`);
    const flags = ['--source', folderOf(fleet).folder, '--state', `${folder}/link.db`];
    const first = launch(['run', ...flags, '--listen', '127.0.0.1:0']);
    await first.line(/^listening on /);
    const second = await launch(['run', ...fleet.flags]).finished();
    expect([second.code, second.stderr]).toEqual([1, expect.stringContaining('is in use by process')]);
  },
);

test('one service is not adopted by two documents', async () => {
  const { plane, fleet } = await world();
  const made = await plane.call('POST', '/api/services', {
    name: 'legacy',
    region: 'standard',
    image: 'a/a:1',
    resources: { gpuCount: 0, cpu: 1, memoryGb: 1 },
  });
  const adopting = (name: string, image: string) =>
    service(name, { serviceName: 'legacy', image, adopt: { id: made.id } });
  await fleet.write('one.yaml', [adopting('one', 'a/a:1')]);
  expect((await fleet.apply()).code).toBe(0);
  await fleet.write('two.yaml', [adopting('two', 'b/b:2')]);
  const { plan } = await fleet.plan();
  expect([plan.changes, plan.held[0]?.name, plan.held[0]?.reason]).toEqual([[], 'two', 'AdoptedTwice']);
});
