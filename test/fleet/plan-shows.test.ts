/** What `plan` shows of creations and of changed variables. */
import { expect, test } from 'vitest';
import { apiVersion } from '../../src/resources/index.ts';
import { apiKey, ControlPlane } from '../support/processes/control-plane.ts';
import { account, createFleet, service, testInFolder, volume } from '../support/processes/fleet.ts';
import { fleetkeeper, temporaryFolder } from '../support/processes/processes.ts';

async function world(flags: { readonly timeScale?: number } = {}) {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder, flags).start();
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(plane.url));
  return { plane, fleet };
}

const secret = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'web-keys', namespace: 'default' },
  stringData: { token: 'never-shown' },
};
const fromSecret = { secretKeyRef: { name: 'web-keys', key: 'token' } };

test('a creation shows its volume by its object, its power state, and the names of variables with their Secrets', async () => {
  const { fleet } = await world();
  await fleet.write('web.yaml', [
    secret,
    volume('web-data', { sizeGb: 20 }),
    service('web', {
      storage: { volumeRef: { name: 'web-data' } },
      env: [
        { name: 'MODE', value: 'quiet' },
        { name: 'TOKEN', valueFrom: fromSecret },
      ],
    }),
  ]);
  const { plan } = await fleet.plan();
  expect(plan.cost.nowHourlyMicros).toBe(0);
  const { differences, variables } = plan.changes.find(({ name }: { name: string }) => name === 'web');
  expect(differences).toContainEqual({ path: 'storage.volumeRef', desired: 'web-data', observed: null });
  expect(differences).toContainEqual({ path: 'desiredState', desired: 'Running', observed: null });
  expect(variables).toEqual({ added: ['MODE', 'TOKEN'], removed: [], changed: [] });
  const { stdout } = await fleetkeeper(['plan', ...fleet.flags]);
  expect(stdout).toContain('environment: + MODE, + TOKEN (Secret web-keys)');
  expect(stdout).toContain('storage.volumeRef: "web-data"');
  expect(stdout).not.toMatch(/quiet|never-shown/);
});

test('a change names the variables that are new, gone, and changed, and no value of them', async () => {
  const { fleet } = await world();
  const env = (...entries: readonly [string, string][]) => entries.map(([name, value]) => ({ name, value }));
  await fleet.write('web.yaml', [
    service('web', { env: env(['LOG_LEVEL', 'before'], ['OLD', 'x'], ['SAME', 'y']) }),
  ]);
  expect((await fleet.apply()).code).toBe(0);
  const { plan: applied } = await fleet.plan();
  expect(applied.cost).toMatchObject({ nowHourlyMicros: 13_500, thenHourlyMicros: 13_500 });
  await fleet.write('web.yaml', [
    service('web', { env: env(['LOG_LEVEL', 'after'], ['NEW_FLAG', 'z'], ['SAME', 'y']) }),
  ]);
  const { plan } = await fleet.plan();
  const variables = { added: ['NEW_FLAG'], removed: ['OLD'], changed: ['LOG_LEVEL'] };
  expect(plan.changes).toMatchObject([{ action: 'update', variables }]);
  const { stdout } = await fleetkeeper(['plan', ...fleet.flags]);
  expect(stdout).toContain('environment: + NEW_FLAG, ~ LOG_LEVEL, - OLD');
  expect(stdout).not.toMatch(/before|after/);

  await fleet.write('web.yaml', [
    service('web', { env: env(['LOG_LEVEL', 'after'], ['OLD', 'x'], ['SAME', 'y']) }),
  ]);
  const [change] = (await fleet.plan()).plan.changes;
  expect(change.variables).toEqual({ added: [], removed: [], changed: ['LOG_LEVEL'] });
  expect(change.differences).toMatchObject([{ path: 'env', desired: '(as declared)' }]);
});

test('two services on one volume are found before anything is sent; the one that is there keeps it', async () => {
  const { plane, fleet } = await world();
  const storage = { volumeRef: { name: 'web-data' } };
  await fleet.write('data.yaml', [volume('web-data', { sizeGb: 20 })]);
  await fleet.write('late.yaml', [service('web-late', { storage })]);
  await fleet.write('early.yaml', [service('web-early', { storage })]);
  const { code, plan } = await fleet.plan();
  expect(code).toBe(1);
  expect(plan.held).toMatchObject([{ name: 'web-late', reason: 'VolumeShared' }]);
  expect(plan.held[0].message).toMatch(/spec\.storage\.volumeRef\.name: .*web-data.*web-early/);

  await fleet.remove('early.yaml');
  expect((await fleet.apply()).code).toBe(0);
  await fleet.write('early.yaml', [service('web-early', { storage })]);
  const again = await fleet.plan();
  expect(again.plan.held).toMatchObject([{ name: 'web-early', reason: 'VolumeShared' }]);
  expect((await plane.account()).services).toMatchObject([{ name: 'web-late' }]);
});

