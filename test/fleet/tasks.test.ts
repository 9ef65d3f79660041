/** Protected tasks: a service is not disturbed while one is held, whatever becomes of the manager or the API. */
import { expect, test } from 'vitest';
import { ControlPlane, isMutation } from '../support/processes/control-plane.ts';
import {
  account,
  createFleet,
  service,
  task,
  testInFolder,
  testOnClock,
  volume,
  type Fleet,
} from '../support/processes/fleet.ts';
import { eventually, nowMs, sleep, temporaryFolder } from '../support/processes/processes.ts';
import { world as ways } from '../support/world.ts';

async function world() {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(plane.url));
  return { plane, fleet };
}

const activitiesOf = async (plane: ControlPlane, name = 'web') => {
  const { id } = await plane.service(name);
  return (await plane.call('GET', `/api/services/${id}/activity`)).activities;
};

test('a task is held while its document says so, and released when it says so', async () => {
  const { plane, fleet } = await world();
  await fleet.write('web.yaml', [service('web'), task('epoch', { taskName: 'epoch 7' })]);
  expect((await fleet.apply()).code).toBe(0);
  expect(await activitiesOf(plane)).toMatchObject([{ name: 'epoch 7', fresh: true }]);
  await fleet.write('web.yaml', [service('web'), task('epoch', { taskName: 'epoch 7', released: true })]);
  const { plan } = await fleet.plan();
  expect(plan.changes).toMatchObject([{ kind: 'ProtectedTask', action: 'release' }]);
  expect((await fleet.apply()).code).toBe(0);
  expect(await activitiesOf(plane)).toEqual([]);
  expect((await fleet.plan()).code).toBe(0);
});

testInFolder('who applies a task reads that its heartbeats need a manager', async () => {
  const { fleet } = await world();
  await fleet.write('web.yaml', [service('web'), task('epoch')]);
  const { code, stderr } = await fleet.apply();
  expect(code).toBe(0);
  expect(stderr).toContain('the heartbeats of 1 ProtectedTask(s) stop now, unless `fleetkeeper run` runs');
  expect((await fleet.apply('--output', 'json')).stderr).not.toContain('heartbeats');
});

test('the end of its document releases a task, too, and the same name may be used again', async () => {
  const { plane, fleet } = await world();
  await fleet.write('web.yaml', [service('web'), task('epoch')]);
  expect((await fleet.apply()).code).toBe(0);
  await fleet.write('web.yaml', [service('web')]);
  expect((await fleet.apply()).code).toBe(0);
  expect(await activitiesOf(plane)).toEqual([]);
  await fleet.write('web.yaml', [service('web'), task('epoch')]);
  expect((await fleet.apply()).code).toBe(0);
  expect(await activitiesOf(plane)).toHaveLength(1);
});

const changes: [string, object][] = [
  ['stop', { desiredState: 'Stopped' }],
  ['restart', { restartToken: '2' }],
  ['resize', { resources: { cpu: 2, memoryGb: 1 } }],
  ['update', { image: 'ghcr.io/acme/app:2' }],
  ['replace', { region: 'economy', replacement: 'Recreate' }],
];

test.each(changes)('a %s is planned under a task, sent only after its release', async (action, change) => {
  const { plane, fleet } = await world();
  await fleet.write('web.yaml', [service('web')]);
  expect((await fleet.apply()).code).toBe(0);
  await fleet.write('task.yaml', [task('epoch')]);
  fleet.run();
  await fleet.until('ProtectedTask/epoch', 'Ready', 'True', 'Held');
  const before = (await plane.requests())
    .filter(isMutation)
    .filter(({ path }) => !path.endsWith('/activity'));
  await fleet.write('web.yaml', [service('web', change)]);
  const waiting = await fleet.until('ContainerService/web', 'Protected', 'True');
  expect(waiting.message).toContain('epoch');
  const { plan } = await fleet.plan();
  expect(plan.held[0]).toMatchObject({ reason: 'Protected', actions: expect.arrayContaining([action]) });
  const meanwhile = (await plane.requests())
    .filter(isMutation)
    .filter(({ path }) => !path.endsWith('/activity'));
  expect(meanwhile).toEqual(before);
  await fleet.write('task.yaml', [task('epoch', { released: true })]);
  await fleet.until('ContainerService/web', 'Protected', 'False');
  await eventually('the change', async () => {
    const { requests } = { requests: await plane.requests() };
    return (
      requests.filter(isMutation).filter(({ path }) => !path.endsWith('/activity')).length > before.length
    );
  });
});

