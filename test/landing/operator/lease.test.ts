/** Nothing is changed at the provider without the Lease, however it was lost; and it is given away as soon as it is not needed. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createClusterFleet } from '../../support/processes/cluster-fleet.ts';
import { ControlPlane, apiKey } from '../../support/processes/control-plane.ts';
import { service } from '../../support/processes/fleet.ts';
import { Front } from '../../support/processes/front.ts';
import {
  createWorld,
  holderOf,
  logOf,
  mutations,
  replica,
  serverOf,
  steal,
  untilLed,
  withoutFaults,
} from '../../support/processes/operator.ts';
import { eventually, temporaryFolder } from '../../support/processes/processes.ts';

const services = (count: number) => Array.from({ length: count }, (_, index) => service(`app-${index}`));
/** So slow that there is something to be sent all the time. */
const slowly = { requests: { perSecond: 10, burst: 2, concurrency: 4 } };

test('a leader whose Lease was stolen ends with code 1, and sends nothing more', async () => {
  const { plane, fleet } = await createWorld(slowly);
  await fleet.write('services.yaml', services(100));
  const leader = replica(fleet, ['--lease', '6s']);
  await eventually('some mutations', async () => (await mutations(plane)).length >= 10);
  await steal(fleet, 'somebody-else');
  const stolenAtMs = Date.now();
  const { code } = await leader.finished();
  const sent = await mutations(plane);
  expect(code).toBe(1);
  expect(sent.length).toBeLessThan(100);
  // With a lease of 6 s it may act for 4 s after its last renewal.
  expect(Date.parse(sent.at(-1)?.at ?? '') - stolenAtMs).toBeLessThan(4500);
  expect(await holderOf(fleet)).toBe('somebody-else');
  expect(logOf(leader)).toContainEqual(
    expect.objectContaining({ level: 'fatal', note: 'somebody-else holds the Lease' }),
  );
});

test.skipIf(withoutFaults)(
  'a leader that can not renew its Lease sends nothing when another may take it, and goes on when it can',
  async () => {
    const { plane, fleet } = await createWorld(slowly);
    await fleet.write('services.yaml', services(100));
    const leader = replica(fleet, ['--lease', '6s']);
    await eventually('some mutations', async () => (await mutations(plane)).length >= 10);
    const server = serverOf(fleet);
    server.faults.add({ match: { resource: 'leases' }, reset: 'before' });
    const said = (text: string) => () => Promise.resolve(logOf(leader).some(({ msg }) => msg === text));
    await eventually('the leader to notice', said('this process does not lead for now'));
    await delay(3000);
    expect(leader.running).toBe(true);
    const renewals = server
      .requests()
      .filter(({ resource, status }) => resource?.plural === 'leases' && status === 200);
    const renewedAtMs = renewals.at(-1)?.at.getTime() ?? 0;
    const sentAtMs = (await mutations(plane)).map(({ at }) => Date.parse(at));
    // It went on for as long as it might, and not until another one might have begun.
    expect(sentAtMs.some((atMs) => atMs > renewedAtMs + 500)).toBe(true);
    expect(Math.max(...sentAtMs) - renewedAtMs).toBeLessThan(6000);
    // What people want by then is what counts.
    await fleet.write('services.yaml', [...services(100), service('late')]);
    server.faults.clear();
    await eventually('the leader to lead again', said('this process leads again'));
    await fleet.untilReady(101);
    expect((await plane.account()).services).toHaveLength(101);
  },
);

test('a leader that slept while another took over changes nothing when it wakes up', async () => {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createClusterFleet(folder);
  const fronts = [
    await new Front(() => plane.url).start(),
    await new Front(() => plane.url).start(),
  ] as const;
  const slept = () => fronts[0].seen.filter(({ method }) => method !== 'GET').length;
  const awake = () => fronts[1].seen.filter(({ method }) => method !== 'GET').length;
  const start = ({ url }: Front) =>
    replica(fleet, ['--lease', '6s', '--log-level', 'warn'], {
      FLEETKEEPER_API_URL: url,
      FLEETKEEPER_API_KEY: apiKey,
    });
  const first = start(fronts[0]);
  await untilLed(fleet, [first]);
  const second = start(fronts[1]);
  await fleet.write('services.yaml', services(60));
  await eventually('mutations of the first', async () => slept() >= 5);
  process.kill(first.pid ?? 0, 'SIGSTOP');
  await untilLed(fleet, [second]);
  await eventually('mutations of the second', async () => awake() >= 5);
  const before = slept();
  process.kill(first.pid ?? 0, 'SIGCONT');
  expect((await first.finished()).code).toBe(1);
  expect(slept()).toBe(before);
  await fleet.untilReady(60);
  expect((await plane.account()).services).toHaveLength(60);
});

test('a leader that is asked to end finishes what is under way, and hands over at once', async () => {
  const { plane, fleet } = await createWorld();
  const lease = ['--lease', '15s'];
  const leader = replica(fleet, lease);
  await untilLed(fleet, [leader]);
  await plane.faults([{ method: 'POST', path: '/api/services$', fault: 'delay', delayMs: 1500 }]);
  await fleet.write('web.yaml', [service('web')]);
  await eventually('a creation under way', async () => (await plane.faultHits()) > 0);
  const ended = await leader.kill('SIGTERM');
  expect(ended.code).toBe(0);
  expect(await holderOf(fleet)).toBe('');
  const { id } = await plane.service('web');
  expect((await fleet.records()).get('ContainerService/web')?.externalId).toBe(id);
  const startedAtMs = performance.now();
  const next = replica(fleet, lease);
  await untilLed(fleet, [next]);
  await fleet.untilReady(1);
  expect(performance.now() - startedAtMs).toBeLessThan(10_000);
  expect((await mutations(plane)).length).toBe(1);
});

test.skipIf(withoutFaults)(
  'a replica that waits reads nothing but the Lease, is well, and ends with code 0',
  async () => {
    const { fleet } = await createWorld();
    const server = serverOf(fleet);
    const leader = fleet.run();
    await untilLed(fleet, [leader]);
    await fleet.until('Account/default', 'Ready', 'True');
    const watches = server.openWatches;
    const waiting = fleet.run('--listen', '127.0.0.1:0');
    const [, url = ''] = await waiting.line(/^listening on (.*)$/);
    const reads = () => server.requests().filter(({ verb }) => verb === 'get');
    const isOfSecret = ({ resource }: ReturnType<typeof reads>[number]) => resource?.plural === 'secrets';
    // The leader reads its Secrets every 15 s: it has just done so.
    server.forgetRequests();
    await eventually('the Secrets read again', async () => reads().some(isOfSecret));
    server.forgetRequests();
    await eventually('reads of the Lease', async () => reads().length >= 2);
    expect(new Set(reads().map(({ resource }) => resource?.plural))).toEqual(new Set(['leases']));
    expect(server.openWatches).toBe(watches);
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    const metrics = await (await fetch(`${url}/metrics`)).text();
    expect(metrics).toMatch(/leader_election_master_status\{name="fleetkeeper"\} 0/);
    expect((await waiting.kill('SIGTERM')).code).toBe(0);
    expect(await holderOf(fleet)).toContain(`_${leader.pid}_`);
  },
);
