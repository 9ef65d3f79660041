/** `plan` and `apply` of a part of the fleet: all else stays exactly as it is. */
import { expect, test } from 'vitest';
import { apiVersion } from '../../src/resources/index.ts';
import { ControlPlane, isMutation } from '../support/processes/control-plane.ts';
import { account, createFleet, service, task, testInFolder, volume } from '../support/processes/fleet.ts';
import { fleetkeeper, temporaryFolder } from '../support/processes/processes.ts';

async function world(spec: object = {}) {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(plane.url, spec));
  return { plane, fleet };
}

const mutations = async (plane: ControlPlane) => {
  const paths = (await plane.requests())
    .filter(isMutation)
    .map(({ method, path: where }) => `${method} ${where}`);
  await plane.forgetRequests();
  return paths;
};

const registry = (name: string, repository: string) => ({
  apiVersion,
  kind: 'ImageRegistry',
  metadata: { name },
  spec: {
    repository,
    credentialsSecretRef: { name: 'pull', usernameKey: 'username', passwordKey: 'password' },
  },
});
const image = 'ghcr.io/acme/app:2';
const named = (changes: readonly { name: string; action: string }[]) =>
  changes.map(({ name, action }) => `${action} ${name}`);

testInFolder('what is not selected stays exactly as it is, and a later apply does it', async () => {
  const { plane, fleet } = await world();
  for (const name of ['a', 'b', 'c', 'd']) await fleet.write(`${name}.yaml`, [service(name)]);
  expect((await fleet.apply()).code).toBe(0);
  const [a, b, c] = [await plane.service('a'), await plane.service('b'), await plane.service('c')];
  await plane.call('PATCH', `/api/services/${b.id}`, {
    revision: b.revision,
    patch: { image: 'ghcr.io/them/x:1' },
  });
  await fleet.write('a.yaml', [service('a', { image })]);
  await fleet.remove('c.yaml');
  await fleet.write('d.yaml', [service('d', { image })]);
  await fleet.write('e.yaml', [service('e')]);
  const before = await fleet.records();
  await plane.forgetRequests();

  const { code, plan } = await fleet.plan('--target', 'csvc/a');
  expect([code, named(plan.changes)]).toEqual([2, ['update a']]);
  expect(plan.partial).toEqual({
    selected: [{ kind: 'ContainerService', namespace: 'default', name: 'a' }],
    included: [],
    omitted: 4,
  });
  const applied = await fleet.apply('--target', 'csvc/a');
  expect([applied.code, applied.stderr]).toEqual([0, expect.not.stringMatching(/\b[bcde]: /)]);
  expect(applied.stdout).toContain(
    'Only a part of the fleet: ContainerService/a. 4 other object(s) stay as they are.',
  );
  expect(await mutations(plane)).toEqual([`PATCH /api/services/${a.id}`]);
  const after = await fleet.records();
  expect(new Set(after.keys())).toEqual(new Set(before.keys()));
  for (const name of ['b', 'c', 'd']) {
    expect(after.get(`ContainerService/${name}`)).toEqual(before.get(`ContainerService/${name}`));
  }

  const rest = await fleet.plan();
  expect(named(rest.plan.changes)).toEqual(['update b', 'delete c', 'update d', 'create e']);
  expect(rest.plan.partial).toBeUndefined();
  expect((await fleet.apply()).code).toBe(0);
  expect((await plane.service('b')).image).toBe('ghcr.io/acme/app:1');
  expect(await plane.call('GET', `/api/services/${c.id}`).catch(String)).toContain('404');
});

testInFolder('an object whose document is gone is selected by its recorded name', async () => {
  const { plane, fleet } = await world();
  for (const name of ['a', 'b', 'c']) await fleet.write(`${name}.yaml`, [service(name)]);
  expect((await fleet.apply()).code).toBe(0);
  const { id } = await plane.service('b');
  for (const name of ['b', 'c']) await fleet.remove(`${name}.yaml`);
  await plane.forgetRequests();
  const { code } = await fleet.apply('--target', 'ContainerService/b');
  expect(code).toBe(0);
  expect(await mutations(plane)).toEqual([`POST /api/services/${id}/actions`]);
  expect([...(await fleet.records()).keys()].sort()).toEqual([
    'Account/default',
    'ContainerService/a',
    'ContainerService/c',
  ]);
});

