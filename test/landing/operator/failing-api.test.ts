/** An API server that fails in every way that is known of one: nothing is made twice, nothing stays behind. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { KubernetesServer } from '../../support/kubernetes/server.ts';
import { keysWithTwoBodies } from '../../support/processes/control-plane.ts';
import { service, task } from '../../support/processes/fleet.ts';
import { createOwn } from '../../support/processes/kubernetes.ts';
import {
  createWorld,
  logOf,
  mutations,
  replica,
  serverOf,
  untilLed,
  withoutFaults,
  type World,
} from '../../support/processes/operator.ts';
import { eventually } from '../../support/processes/processes.ts';

function services(count: number, image = 'ghcr.io/acme/app:1'): object[] {
  return Array.from({ length: count }, (_, index) => service(`app-${index}`, { image }));
}

/** A leader stays leader through outages of less than 10 s. */
const patient = ['--lease', '15s', '--log-level', 'warn'];

async function expectEachOnce({ plane }: World, count: number): Promise<void> {
  const names = (await plane.account()).services.map(({ name }: { name: string }) => name);
  expect([names.length, new Set(names).size]).toEqual([count, count]);
  expect(keysWithTwoBodies(await mutations(plane))).toEqual([]);
}

test.skipIf(withoutFaults)(
  'a thousand conflicts of status delay a rollout, and repeat nothing of it',
  async () => {
    const world = await createWorld({}, { timeScale: 600 });
    const { fleet, plane } = world;
    const server = serverOf(fleet);
    server.faults.add({ match: { verbs: ['patch'], subresource: 'status' }, times: 1000, status: 409 });
    await fleet.write('services.yaml', services(100));
    fleet.run('--log-level', 'silent');
    await fleet.untilReady(100);
    const conflicts = server.requests().filter(({ status }) => status === 409);
    expect(conflicts.length).toBeGreaterThanOrEqual(1000);
    await expectEachOnce(world, 100);
    expect(await mutations(plane)).toHaveLength(100);
  },
  600_000,
);

test.skipIf(withoutFaults)(
  'an API server that refuses Events, and then everything for seconds, holds nothing up for good',
  async () => {
    const world = await createWorld({ requests: { perSecond: 20, burst: 4, concurrency: 4 } });
    const { fleet, plane } = world;
    const { faults } = serverOf(fleet);
    faults.add({ match: { resource: 'events' }, status: 403 });
    const leader = replica(fleet, patient);
    await untilLed(fleet, [leader]);
    await fleet.write('services.yaml', services(60));
    await eventually('some mutations', async () => (await mutations(plane)).length >= 10);
    for (const status of [500, 429, 503]) {
      const end = faults.add({ status, ...(status === 429 && { retryAfterSeconds: 1 }) });
      await delay(1500);
      end();
      await delay(300);
    }
    const broken = faults.add({ reset: 'after' });
    await delay(1000);
    broken();
    await fleet.untilReady(60);
    await expectEachOnce(world, 60);
    const reported = logOf(leader).filter(({ msg }) => msg.startsWith('a Kubernetes Event was not written'));
    expect(reported).toHaveLength(1);
    expect(leader.running).toBe(true);
  },
);

test.skipIf(withoutFaults)(
  'an API server that ends and comes back is followed on, with or without its memory of changes',
  async () => {
    const world = await createWorld();
    const { fleet } = world;
    const server = serverOf(fleet);
    await fleet.write('services.yaml', services(10));
    const leader = replica(fleet, patient);
    await fleet.untilReady(10);
    for (const [image, forgets] of [
      ['ghcr.io/acme/app:2', false],
      ['ghcr.io/acme/app:3', true],
    ] as const) {
      await server.stop({ abruptly: !forgets });
      await delay(1500);
      // What is asked for before a compaction is answered 410: pages of lists as well as watches.
      if (forgets) server.compact();
      await server.start();
      await fleet.write('services.yaml', services(10, image));
      await eventually('the new image', async () =>
        (await world.plane.account()).services.every((each: { image: string }) => each.image === image),
      );
    }
    await fleet.untilReady(10);
    await expectEachOnce(world, 10);
    expect(leader.running).toBe(true);
  },
);

test.skipIf(withoutFaults)(
  'a watch that says nothing more misses nothing once its connection breaks',
  async () => {
    const world = await createWorld();
    const { fleet, plane } = world;
    const server = serverOf(fleet);
    await fleet.write('services.yaml', services(1));
    replica(fleet, patient);
    await fleet.untilReady(1);
    server.silenceWatches();
    server.faults.add({ match: { verbs: ['list'] }, times: 8, status: 410 });
    await fleet.write('services.yaml', services(2));
    await delay(500);
    expect(await mutations(plane)).toHaveLength(1);
    server.compact();
    server.resetConnections();
    await eventually('an answer on a new connection', () =>
      fleet.records().then(
        () => true,
        () => false,
      ),
    );
    await fleet.untilReady(2);
    await expectEachOnce(world, 2);
  },
);

test.skipIf(withoutFaults)(
  'an API server that comes back empty is another cluster: nothing at the provider is touched',
  async () => {
    const { fleet, plane, folder } = await createWorld();
    const server = serverOf(fleet);
    await fleet.write('services.yaml', services(3));
    const leader = replica(fleet, patient);
    await fleet.untilReady(3);
    const before = await mutations(plane);
    await server.stop({ abruptly: true });
    const { port } = new URL(server.url);
    const empty = await createOwn(folder, new KubernetesServer({ port: Number(port) }));
    // Its Lease is gone, too: whoever leads by it does not lead any more.
    expect((await leader.finished()).code).toBe(1);
    const next = replica(fleet, patient);
    await eventually('its watches', async () => (empty.server?.openWatches ?? 0) >= 8);
    expect((await next.kill('SIGTERM')).code).toBe(0);
    expect(await mutations(plane)).toEqual(before);
  },
);

test.skipIf(withoutFaults)(
  'a task whose activity can not be written down is not registered before it can be',
  async () => {
    const { fleet, plane } = await createWorld();
    const server = serverOf(fleet);
    await fleet.write('web.yaml', [service('web')]);
    replica(fleet, patient);
    await fleet.untilReady(1);
    const end = server.faults.add({
      match: { verbs: ['patch'], resource: 'protectedtasks', subresource: 'status' },
      status: 503,
    });
    await fleet.write('task.yaml', [task('epoch')]);
    const refusals = () => server.requests().filter(({ status }) => status === 503).length;
    await eventually('some refusals', async () => refusals() >= 4);
    const heartbeats = (await mutations(plane)).filter(({ path }) => path.endsWith('/activity'));
    expect(heartbeats).toEqual([]);
    end();
    await fleet.until('ProtectedTask/epoch', 'Ready', 'True', 'Held');
  },
);
