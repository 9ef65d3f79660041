/** An API server that is in trouble for longer than a heartbeat takes. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { KubernetesServer } from '../../support/kubernetes/server.ts';
import { service, task } from '../../support/processes/fleet.ts';
import {
  createWorld,
  mutations,
  replica,
  serverOf,
  withoutFaults,
} from '../../support/processes/operator.ts';
import { eventually } from '../../support/processes/processes.ts';

const rounds = 120;
const warmUp = 40;

/** A different fault in each round; the Lease alone can be renewed, or there would be no leader. */
async function trouble(server: KubernetesServer, round: number): Promise<void> {
  server.faults.clear();
  server.faults.add({ match: { resource: 'leases' } });
  server.faults.add(
    [{ status: 500 }, { status: 429 }, { reset: 'before' as const }, { status: 410 }][round % 4] ?? {},
  );
  if (round % 2 === 0) server.resetConnections();
  if (round % 10 === 0) server.compact();
  await delay(300);
}

async function heapBytes(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(/^nodejs_heap_size_used_bytes (\S+)$/m.exec(text)?.[1]);
}

/** Just after a collection, as far as that can be seen from outside. */
async function leastHeap(url: string): Promise<number> {
  let least = Infinity;
  for (let sample = 0; sample < 20; sample += 1) {
    least = Math.min(least, await heapBytes(url));
    await delay(50);
  }
  return least;
}

test.skipIf(withoutFaults)(
  'through a long outage heartbeats go on, memory stays as it is, and then all is made up for',
  async () => {
    const { fleet, plane } = await createWorld();
    const server = serverOf(fleet);
    await fleet.write('web.yaml', [service('web'), task('epoch')]);
    const leader = replica(fleet, ['--lease', '15s', '--log-level', 'silent', '--listen', '127.0.0.1:0']);
    const [, url = ''] = await leader.line(/^listening on (.*)$/);
    await fleet.untilReady(2);
    const heartbeats = async () =>
      (await mutations(plane)).filter(({ path }) => path.endsWith('/activity')).length;
    const before = await heartbeats();
    for (let round = 0; round < warmUp; round += 1) await trouble(server, round);
    const heapBefore = await leastHeap(url);
    for (let round = warmUp; round < rounds; round += 1) await trouble(server, round);
    const heapAfter = await leastHeap(url);
    server.faults.clear();
    expect(await heartbeats()).toBeGreaterThan(before);
    expect(heapAfter - heapBefore).toBeLessThan(8 * 1024 * 1024);
    expect(leader.running).toBe(true);
    await eventually('an answer', () =>
      fleet.write('more.yaml', [service('more')]).then(
        () => true,
        () => false,
      ),
    );
    await fleet.untilReady(3);
    expect((await plane.account()).services).toHaveLength(2);
  },
);

test.skipIf(withoutFaults)(
  'without API server, the Lease included, heartbeats go on from memory, and nothing is changed until it is back (F58)',
  async () => {
    const { fleet, plane } = await createWorld();
    const server = serverOf(fleet);
    await fleet.write('web.yaml', [service('web'), task('epoch'), service('other')]);
    const leader = replica(fleet, ['--lease', '6s', '--log-level', 'silent']);
    await fleet.untilReady(3);
    const { id, revision } = await plane.service('other');
    server.faults.add({ reset: 'before' });
    server.resetConnections();
    await delay(5000);
    // Drift, which a leader would put right.
    await plane.call('PATCH', `/api/services/${id}`, { revision, patch: { image: 'ghcr.io/acme/app:9' } });
    await plane.forgetRequests();
    const heartbeats = async () =>
      (await mutations(plane)).filter(({ path }) => path.endsWith('/activity')).length;
    await eventually('a heartbeat', async () => (await heartbeats()) >= 1, 45_000);
    expect(leader.running).toBe(true);
    expect((await mutations(plane)).length).toBe(await heartbeats());
    server.faults.clear();
    await eventually(
      'the drift put right',
      async () => (await plane.service('other')).image === 'ghcr.io/acme/app:1',
    );
    expect(leader.running).toBe(true);
  },
);