testInFolder(
  'a service includes its volume and its tasks, and nothing that uses them beside it',
  async () => {
    const { plane, fleet } = await world();
    await fleet.write('all.yaml', [
      volume('data'),
      service('web', { storage: { volumeRef: { name: 'data' } } }),
      task('epoch'),
      service('other'),
    ]);
    const { plan } = await fleet.plan('--target', 'web');
    expect(named(plan.changes)).toEqual(['create web', 'protect epoch', 'create data']);
    expect(plan.partial.included.map(({ name }: { name: string }) => name)).toEqual(['epoch', 'data']);
    const { code, stdout } = await fleet.apply('--target', 'web');
    expect(code).toBe(0);
    expect(stdout).toContain('and what that needs: ProtectedTask/epoch, StorageVolume/data. 1 other');
    const { id } = await plane.service('web');
    expect((await plane.call('GET', `/api/services/${id}/activity`)).activities).toHaveLength(1);
    expect((await plane.account()).services).toHaveLength(1);
    // A task that is not selected by itself protects its service all the same.
    await fleet.write('all.yaml', [
      volume('data'),
      service('web', { image, storage: { volumeRef: { name: 'data' } } }),
      task('epoch'),
      service('other'),
    ]);
    const held = await fleet.plan('--target', 'csvc/web');
    expect(held.plan.held).toMatchObject([{ name: 'web', reason: 'Protected' }]);
  },
);

testInFolder(
  'a service includes the registry of its image, and what waits for others shows which',
  async () => {
    const { plane, fleet } = await world();
    const pull = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'pull' } };
    const documents = (spec: object, sizeGb = 10) => [
      { ...pull, stringData: { username: 'a', password: 'b' } },
      registry('app', 'ghcr.io/acme/app'),
      registry('other', 'ghcr.io/acme/other'),
      volume('data', { sizeGb, deletionPolicy: 'Delete', expansion: 'PauseService' }),
      service('web', spec),
    ];
    const spec = { storage: { volumeRef: { name: 'data' } } };
    await fleet.write('all.yaml', documents(spec));
    const { plan } = await fleet.plan('--target', 'csvc/web');
    expect(named(plan.changes)).toEqual(['create web', 'create app', 'create data']);
    expect((await fleet.apply('--target', 'csvc/web')).code).toBe(0);
    await plane.forgetRequests();
    // It grows while its service is paused, which is not selected.
    await fleet.write('all.yaml', documents(spec, 20));
    const grown = await fleet.plan('--target', 'volume/data');
    expect(grown.plan.changes).toEqual([]);
    expect(grown.plan.held).toMatchObject([
      { name: 'data', message: expect.stringContaining('add --target ContainerService/web') },
    ]);
    const both = await fleet.plan('--target', 'volume/data', '--target', 'csvc/web');
    expect([both.plan.held, named(both.plan.changes)]).toEqual([[], expect.arrayContaining(['update data'])]);
    expect(await mutations(plane)).toEqual([]);
  },
);

testInFolder('a service that exchanges volumes with one that is not selected stays', async () => {
  const { plane, fleet } = await world();
  const documents = (a: string, b: string) => [
    volume('x'),
    volume('y'),
    service('a', { replacement: 'Recreate', storage: { volumeRef: { name: a } } }),
    service('b', { replacement: 'Recreate', storage: { volumeRef: { name: b } } }),
  ];
  await fleet.write('all.yaml', documents('x', 'y'));
  expect((await fleet.apply()).code).toBe(0);
  await fleet.write('all.yaml', documents('y', 'x'));
  await plane.forgetRequests();
  const one = await fleet.plan('--target', 'csvc/a');
  expect([one.code, one.plan.changes, one.plan.held]).toMatchObject([
    2,
    [],
    [
      {
        name: 'a',
        reason: 'VolumeExchange',
        message: expect.stringContaining('add --target ContainerService/b'),
      },
    ],
  ]);
  expect((await fleet.apply('--target', 'csvc/a', '--timeout', '3s')).code).toBe(1);
  expect(await mutations(plane)).toEqual([]);
  const both = await fleet.plan('--target', 'csvc/a', '--target', 'csvc/b');
  expect([both.plan.held, named(both.plan.changes)]).toEqual([[], ['replace a', 'replace b']]);
});

