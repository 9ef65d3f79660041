/** Capacity that many services wait for, over HTTP. */
import { expect, test } from 'vitest';
import { ControlPlane } from '../support/processes/control-plane.ts';
import { createFleet, account, service } from '../support/processes/fleet.ts';
import { eventually, nowMs, temporaryFolder } from '../support/processes/processes.ts';

const count = 20;
const names = Array.from({ length: count }, (_, index) => `web-${index}`);
/** At most so many are sent before the first pause. */
const first = 8;
const requests = { perSecond: 50, burst: 50, concurrency: 4 };
const noCapacity = { method: 'POST', path: '/api/services$', fault: 'status', status: 409 };

async function world() {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  const creations = async () =>
    (await plane.requests()).filter(({ method, path }) => method === 'POST' && path === '/api/services')
      .length;
  return { plane, fleet, creations };
}

// COVERAGE 48
test('twenty services that wait for the same are asked for by one, and are all made when there is capacity', async () => {
  const { plane, fleet, creations } = await world();
  await plane.faults([{ ...noCapacity, code: 'capacity_unavailable' }]);
  await fleet.write('fleet.yaml', [
    ...account(plane.url, { requests }),
    ...names.map((name) => service(name)),
  ]);
  const startedAt = nowMs();
  fleet.run();
  for (const name of names)
    await fleet.until(`ContainerService/${name}`, 'Reconciling', 'True', 'CapacityUnavailable');
  // Those that are under way when the first refusal comes, and what takes their place at that moment.
  expect(await creations()).toBeLessThanOrEqual(first);
  const waiting = await fleet.until('ContainerService/web-7', 'Reconciling', 'True', 'CapacityUnavailable');
  expect(waiting.message).toMatch(
    /409 capacity_unavailable.* ContainerService\/default\/web-\d+ asks next for all, at /,
  );
  await eventually('the Account shows it', async () => {
    const { status } = (await fleet.records()).get('Account/default') ?? {};
    const [entry] = (status?.['capacity'] ?? []) as { state: string; failures: number }[];
    return entry?.state === 'Scarce' && entry.failures >= 2;
  });
  // The pauses are at least 8 s, 16 s and 32 s.
  const seconds = (nowMs() - startedAt) / 1000;
  const probes = [8, 24, 56, 120].filter((at) => seconds >= at).length;
  expect(await creations()).toBeLessThanOrEqual(first + probes);
  const before = await creations();
  await plane.faults([]);
  await fleet.untilReady(count, 90_000);
  expect((await creations()) - before).toBe(count);
});

test('a manager that is killed while services wait keeps the pause', async () => {
  const { plane, fleet, creations } = await world();
  await plane.faults([{ ...noCapacity, code: 'capacity_unavailable' }]);
  await fleet.write('fleet.yaml', [
    ...account(plane.url, { requests }),
    ...names.map((name) => service(name)),
  ]);
  const manager = fleet.run();
  await eventually('the refusal recorded', async () => {
    const { status } = (await fleet.records()).get('Account/default') ?? {};
    return ((status?.['capacity'] ?? []) as { failures: number }[])[0]?.failures === 2;
  });
  const killedAt = nowMs();
  const before = await creations();
  await manager.kill('SIGKILL');
  const next = fleet.run();
  await eventually('the restart', async () => /"(manager started|leading)"/.test(next.stderr));
  await eventually('the next probe', async () => (await creations()) > before);
  // The second pause is at least 16 s; some of it was over when the manager was killed.
  expect(nowMs() - killedAt).toBeGreaterThan(8000);
  expect(await creations()).toBe(before + 1);
});
