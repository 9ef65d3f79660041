/** Accounts that are divided among operators. */
import { expect, test } from 'vitest';
import { shardOf } from '../../../src/desired/cluster/cluster-shard.ts';
import { ControlPlane, isMutation } from '../../support/processes/control-plane.ts';
import { createClusterFleet } from '../../support/processes/cluster-fleet.ts';
import { service, type Json } from '../../support/processes/fleet.ts';
import { conditionOf, createWorld, holderOf, objectOf } from '../../support/processes/operator.ts';
import { eventually, temporaryFolder } from '../../support/processes/processes.ts';

const keys = ['key-of-acme-0123456789', 'key-of-blue-0123456789'] as const;
const accounts = `accounts:
  - {name: acme, email: a@b.example, balanceMicros: 1000000000, apiKeys: [${keys[0]}]}
  - {name: blue, email: b@b.example, balanceMicros: 1000000000, apiKeys: [${keys[1]}]}`;

/** An account of the cluster for each shard, with the key of one at the provider. */
function accountsOf(namespace: string, url: string): object[] {
  const apiVersion = 'fleetkeeper.dev/v1alpha1';
  return keys.flatMap((key, shard) => {
    const name = nameIn(namespace, shard);
    const credentialsSecretRef = { name, key: 'apiKey' };
    return [
      {
        apiVersion,
        kind: 'Account',
        metadata: { name },
        spec: { url, credentialsSecretRef, pollSeconds: 1 },
      },
      { apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData: { apiKey: key } },
      service(`web-${shard}`, { accountRef: { name } }),
    ];
  });
}

function nameIn(namespace: string, shard: number): string {
  const names = Array.from({ length: 100 }, (_, index) => `account-${index}`);
  return names.find((name) => shardOf(`${namespace}/${name}`, 2) === shard) ?? '';
}

test('each account is served by the operator of its shard alone', async () => {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder, { accounts }).start();
  const fleet = await createClusterFleet(folder);
  await fleet.write('fleet.yaml', accountsOf(fleet.namespace, plane.url));
  const first = fleet.run('--shard', '0/2');
  await fleet.until('ContainerService/web-0', 'Ready', 'True');
  expect(await fleet.condition('ContainerService/web-1', 'Ready')).toBeUndefined();
  const second = fleet.run('--shard', '1/2');
  await fleet.until('ContainerService/web-1', 'Ready', 'True');
  expect(await holderOf(fleet, 'fleetkeeper-0-of-2')).toContain(`_${first.pid}_`);
  expect(await holderOf(fleet, 'fleetkeeper-1-of-2')).toContain(`_${second.pid}_`);
  expect(await holderOf(fleet)).toBe('');
  const servedTo = async () => new Set((await plane.requests()).map((request: Json) => request.account));
  await plane.forgetRequests();
  await eventually('both', async () => (await servedTo()).size === 2);
  expect((await first.kill('SIGTERM')).code).toBe(0);
  await plane.forgetRequests();
  await fleet.write(
    'more.yaml',
    [0, 1].map((shard) => service(`more-${shard}`, { accountRef: { name: nameIn(fleet.namespace, shard) } })),
  );
  await fleet.until('ContainerService/more-1', 'Ready', 'True');
  expect(await servedTo()).toEqual(new Set(['blue']));
  expect((await plane.requests()).filter(isMutation)).toHaveLength(1);
  expect(await fleet.condition('ContainerService/more-0', 'Ready')).toBeUndefined();
});

test('by namespace, one operator serves all accounts of a namespace, and one that divides by account is refused beside it', async () => {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder, { accounts }).start();
  const fleet = await createClusterFleet(folder);
  await fleet.write('fleet.yaml', accountsOf(fleet.namespace, plane.url));
  const home = shardOf(fleet.namespace, 2);
  const other = fleet.run('--shard', `${1 - home}/2`, '--shard-by', 'namespace');
  const leases = [0, 1].map((shard) => `fleetkeeper-ns-${shard}-of-2`);
  await eventually('the other part is led', async () =>
    (await holderOf(fleet, leases[1 - home])).includes(`_${other.pid}_`),
  );
  fleet.run('--shard', `${home}/2`, '--shard-by', 'namespace');
  await fleet.until('ContainerService/web-0', 'Ready', 'True');
  await fleet.until('ContainerService/web-1', 'Ready', 'True');
  const byAccount = fleet.run('--shard', '0/2');
  const { code, stderr } = await byAccount.finished();
  expect(code).toBe(1);
  expect(stderr).toContain('divides the cluster in another way');
  expect((await plane.requests()).filter(isMutation)).toHaveLength(2);
});

test('of two divisions that begin at once, no two lead', async () => {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder, { accounts }).start();
  const fleet = await createClusterFleet(folder);
  await fleet.write('fleet.yaml', accountsOf(fleet.namespace, plane.url));
  const both = [fleet.run('--shard', '0/2'), fleet.run('--log-level', 'info')];
  const first = await Promise.race(both.map((each) => each.finished()));
  expect(first.code).toBe(1);
  expect(first.stderr).toContain('divides the cluster in another way');
  const leading = both.filter(({ stderr }) => stderr.includes('"leading"'));
  expect(leading.length).toBeLessThan(2);
});

test('an object that only our schema refuses is told so in its condition, and the others go on', async () => {
  const { fleet } = await createWorld();
  const window = { cron: '0 3 * * *', durationMinutes: 60, timeZone: 'Mars/Olympus_Mons' };
  await fleet.write('odd.yaml', [service('odd', { disruptionWindows: [window] })]);
  await fleet.write('web.yaml', [service('web')]);
  fleet.run();
  await fleet.until('ContainerService/web', 'Ready', 'True');
  const odd = await objectOf(fleet, 'ContainerService/odd');
  expect(conditionOf(odd, 'Stalled')).toMatchObject({
    status: 'True',
    reason: 'InvalidSpec',
    message: expect.stringContaining('spec.disruptionWindows[0].timeZone: must be a time zone'),
  });
  expect(odd?.metadata.finalizers).toBeUndefined();
  await fleet.write('odd.yaml', [service('odd', { disruptionWindows: [{ ...window, timeZone: 'UTC' }] })]);
  await fleet.untilReady(2);
});
