/** Faults F48, F56, F62, F70 and the crash point CP15: of an operator whose edits, rights, objects and clocks are not as they should be. */
import { expect, test } from 'vitest';
import { ClusterFleet } from '../../support/processes/cluster-fleet.ts';
import { ControlPlane } from '../../support/processes/control-plane.ts';
import { Crashes, Gate, type Moment } from '../../support/processes/crash-points.ts';
import { account, service } from '../../support/processes/fleet.ts';
import { createOwn } from '../../support/processes/kubernetes.ts';
import {
  holderOf,
  mutations,
  objectOf,
  replica,
  serverOf,
  untilLed,
} from '../../support/processes/operator.ts';
import { wrongClock } from '../../support/processes/preload.ts';
import { eventually, temporaryFolder } from '../../support/processes/processes.ts';

/** On an API server in this process, whatever else there is: it can be asked to fail. */
async function world() {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder, { timeScale: 600 }).start();
  const cluster = await createOwn(folder);
  const fleet = new ClusterFleet(cluster);
  await fleet.write('account.yaml', account(plane.url, { pollSeconds: 0.5 }));
  const write = (tag: number) => fleet.write('web.yaml', [service('web', { image: `a/a:${tag}` })]);
  const untilTagged = (tag: number) =>
    eventually(`image ${tag}`, async () => (await plane.service('web'))?.image === `a/a:${tag}`, 120_000);
  await write(1);
  return { plane, fleet, cluster, server: serverOf(fleet), write, untilTagged };
}

test('F48 of edits that nobody saw only the last one counts', async () => {
  const { plane, fleet, write, untilTagged } = await world();
  await write(2);
  const first = fleet.run();
  await fleet.untilReady(1);
  await first.kill('SIGKILL');
  for (const tag of [3, 2, 4]) await write(tag);
  fleet.run();
  await untilTagged(4);
  // Ready may still be what the first one wrote.
  await eventually(
    'status of the last edit',
    async () => (await fleet.records()).get('ContainerService/web')?.status?.observedGeneration === 5,
    120_000,
  );
  await fleet.untilReady(1);
  expect((await mutations(plane)).map(({ method }) => method)).toEqual(['POST', 'PATCH']);
}, 400_000);

test('F56 without the right to write a status nothing is sent, and with it all goes on', async () => {
  const { plane, fleet, server, write, untilTagged } = await world();
  const operator = fleet.run('--listen', '127.0.0.1:0');
  const [, url = ''] = await operator.line(/^listening on (.*)$/);
  await fleet.untilReady(1);
  const match = { verbs: ['patch'] as const, resource: 'containerservices', subresource: 'status' };
  const allow = server.faults.add({ match, status: 403 });
  const before = await mutations(plane);
  await write(2);
  const refused = () => server.requests().filter(({ status }) => status === 403);
  await eventually('two attempts', async () => refused().length >= 2);
  expect(await mutations(plane)).toEqual(before);
  const metrics = await (await fetch(`${url}/metrics`)).text();
  expect(metrics).toMatch(
    /^controller_runtime_reconcile_errors_total\{controller="ContainerService"\} [1-9]/m,
  );
  expect(operator.stderr).toContain('"pass failed"');
  allow();
  await untilTagged(2);
  await fleet.untilReady(1);
});

test('F62 an object of a megabyte is held, and told of in little', async () => {
  const { plane, fleet } = await world();
  const command = Array.from({ length: 10 }, () => 'x'.repeat(100_000));
  await fleet.write('large.yaml', [service('large', { command })]);
  fleet.run();
  await eventually('the others', async () => (await plane.service('web'))?.state === 'running');
  const { status } = await eventually('a status', async () => {
    const object = await objectOf(fleet, 'ContainerService/large');
    return object?.status !== undefined && object;
  });
  expect(JSON.stringify(status).length).toBeLessThan(32_768);
  expect(JSON.stringify(status)).toContain('is too large');
  expect((await plane.account()).services).toHaveLength(1);
});

const hourMs = 3_600_000;

test('F70 replicas whose clocks are two hours apart have one leader, and the next one follows it', async () => {
  const { plane, fleet, server, write, untilTagged } = await world();
  const late = replica(fleet, [], wrongClock(-hourMs));
  await untilLed(fleet, [late]);
  const early = replica(fleet, [], wrongClock(hourMs));
  const renewals = () =>
    server.requests().filter(({ verb, resource }) => resource?.plural === 'leases' && verb !== 'get');
  const before = renewals().length;
  await eventually('more renewals than the Lease lasts', async () => renewals().length >= before + 6);
  expect(await holderOf(fleet)).toContain(`_${late.pid}_`);
  await untilTagged(1);
  await late.kill('SIGKILL');
  await untilLed(fleet, [early]);
  await write(2);
  await untilTagged(2);
  expect((await mutations(plane)).map(({ method }) => method)).toEqual(['POST', 'PATCH']);
});

test.each<Moment>(['before', 'after'])(
  'CP15 a leader that is killed %s it gives its Lease back is followed, and nothing is done twice',
  async (moment) => {
    const { plane, fleet, cluster, server, write, untilTagged } = await world();
    const gate = await new Gate(server.url).start();
    const gated = new ClusterFleet({ ...cluster, kubeconfig: await gate.kubeconfig(cluster.kubeconfig) });
    const point = { name: 'CP15', method: 'PUT', path: /\/leases\//, body: /"holderIdentity":""/ };
    const crashes = new Crashes([point], moment, () => replica(gated));
    gate.guard(crashes);
    const first = crashes.program;
    await untilTagged(1);
    await write(2);
    await first.kill('SIGTERM');
    await eventually('the kill', async () => crashes.left.length === 0 && crashes.program !== first);
    await write(3);
    await untilTagged(3);
    const sent = (await mutations(plane)).map(({ method }) => method);
    expect(sent[0]).toBe('POST');
    expect(sent.length).toBeLessThanOrEqual(3);
    await fleet.untilReady(1);
    expect((await plane.account()).services).toHaveLength(1);
  },
);
