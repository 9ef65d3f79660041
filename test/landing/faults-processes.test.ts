/** Faults F65 to F72: what happens to the process itself, and to its clock. Kills at every point: faults-crashes.test.ts. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { ControlPlane, isMutation, keysWithTwoBodies } from '../support/processes/control-plane.ts';
import { account, FleetFolder, service, task, type Json } from '../support/processes/fleet.ts';
import { Front } from '../support/processes/front.ts';
import { jumpingClock, preload } from '../support/processes/preload.ts';
import { launch, eventually, temporaryFolder } from '../support/processes/processes.ts';

async function world(spec: object = {}) {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder, { timeScale: 600 }).start();
  const front = await new Front(() => plane.url).start();
  const fleet = new FleetFolder(folder);
  await fleet.write('account.yaml', account(front.url, { pollSeconds: 0.5, ...spec }));
  const start = (environment: Record<string, string>) =>
    launch(['run', ...fleet.flags, '--settle', '500ms', '--log-level', 'warn'], environment);
  return { plane, front, fleet, start };
}

const names = (count: number) => Array.from({ length: count }, (_, index) => `app-${index}`);
const epoch = task('epoch');
const isHeartbeat = ({ method, path }: { method: string; path: string }) =>
  method === 'POST' && path.endsWith('/activity');

/** A beat each second: the shortest period that is followed. */
function sendFastHeartbeats(front: Front): void {
  front.rewrite = (seen, body: Json) =>
    isHeartbeat(seen) ? { ...body, heartbeatSeconds: 1, expiresInSeconds: 300 } : body;
}

/** Memory that is never given back, from SIGUSR2 on. */
const leak = preload(`
  const kept = [];
  process.on('SIGUSR2', () => setInterval(() => kept.push(new Array(500_000).fill(kept.length)), 10));
`);

test('F65 a manager that runs out of memory ends, and the next one doubles nothing', async () => {
  const { plane, front, fleet, start } = await world({
    requests: { perSecond: 10, burst: 5, concurrency: 2 },
  });
  await fleet.write(
    'fleet.yaml',
    names(10).map((name) => service(name)),
  );
  const manager = start({ NODE_OPTIONS: `${leak['NODE_OPTIONS']} --max-old-space-size=96` });
  await eventually(
    'some creations',
    async () => front.seen.filter(({ method }) => method === 'POST').length > 3,
  );
  process.kill(manager.pid ?? 0, 'SIGUSR2');
  const { code, stderr } = await manager.finished();
  expect(code).not.toBe(0);
  expect(stderr).toContain('heap out of memory');
  start({});
  await fleet.untilReady(10);
  expect((await plane.account()).services).toHaveLength(10);
  expect(keysWithTwoBodies(await plane.requests())).toEqual([]);
});

test('F66 a manager that stood still goes on beating at once, and makes up for nothing', async () => {
  const { front, fleet, start } = await world();
  sendFastHeartbeats(front);
  await fleet.write('fleet.yaml', [service('web'), epoch]);
  const manager = start({});
  const heartbeats = () => front.seen.filter(isHeartbeat);
  await eventually('two beats', async () => heartbeats().length >= 2);
  process.kill(manager.pid ?? 0, 'SIGSTOP');
  await delay(4000);
  const before = heartbeats().length;
  const wokenAtMs = Date.now();
  process.kill(manager.pid ?? 0, 'SIGCONT');
  await eventually('three beats', async () => heartbeats().length >= before + 3);
  const after = heartbeats().slice(before);
  const [first, , third] = after;
  expect((first?.atMs ?? 0) - wokenAtMs).toBeLessThan(3000);
  expect((third?.atMs ?? 0) - wokenAtMs).toBeGreaterThan(900);
});

const reject = preload(
  "process.on('SIGUSR2', () => { Promise.reject(new Error('nobody waits for this')); });",
);

test('F67 what nobody catches ends the manager, and the next one goes on', async () => {
  const { plane, fleet, start } = await world();
  await fleet.write('fleet.yaml', [service('web')]);
  const manager = start(reject);
  await fleet.untilReady(1);
  process.kill(manager.pid ?? 0, 'SIGUSR2');
  const { code, stderr } = await manager.finished();
  expect([code, stderr]).toEqual([1, expect.stringContaining('nobody waits for this')]);
  await fleet.write('fleet.yaml', [service('web', { image: 'ghcr.io/acme/app:2' })]);
  start({});
  await eventually('the edit', async () => (await plane.service('web')).image === 'ghcr.io/acme/app:2');
});

test('F68 after a start, heartbeats do not wait behind what has to be changed', async () => {
  const { plane, fleet, start } = await world({ requests: { perSecond: 10, burst: 2, concurrency: 1 } });
  const services = (image: string) => names(12).map((name) => service(name, { image }));
  await fleet.write('fleet.yaml', [service('web'), epoch, ...services('ghcr.io/acme/app:1')]);
  const first = start({});
  await fleet.untilReady(14);
  await first.kill('SIGKILL');
  await plane.forgetRequests();
  await fleet.write('fleet.yaml', [service('web'), epoch, ...services('ghcr.io/acme/app:2')]);
  start({});
  const sent = await eventually('the edits', async () => {
    const requests = (await plane.requests()).filter(isMutation);
    return requests.length >= 10 && requests;
  });
  expect(sent.findIndex(isHeartbeat)).toBeGreaterThanOrEqual(0);
  expect(sent.findIndex(isHeartbeat)).toBeLessThan(5);
});

const hourMs = 3_600_000;

test('F69, F72 a wall clock that jumps disturbs neither heartbeats nor changes, nor the next start', async () => {
  const nowMs = Date.now();
  const times = [
    nowMs + hourMs,
    nowMs - hourMs,
    nowMs + 365 * 24 * hourMs,
    Date.parse('2028-02-29T23:59:59.900Z'),
    Date.parse('2038-01-19T03:14:07.500Z'),
  ];
  const { plane, front, fleet, start } = await world();
  sendFastHeartbeats(front);
  const write = (tag: number) =>
    fleet.write('fleet.yaml', [service('web', { image: `a/a:${tag}`, disruption: 'Always' }), epoch]);
  const untilTagged = (tag: number) =>
    eventually(`image ${tag}`, async () => (await plane.service('web')).image === `a/a:${tag}`);
  await write(0);
  const manager = start(jumpingClock(times));
  await fleet.untilReady(2);
  for (const [index] of times.entries()) {
    process.kill(manager.pid ?? 0, 'SIGUSR2');
    const before = front.seen.filter(isHeartbeat).length;
    await write(index + 1);
    await untilTagged(index + 1);
    await eventually('two beats', async () => front.seen.filter(isHeartbeat).length >= before + 2);
  }
  // In the state it is 2038 now.
  await manager.kill('SIGKILL');
  const before = front.seen.filter(isHeartbeat).length;
  await write(times.length + 1);
  start({});
  await untilTagged(times.length + 1);
  await eventually('a beat', async () => front.seen.filter(isHeartbeat).length > before);
  await fleet.untilReady(2);
  const heartbeats = front.seen.filter(isHeartbeat);
  const patches = (await plane.requests()).filter(({ method }) => method === 'PATCH');
  expect(patches).toHaveLength(times.length + 1);
  const tookS = ((heartbeats.at(-1)?.atMs ?? 0) - (heartbeats[0]?.atMs ?? 0)) / 1000;
  expect(heartbeats.length).toBeLessThanOrEqual(tookS + times.length + 3);
});