testInFolder(
  'a service whose volume is attached to one that is not selected waits for that one',
  async () => {
    const { plane, fleet } = await world();
    const storage = { storage: { volumeRef: { name: 'data' } } };
    await fleet.write('all.yaml', [volume('data'), service('old', storage)]);
    expect((await fleet.apply()).code).toBe(0);
    const own = task('epoch', { serviceRef: { name: 'new' } });
    await fleet.write('all.yaml', [volume('data'), service('new', storage), own]);
    await plane.forgetRequests();
    const { code, plan } = await fleet.plan('--target', 'csvc/new');
    expect([code, named(plan.changes)]).toEqual([2, ['protect epoch']]);
    expect(plan.held).toMatchObject([{ name: 'new', reason: 'VolumeNotReady', actions: ['create'] }]);
    expect(plan.held[0].message).toMatch(/to change it as well, add --target ContainerService\/old$/);
    expect((await fleet.apply('--target', 'csvc/new', '--timeout', '3s')).code).toBe(1);
    expect(await mutations(plane)).toEqual([]);
    const both = await fleet.plan('--target', 'csvc/new', '--target', 'csvc/old');
    expect(named(both.plan.changes)).toEqual(['create new', 'delete old', 'protect epoch']);
  },
);

test('a selector of labels selects documents and records', async () => {
  const { plane, fleet } = await world();
  const labelled = (name: string, tier: string) => {
    const document = service(name) as { metadata: object };
    return { ...document, metadata: { ...document.metadata, labels: { tier } } };
  };
  await fleet.write('all.yaml', [labelled('a', 'front'), labelled('b', 'back'), labelled('c', 'front')]);
  const { plan } = await fleet.plan('-l', 'tier=front', '-n', fleet.namespace);
  expect(named(plan.changes)).toEqual(['create a', 'create c']);
  expect(plan.partial).toMatchObject({ omitted: 1 });
  expect((await plane.account()).services).toEqual([]);
  const none = await fleet.plan('-l', 'tier=none');
  expect([none.code, none.stderr]).toEqual([1, expect.stringContaining('no object is selected by')]);
});

testInFolder('a lost source stays a lost source, also for one of its objects', async () => {
  const { plane, fleet } = await world();
  const names = Array.from({ length: 8 }, (_, index) => `s${index}`);
  for (const name of names) await fleet.write(`lost/${name}.yaml`, [service(name)]);
  expect((await fleet.apply()).code).toBe(0);
  await fleet.remove('lost');
  await plane.forgetRequests();
  const { plan } = await fleet.plan('--target', 'csvc/s1');
  expect(plan.held).toMatchObject([{ name: 's1', reason: 'MassChangeBrake' }]);
  expect((await fleet.apply('--target', 'csvc/s1')).code).toBe(1);
  expect(await mutations(plane)).toEqual([]);
  expect((await fleet.apply('--target', 'csvc/s1', '--allow-mass-change')).code).toBe(0);
  expect(await mutations(plane)).toHaveLength(1);
});

testInFolder('nothing is sent to an account that no selected object needs', async () => {
  const { fleet } = await world();
  await fleet.write('other.yaml', [
    { ...account('http://127.0.0.1:1')[0], metadata: { name: 'other' } },
    service('far', { accountRef: { name: 'other' } }),
  ]);
  await fleet.write('web.yaml', [service('web'), service('broken', { cpu: 'x' })]);
  expect((await fleet.plan('--target', 'csvc/far')).code).toBe(1);
  const { code, plan, stderr } = await fleet.plan('--target', 'csvc/web');
  expect([code, named(plan.changes), stderr]).toEqual([2, ['create web'], '']);
  expect((await fleet.apply('--target', 'csvc/web')).code).toBe(0);
  const whole = await fleetkeeper(['plan', ...fleet.flags]);
  expect([whole.code, whole.stderr]).toEqual([1, expect.stringContaining('spec.cpu')]);
});
