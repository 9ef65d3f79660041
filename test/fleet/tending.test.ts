/** What the manager does by itself for services that run: remediation, windows, readiness, replacement. */
import { expect, test } from 'vitest';
import { ControlPlane, isMutation } from '../support/processes/control-plane.ts';
import { account, createFleet, service, volume } from '../support/processes/fleet.ts';
import { eventually, temporaryFolder } from '../support/processes/processes.ts';

async function world() {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(plane.url));
  return { plane, fleet };
}

const unpullable = 'registry.invalid/app:1';

test('a service in error is restarted at once, and then only after a pause', async () => {
  const { plane, fleet } = await world();
  await fleet.write('web.yaml', [service('web', { image: unpullable, onError: { restarts: 3 } })]);
  fleet.run();
  await fleet.until('ContainerService/web', 'Reconciling', 'True', 'RemediationBackoff');
  const sent = (await plane.requests()).filter(isMutation).map(({ path }) => path.split('/').at(-1));
  expect(sent).toEqual(['services', 'actions']);
});

test('of ten services that fail together, two are restarted at a time', async () => {
  const { plane, fleet } = await world();
  const names = Array.from({ length: 10 }, (_, index) => `web-${index}`);
  await fleet.write(
    'web.yaml',
    names.map((name) => service(name, { image: unpullable, onError: { restarts: 1 } })),
  );
  fleet.run();
  await eventually('the brake', async () => {
    const conditions = [...(await fleet.records()).values()].flatMap(
      ({ status }) => status?.conditions ?? [],
    );
    return conditions.some(({ type, reason }) => type === 'Reconciling' && reason === 'RemediationBrake');
  });
  const restarts = (await plane.requests()).filter(({ path }) => path.endsWith('/actions'));
  expect(restarts.length).toBeLessThanOrEqual(2);
});

test('a running service is patched only in its window', async () => {
  const { plane, fleet } = await world();
  await fleet.write('web.yaml', [service('web')]);
  expect((await fleet.apply()).code).toBe(0);
  const closed = { cron: '0 0 29 2 *', durationMinutes: 1 };
  await fleet.write('web.yaml', [
    service('web', { image: 'ghcr.io/acme/app:2', disruptionWindows: [closed] }),
  ]);
  const { code, plan } = await fleet.plan();
  expect(code).toBe(2);
  expect(plan.held[0]).toMatchObject({ reason: 'OutsideWindow', actions: ['update'] });
  const open = { cron: '* * * * *', durationMinutes: 5 };
  await fleet.write('web.yaml', [
    service('web', { image: 'ghcr.io/acme/app:2', disruptionWindows: [closed, open] }),
  ]);
  expect((await fleet.apply()).code).toBe(0);
  expect(await plane.service('web')).toMatchObject({ image: 'ghcr.io/acme/app:2' });
});

// COVERAGE 55
test('a service whose endpoint does not answer runs, and is not Ready', async () => {
  const { plane, fleet } = await world();
  await fleet.write('web.yaml', [service('web', { httpPort: 80, readiness: { path: '/healthz' } })]);
  fleet.run();
  const ready = await fleet.until('ContainerService/web', 'Ready', 'False', 'ProbeFailed');
  // The endpoints of the simulated runtime are names that nobody has.
  expect(ready.message).toMatch(/^https:\/\/.*\/healthz: /);
  expect(await plane.service('web')).toMatchObject({ state: 'running' });
});

test('services that exchange their volumes go together, when the last one of them may', async () => {
  const { plane, fleet } = await world();
  const names = ['a', 'b', 'c'];
  const of = (turn: number) => [
    ...names.map((name) => volume(`data-${name}`)),
    ...names.map((name, index) =>
      service(name, {
        replacement: 'Recreate',
        storage: { volumeRef: { name: `data-${names[(index + turn) % names.length]}` } },
      }),
    ),
  ];
  await fleet.write('fleet.yaml', of(0));
  expect((await fleet.apply()).code).toBe(0);
  const ids = async () => Promise.all(names.map(async (name) => (await plane.service(name)).id));
  const before = await ids();
  const activity = { id: '5f0f1c1e-0000-4000-8000-000000000001', name: 'epoch 7' };
  await plane.call('POST', `/api/services/${before[1]}/activity`, activity);
  await fleet.write('fleet.yaml', of(1));
  const { plan } = await fleet.plan();
  expect(plan.held.map(({ name, reason }: { name: string; reason: string }) => [name, reason])).toEqual([
    ['a', 'VolumeExchange'],
    ['b', 'Protected'],
    ['c', 'VolumeExchange'],
  ]);
  fleet.run();
  await eventually('who can not go yet is named', async () => {
    const { message } = await fleet.until('ContainerService/a', 'Reconciling', 'True', 'VolumeExchange');
    return /these can't be deleted yet: .*b \(Protected\)/.test(message);
  });
  expect(await ids()).toEqual(before);
  await plane.call('POST', `/api/services/${before[1]}/activity`, { ...activity, release: true });
  await eventually('all of them are new', async () => {
    const now = await Promise.allSettled(names.map(async (name) => plane.service(name)));
    return now.every((one, index) => one.status === 'fulfilled' && one.value?.id !== before[index]);
  });
});

test('a replaced service is attached to its independent storage again', async () => {
  const { plane, fleet } = await world();
  const storage = { volumeGb: 10, volumeMode: 'independent' };
  await fleet.write('web.yaml', [service('web', { storage, replacement: 'Recreate' })]);
  expect((await fleet.apply()).code).toBe(0);
  const before = await plane.service('web');
  await fleet.write('web.yaml', [
    service('web', { storage, replacement: 'Recreate', serviceName: 'renamed' }),
  ]);
  const { plan } = await fleet.plan();
  expect(plan.changes.map(({ action }: { action: string }) => action)).toEqual(['replace']);
  expect((await fleet.apply()).code).toBe(0);
  const after = await plane.service('renamed');
  expect(after.id).not.toBe(before.id);
  expect(after.volumeId).toBe(before.volumeId);
  expect((await plane.call('GET', '/api/volumes')).volumes).toHaveLength(1);
});
