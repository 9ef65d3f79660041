import { expect, test } from 'vitest';
import {
  ControlPlane,
  ControlPlaneProcess,
  isMutation,
  keysWithTwoBodies,
} from '../support/processes/control-plane.ts';
import {
  account,
  createFleet,
  type Fleet,
  service,
  testInFolder,
  volume,
} from '../support/processes/fleet.ts';
import { eventually, launch, sleep, temporaryFolder } from '../support/processes/processes.ts';
import { seed } from '../support/seed.ts';
import { SeededRandom } from '../support/seeded-random.ts';

/** 40 services, ten of them with a volume. */
async function largeFleet(folder: string, plane: ControlPlane): Promise<Fleet> {
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(plane.url));
  const names = Array.from({ length: 40 }, (_, index) => `app-${index}`);
  await fleet.write(
    'volumes.yaml',
    names.slice(0, 10).map((name) => volume(`${name}-data`)),
  );
  await fleet.write(
    'services.yaml',
    names.map((name, index) =>
      service(name, {
        env: [{ name: 'NAME', value: name }],
        ...(index < 10 ? { storage: { volumeRef: { name: `${name}-data` } } } : {}),
      }),
    ),
  );
  return fleet;
}

const lossy = [
  ...['POST', 'PATCH', 'DELETE'].map((method) => ({ method, fault: 'drop-response', every: 3 })),
  ...['POST', 'PATCH', 'DELETE'].map((method) => ({ method, fault: 'drop-request', every: 4 })),
];

async function expectExactly(plane: ControlPlane, services: number, volumes: number): Promise<void> {
  const live = await plane.account();
  expect([live.services.length, live.volumes.length]).toEqual([services, volumes]);
  expect(new Set(live.services.map(({ name }: { name: string }) => name)).size).toBe(services);
  expect(keysWithTwoBodies(await plane.requests())).toEqual([]);
}

test('a fleet whose every third answer and every fourth request is lost converges without a double', async () => {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await largeFleet(folder, plane);
  await plane.faults(lossy);
  const manager = fleet.run();
  await fleet.untilReady(50);
  await expectExactly(plane, 40, 10);
  const cut = (await plane.requests()).filter(({ fault }) => fault !== undefined);
  expect(cut.length).toBeGreaterThan(10);
  expect((await manager.kill('SIGTERM')).code).toBe(0);
});

test(`the same with the manager killed at ten random moments (SEED=${seed})`, async () => {
  const random = new SeededRandom(seed);
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await largeFleet(folder, plane);
  await plane.faults(lossy);
  for (let kill = 0; kill < 10; kill += 1) {
    const manager = fleet.run();
    await sleep(random.between(500, 1500));
    await manager.kill('SIGKILL');
  }
  fleet.run();
  await fleet.untilReady(50);
  await expectExactly(plane, 40, 10);
});

test('the control plane killed in the middle loses nothing, and the fleet converges', async () => {
  const folder = await temporaryFolder();
  const plane = await new ControlPlaneProcess(folder).start();
  const fleet = await largeFleet(folder, plane);
  fleet.run();
  await eventually('some mutations', async () => (await plane.requests()).filter(isMutation).length >= 15);
  await plane.kill();
  const before = await fleet.records();
  await plane.start();
  await fleet.untilReady(50);
  await expectExactly(plane, 40, 10);
  const live = await plane.account();
  const ids = new Set([...live.services, ...live.volumes].map(({ id }: { id: string }) => id));
  const known = [...before.values()].flatMap(({ externalId }) => externalId ?? []);
  expect(known.length).toBeGreaterThan(0);
  expect(known.filter((id) => !ids.has(id))).toEqual([]);
});

// COVERAGE 96
test('after a 429 nothing is sent before Retry-After has passed, and then the fleet goes on', async () => {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await largeFleet(folder, plane);
  await plane.faults([
    { method: 'POST', fault: 'status', status: 429, code: 'rate_limited', retryAfter: 3, times: 1 },
  ]);
  fleet.run();
  await fleet.untilReady(50);
  const requests = await plane.requests();
  const limited = requests.findIndex(({ status }) => status === 429);
  const at = (index: number) => Date.parse(requests[index]?.at ?? '');
  const afterMs = requests.map((_, index) => at(index) - at(limited));
  // What was sent before the answer was read can't be called back: on a busy machine that takes a moment.
  expect(afterMs.filter((ms) => ms > 1000 && ms < 2990)).toEqual([]);
  expect(afterMs.some((ms) => ms >= 2990)).toBe(true);
  expect(requests.filter(isMutation).length).toBeGreaterThanOrEqual(50);
  await expectExactly(plane, 40, 10);
});

// In a cluster a second one waits for the Lease: test/landing/operator/lease.test.ts.
testInFolder('a second manager on the same state refuses to start and says who holds it', async () => {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  await fleet.write('fleet.yaml', [...account(plane.url), service('web')]);
  const first = fleet.run('--listen', '127.0.0.1:0');
  await first.line(/^listening on /);
  await fleet.untilReady(1);
  const second = await launch(['run', ...fleet.flags]).finished();
  expect(second.code).toBe(1);
  expect(second.stderr).toMatch(/state file .* is in use by process \d+ .*fleetkeeper run/);
  expect((await fleet.apply()).stderr).toMatch(/is in use by process/);
  expect((await fleet.plan()).code).toBe(0);
  expect((await first.kill('SIGTERM')).code).toBe(0);
  expect((await fleet.apply()).code).toBe(0);
});