testInFolder('a checkout of a branch without the task, and with another image, ends nothing', async () => {
  const { plane, fleet } = await world();
  await fleet.write('web.yaml', [service('web')]);
  await fleet.write('task.yaml', [task('epoch')]);
  expect((await fleet.apply()).code).toBe(0);
  const before = await plane.service('web');
  const [activity] = await activitiesOf(plane);
  fleet.run('--file-grace', '60s');
  await fleet.until('ProtectedTask/epoch', 'Ready', 'True', 'Held');
  await fleet.remove('task.yaml');
  await fleet.write('web.yaml', [service('web', { image: 'ghcr.io/acme/app:0' })]);
  const held = await fleet.until('ProtectedTask/epoch', 'Ready', 'False', 'SourceIncomplete');
  expect(held.message).toContain('`released: true`');
  await fleet.until('ContainerService/web', 'Protected', 'True');
  await fleet.write('web.yaml', [service('web')]);
  await fleet.write('task.yaml', [task('epoch')]);
  await fleet.until('ProtectedTask/epoch', 'Ready', 'True', 'Held');
  expect(await plane.service('web')).toMatchObject({ image: before.image, revision: before.revision });
  expect(await activitiesOf(plane)).toMatchObject([{ id: activity.id }]);
});

test('neither a volume grows nor a service goes while a task is held', async () => {
  const { plane, fleet } = await world();
  const web = service('web', { storage: { volumeRef: { name: 'data' } } });
  const data = (sizeGb: number) => volume('data', { sizeGb, expansion: 'PauseService' });
  await fleet.write('web.yaml', [web]);
  await fleet.write('data.yaml', [data(10)]);
  expect((await fleet.apply()).code).toBe(0);
  await fleet.write('task.yaml', [task('epoch')]);
  fleet.run();
  await fleet.until('ProtectedTask/epoch', 'Ready', 'True', 'Held');
  await fleet.write('data.yaml', [data(20)]);
  await fleet.until('ContainerService/web', 'Protected', 'True');
  expect(await plane.service('web')).toMatchObject({ state: 'running' });
  await fleet.remove('web.yaml');
  await fleet.until('ContainerService/web', 'Protected', 'True');
  await fleet.remove('task.yaml');
  await eventually('the service is gone', async () => (await plane.account()).services.length === 0);
});

// COVERAGE 74, 75
test('a manager that is killed goes on with the same activity, and stopping releases nothing', async () => {
  const { plane, fleet } = await world();
  await fleet.write('web.yaml', [service('web'), task('epoch')]);
  const first = fleet.run();
  await fleet.until('ProtectedTask/epoch', 'Ready', 'True', 'Held');
  const [before] = await activitiesOf(plane);
  await first.kill('SIGKILL');
  const startedAt = nowMs();
  const second = fleet.run();
  await eventually('another heartbeat', async () => {
    const [now] = await activitiesOf(plane);
    return now?.lastHeartbeatAt > before.lastHeartbeatAt;
  });
  expect(nowMs() - startedAt).toBeLessThan(15_000);
  await second.kill('SIGTERM');
  expect(await activitiesOf(plane)).toMatchObject([{ id: before.id }]);
});

const accidents: [string, (fleet: Fleet) => Promise<void>, string][] = [
  [
    'can not be read',
    (fleet) => fleet.write('epoch.yaml', [task('epoch', { until: 'never' })]),
    'InvalidSpec',
  ],
  ['went with many others', (fleet) => fleet.remove('tasks'), 'MassChangeBrake'],
];

for (const [what, happens, reason] of accidents) {
  testInFolder(`a task whose document ${what} is beaten for, by the next process, too`, async () => {
    const { plane, fleet } = await world();
    const names = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => `task-${name}`);
    await fleet.write('web.yaml', [service('web')]);
    await fleet.write('epoch.yaml', [task('epoch')]);
    for (const name of names) await fleet.write(`tasks/${name}.yaml`, [task(name)]);
    const first = fleet.run();
    await fleet.untilReady(8);
    const object = reason === 'InvalidSpec' ? 'epoch' : 'task-a';
    await happens(fleet);
    await fleet.until(`ProtectedTask/${object}`, 'Ready', 'False', reason);
    await first.kill('SIGKILL');
    const lastHeartbeat = async () =>
      (await activitiesOf(plane)).find(({ name }: { name: string }) => name === object)?.lastHeartbeatAt;
    const before = await lastHeartbeat();
    fleet.run();
    await eventually('another heartbeat', async () => (await lastHeartbeat()) > before, 15_000);
    expect(await activitiesOf(plane)).toHaveLength(7);
  });
}

test('a task whose service is gone does not wait for a release that nobody can answer', async () => {
  const { plane, fleet } = await world();
  await fleet.write('web.yaml', [service('web', { disruption: 'Always' })]);
  await fleet.write('task.yaml', [task('epoch')]);
  fleet.run();
  await fleet.until('ProtectedTask/epoch', 'Ready', 'True', 'Held');
  await fleet.remove('web.yaml');
  await eventually('the service is gone', async () => (await plane.account()).services.length === 0);
  await fleet.remove('task.yaml');
  await eventually('the task is gone', async () => !(await fleet.records()).has('ProtectedTask/epoch'));
});

const dayMs = 86_400_000;