testInFolder(
  'a volume of another account that is given by its id is refused by that id, where it stands',
  async () => {
    const folder = await temporaryFolder();
    const secondKey = 'key-of-second-0123456789';
    const accounts = `accounts:
  - {name: acme, email: a@b.example, balanceMicros: 1000000000, apiKeys: [${apiKey}]}
  - {name: second, email: c@d.example, balanceMicros: 1000000000, apiKeys: [${secondKey}]}`;
    const plane = await new ControlPlane(folder, { accounts }).start();
    const fleet = await createFleet(folder);
    await fleet.write('account.yaml', account(plane.url));
    await fleet.write('second.yaml', [
      {
        apiVersion,
        kind: 'Account',
        metadata: { name: 'second' },
        spec: { url: plane.url, credentialsSecretRef: { name: 'second', key: 'apiKey' }, pollSeconds: 1 },
      },
      { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'second' }, stringData: { apiKey: secondKey } },
    ]);
    await fleet.write('data.yaml', [volume('web-data', { sizeGb: 20 })]);
    expect((await fleet.apply()).code).toBe(0);
    const volumeId = (await fleet.records()).get('StorageVolume/web-data')?.externalId;
    expect(volumeId).toBeDefined();
    await fleet.write('web.yaml', [
      service('web', { accountRef: { name: 'second' }, storage: { volumeId } }),
    ]);
    const { plan } = await fleet.plan();
    expect(plan.held).toMatchObject([{ name: 'web', reason: 'ReferenceNotFound' }]);
    expect(plan.held[0].message).toContain(
      `spec.storage.volumeId: volume ${volumeId} lives in another account (default/default)`,
    );
  },
);

testInFolder('two plans of one folder are the same bytes, and `apply` makes what they name', async () => {
  const { plane, fleet } = await world();
  await fleet.write('web.yaml', [volume('web-data', { sizeGb: 20 }), service('web')]);
  for (const output of ['json', 'yaml', 'text']) {
    const plans = [0, 1].map(() => fleetkeeper(['plan', ...fleet.flags, '--output', output]));
    const [one, other] = await Promise.all(plans);
    expect(one?.stdout).toBe(other?.stdout);
  }
  const { plan } = await fleet.plan();
  const creation = plan.changes.find(({ kind }: { kind: string }) => kind === 'StorageVolume');
  const { desired } = creation.differences.find(({ path }: { path: string }) => path === 'volumeName');
  expect(desired).toBe('web-data-fk…');
  expect((await fleet.apply()).code).toBe(0);
  const [made] = (await plane.account()).volumes;
  expect(made.name).toMatch(/^web-data-fk[0-9a-f]{13}$/);
});

testInFolder('a restart that was asked for while the service is made is shown, and asked about', async () => {
  // So it is made for as long as the test takes.
  const { plane, fleet } = await world({ timeScale: 0.01 });
  await fleet.write('web.yaml', [service('web', { restartToken: '1' })]);
  expect((await fleet.apply('--timeout', '5s')).code).toBe(1);
  expect((await plane.service('web')).state).toBe('provisioning');
  expect((await fleet.plan()).code).toBe(0);
  await fleet.write('web.yaml', [service('web', { restartToken: '2' })]);
  const { code, plan } = await fleet.plan();
  expect(plan.held).toMatchObject([{ name: 'web', reason: 'Provisioning', actions: ['restart'] }]);
  expect(code).toBe(2);
  expect(plan.waitingCosts).toBeUndefined();
  const asked = await fleetkeeper(['apply', ...fleet.flags, '--settle', '1s', '--timeout', '20s']);
  expect([asked.code, asked.stderr]).toEqual([1, expect.stringContaining('--yes')]);

  const larger = { restartToken: '2', resources: { cpu: 2, memoryGb: 1 } };
  await fleet.write('web.yaml', [service('web', larger)]);
  const both = await fleet.plan('--max-cost-increase', '0');
  expect(both.plan.held).toMatchObject([
    { actions: ['resize', 'restart'], differences: [{ path: 'resources' }] },
  ]);
  expect(both.code).toBe(4);
});
