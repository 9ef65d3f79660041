/** What a plan shows of changes that a task holds back, and of its end: it is what `apply` does. */
import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { service, task, testInFolder, type Json } from '../support/processes/fleet.ts';
import { PlanFileWorld } from '../support/processes/plan-files.ts';
import { fleetkeeper } from '../support/processes/processes.ts';

const image = 'ghcr.io/acme/app:2';
const released = ['ProtectedTask/default/epoch'];

const protectedWorld = async () => (await PlanFileWorld.open()).with(service('web'), task('epoch'));

const declare = ({ fleet }: PlanFileWorld, documents: readonly object[]) =>
  documents.length > 0 ? fleet.write('all.yaml', documents) : fleet.remove('all.yaml');

const shownIn = ({ changes, held }: Json) => [
  ...changes.map(({ action, kind, name }: Json) => `${action} ${kind}/${name}`),
  ...held.map(({ reason, kind, name }: Json) => `${reason} ${kind}/${name}`),
];

const cases: [string, object[], string[], object, number, string[]][] = [
  [
    'the removal of both',
    [],
    ['delete ContainerService/web', 'release ProtectedTask/epoch'],
    { create: 0, update: 1, delete: 1, held: 0 },
    -13_500,
    ['POST /api/services/ID/actions'],
  ],
  [
    'an edit, and the removal of the task',
    [service('web', { image })],
    ['update ContainerService/web', 'release ProtectedTask/epoch'],
    { create: 0, update: 2, delete: 0, held: 0 },
    0,
    ['PATCH /api/services/ID'],
  ],
  [
    'an edit, and a task that is released',
    [service('web', { image }), task('epoch', { released: true })],
    ['update ContainerService/web', 'release ProtectedTask/epoch'],
    { create: 0, update: 2, delete: 0, held: 0 },
    0,
    ['PATCH /api/services/ID'],
  ],
  [
    'a replacement that is to be stopped, and the removal of the task',
    [service('web', { region: 'economy', replacement: 'Recreate', desiredState: 'Stopped' })],
    ['replace ContainerService/web', 'stop ContainerService/web', 'release ProtectedTask/epoch'],
    { create: 0, update: 2, replace: 1, delete: 0, held: 0 },
    -6800,
    ['POST /api/services', 'POST /api/services/ID/actions', 'POST /api/services/NEW/actions'],
  ],
  [
    'other names of both',
    [service('api'), task('run', { serviceRef: { name: 'api' } })],
    [
      'create ContainerService/api',
      'delete ContainerService/web',
      'release ProtectedTask/epoch',
      'protect ProtectedTask/run',
    ],
    { create: 2, update: 1, delete: 1, held: 0 },
    0,
    ['POST /api/services', 'POST /api/services/ID/actions'],
  ],
  [
    'the removal of the task',
    [service('web')],
    ['release ProtectedTask/epoch'],
    { update: 1, held: 0 },
    0,
    [],
  ],
];

for (const [what, documents, shown, summary, deltaMicros, requests] of cases) {
  testInFolder(`${what}: the plan shows all that is done, and prices it`, async () => {
    const world = await protectedWorld();
    const { id } = await world.plane.service('web');
    await declare(world, documents);
    const { code, plan } = await world.fleet.plan();
    expect([code, shownIn(plan)]).toEqual([2, shown]);
    expect(plan.summary).toMatchObject(summary);
    const follows = plan.changes.find(({ name }: Json) => name === 'web');
    expect(follows?.after).toEqual(requests.length > 0 ? released : undefined);
    const isGone = shown.some((change) => /^(delete|replace) ContainerService.web$/.test(change));
    expect(plan.cost.deltaHourlyMicros).toBe(deltaMicros);
    const { stdout } = await fleetkeeper(['plan', ...world.fleet.flags]);
    const line = 'once ProtectedTask default/epoch is released';
    expect(stdout.includes(line)).toBe(requests.length > 0);

    await world.plane.forgetRequests();
    const applied = await world.fleet.apply();
    expect([applied.code, applied.stdout.includes(line)]).toEqual([0, requests.length > 0]);
    const { services } = await world.plane.account();
    const newId = services[0]?.id ?? 'none';
    const sent = (await world.sent()).filter((request) => !request.endsWith('/activity'));
    expect(sent.map((request) => request.replace(id, 'ID').replace(newId, 'NEW')).toSorted()).toEqual(
      requests,
    );
    expect(services.some((one: Json) => one.id === id)).toBe(!isGone);
    expect((await world.fleet.plan()).plan.changes).toEqual([]);
  });
}

testInFolder('a plan file of a removal of both has the deletion, and does it', async () => {
  const world = await protectedWorld();
  await declare(world, []);
  const { plan, stdout } = await world.plan('--output', 'markdown');
  expect(stdout).toContain('**delete**: `once ProtectedTask default/epoch is released`');
  expect(plan.summary).toMatchObject({ delete: 1, held: 0 });
  expect(plan.objects).toMatchObject([
    { key: 'ContainerService/default/web', waits: 'Releasing', steps: [{ action: 'delete-service' }] },
    { key: 'ProtectedTask/default/epoch', steps: [{ action: 'release' }] },
  ]);
  expect((await world.apply()).code).toBe(0);
  expect((await world.plane.account()).services).toEqual([]);
});

testInFolder('an activity of somebody else keeps the change held, whatever tasks are released', async () => {
  const world = await protectedWorld();
  const { id } = await world.plane.service('web');
  const path = `/api/services/${id}/activity`;
  await world.plane.call('POST', path, { id: randomUUID(), name: 'by hand' });
  for (const documents of [[], [service('web', { image }), task('epoch', { released: true })]]) {
    await declare(world, documents);
    const { code, plan } = await world.fleet.plan();
    expect([code, shownIn(plan)]).toEqual([
      2,
      ['release ProtectedTask/epoch', 'Protected ContainerService/web'],
    ]);
    expect(plan.cost.deltaHourlyMicros).toBe(0);
    const { plan: file } = await world.plan();
    expect(file.objects[0]).toMatchObject({ key: 'ContainerService/default/web', waits: 'Protected' });
  }
});

testInFolder(
  'what `disruption: Always` interrupts is shown as protected, where `apply` asks, too',
  async () => {
    const world = await protectedWorld();
    await world.fleet.write('all.yaml', [service('web', { image, disruption: 'Always' }), task('epoch')]);
    const { stdout } = await fleetkeeper(['plan', ...world.fleet.flags]);
    const line = '\n      although protected by the activity "epoch" (';
    expect(stdout).toContain(line);
    const unasked = await fleetkeeper(['apply', ...world.fleet.flags]);
    expect([unasked.code, unasked.stdout]).toEqual([1, expect.stringContaining(line)]);
  },
);

testInFolder('another task that goes on keeps the change held', async () => {
  const world = await protectedWorld();
  await world.fleet.write('all.yaml', [service('web', { image }), task('next')]);
  const { plan } = await world.fleet.plan();
  expect(shownIn(plan)).toEqual([
    'release ProtectedTask/epoch',
    'protect ProtectedTask/next',
    'Protected ContainerService/web',
  ]);
});