testOnClock('a clock that is ahead for a while releases no task by its deadline', async () => {
  const { plane, fleet } = await world();
  await fleet.write('web.yaml', [service('web')]);
  await fleet.write('task.yaml', [
    task('epoch', { until: { deadline: new Date(nowMs() + 3 * dayMs).toISOString() } }),
  ]);
  expect((await fleet.apply()).code).toBe(0);
  const [before] = await activitiesOf(plane);
  await fleet.write('web.yaml', [service('web', { image: 'ghcr.io/acme/app:2' })]);
  ways.network?.putClocks(4 * dayMs);
  const { plan } = await fleet.plan();
  expect(plan.changes).toEqual([]);
  expect(plan.held).toMatchObject([{ reason: 'Protected' }]);
  const first = fleet.run();
  await fleet.until('ContainerService/web', 'Protected', 'True');
  await sleep(10 * 60_000);
  const { message } = await fleet.until('ProtectedTask/epoch', 'Ready', 'True', 'Held');
  expect(message).toContain('`Date`');
  await first.kill('SIGTERM');
  ways.network?.putClocks(0);
  fleet.run();
  await fleet.until('ContainerService/web', 'Protected', 'True');
  expect(await activitiesOf(plane)).toMatchObject([{ id: before.id }]);
});

testOnClock('a deadline releases a task at once when the API agrees', async () => {
  const { plane, fleet } = await world();
  await fleet.write('web.yaml', [service('web')]);
  const deadlineMs = nowMs() + 600_000;
  await fleet.write('task.yaml', [
    task('epoch', { until: { deadline: new Date(deadlineMs).toISOString() } }),
  ]);
  fleet.run();
  await fleet.until('ProtectedTask/epoch', 'Ready', 'True', 'Held');
  await fleet.write('web.yaml', [service('web', { image: 'ghcr.io/acme/app:2' })]);
  await fleet.until('ContainerService/web', 'Protected', 'True');
  await eventually('the release', async () => (await activitiesOf(plane)).length === 0, 700_000);
  expect(nowMs() - deadlineMs).toBeLessThan(15_000);
  await fleet.until('ContainerService/web', 'Protected', 'False');
});

test('a deadline that had passed before the task was registered is an error, also after the next run', async () => {
  const { plane, fleet } = await world();
  const wrong = task('epoch', { until: { deadline: '2025-12-03T06:00:00Z' } });
  await fleet.write('web.yaml', [service('web'), wrong]);
  const { plan } = await fleet.plan();
  expect(plan.held).toMatchObject([{ name: 'epoch', reason: 'InvalidSpec' }]);
  const applied = await fleet.apply();
  expect(applied.code).toBe(1);
  expect(await activitiesOf(plane)).toEqual([]);
  expect((await fleet.apply()).code).toBe(1);
  await fleet.write('web.yaml', [service('web', { image: 'ghcr.io/acme/app:2' }), wrong]);
  expect((await fleet.apply()).code).toBe(1);
  expect(await plane.service('web')).toMatchObject({ image: 'ghcr.io/acme/app:2' });
  await fleet.write('web.yaml', [
    service('web', { image: 'ghcr.io/acme/app:2' }),
    task('epoch', { until: { deadline: '2030-12-03T06:00:00Z' } }),
  ]);
  expect((await fleet.apply()).code).toBe(0);
  expect(await activitiesOf(plane)).toHaveLength(1);
});

testOnClock('so is a wrong year for a service that is there for long', async () => {
  const { fleet } = await world();
  await fleet.write('web.yaml', [service('web')]);
  expect((await fleet.apply()).code).toBe(0);
  await sleep(2 * 60_000);
  await fleet.write('task.yaml', [task('epoch', { until: { deadline: '2001-12-03T06:00:00Z' } })]);
  expect((await fleet.plan()).plan.held).toMatchObject([{ name: 'epoch', reason: 'InvalidSpec' }]);
});

testOnClock(
  'a task that a deadline has ended is over, also when its document was away for a while',
  async () => {
    const { fleet } = await world();
    const until = { deadline: new Date(nowMs() + 60_000).toISOString() };
    await fleet.write('web.yaml', [service('web')]);
    await fleet.write('task.yaml', [task('epoch', { until })]);
    expect((await fleet.apply()).code).toBe(0);
    await sleep(2 * 60_000);
    expect((await fleet.apply()).code).toBe(0);
    await fleet.remove('task.yaml');
    expect((await fleet.apply()).code).toBe(0);
    await sleep(2 * 60_000);
    await fleet.write('task.yaml', [task('epoch', { until })]);
    expect((await fleet.plan()).plan.held).toEqual([]);
    expect((await fleet.apply()).code).toBe(0);
  },
);

testOnClock('a plan shows the release by a deadline that has passed while nothing ran', async () => {
  const { fleet } = await world();
  const until = { deadline: new Date(nowMs() + 60_000).toISOString() };
  await fleet.write('web.yaml', [service('web'), task('epoch', { until })]);
  expect((await fleet.apply()).code).toBe(0);
  await sleep(2 * 60_000);
  expect((await fleet.plan()).plan.changes).toMatchObject([{ kind: 'ProtectedTask', action: 'release' }]);
});
