/** Commands that read once and end: a failure that may pass is waited for, within `--timeout`; any other one ends them at once. */
import path from 'node:path';
import { describe, expect } from 'vitest';
import { apiVersion } from '../../src/resources/index.ts';
import { apiKey } from '../support/processes/control-plane.ts';
import { service, testInFolder } from '../support/processes/fleet.ts';
import { PlanFileWorld } from '../support/processes/plan-files.ts';
import { fleetkeeper, type Finished } from '../support/processes/processes.ts';
import { world as clockOf } from '../support/world.ts';

const read = { method: 'GET', path: '.*' };
const failures = [
  ['a 429', { fault: 'status', status: 429, retryAfter: 1 }],
  ['a 500', { fault: 'status', status: 500 }],
  ['a 502', { fault: 'status', status: 502 }],
  ['a 503', { fault: 'status', status: 503 }],
  ['a request that is lost', { fault: 'drop-request' }],
  ['an answer that is lost', { fault: 'drop-response' }],
] as const;

/** With the documents of `web` and `api`, of which only `web` is there. */
async function opened(): Promise<PlanFileWorld> {
  const world = await (await PlanFileWorld.open()).with(service('web'));
  await world.fleet.write('all.yaml', [service('web'), service('api')]);
  return world;
}

/** How many reads were sent. */
async function reads({ plane }: PlanFileWorld): Promise<number> {
  return (await plane.requests()).filter(({ method }) => method === 'GET').length;
}

async function inventory({ plane }: PlanFileWorld, ...flags: string[]): Promise<Finished> {
  return fleetkeeper(['inventory', '--all', ...flags], {
    FLEETKEEPER_API_URL: plane.url,
    FLEETKEEPER_API_KEY: apiKey,
  });
}

async function isRepeatedByPlan([, fault]: (typeof failures)[number]): Promise<void> {
  const world = await opened();
  await world.plane.faults([{ ...read, times: 2, ...fault }]);
  const { code, stdout, stderr } = await fleetkeeper(['plan', ...world.fleet.flags, '--timeout', '15s']);
  expect([code, stdout, stderr]).toEqual([2, expect.stringContaining('1 to create'), '']);
}

async function isRepeatedByInventory([, fault]: (typeof failures)[number]): Promise<void> {
  const world = await opened();
  await world.plane.faults([{ ...read, times: 2, ...fault }]);
  const { code, stdout, stderr } = await inventory(world, '--timeout', '15s');
  expect([code, stdout, stderr]).toEqual([0, expect.stringContaining('web'), '']);
}

describe('one read that fails', () => {
  testInFolder.for(failures)('with %s is repeated by `plan`', isRepeatedByPlan);
  testInFolder.for(failures)('with %s is repeated by `inventory`', isRepeatedByInventory);

  testInFolder('of a list beside the account is repeated by `plan`', async () => {
    const world = await opened();
    const template = {
      apiVersion,
      kind: 'ServiceTemplate',
      metadata: { name: 'base' },
      spec: { image: 'a:1' },
    };
    await world.fleet.write('all.yaml', [
      template,
      service('web'),
      service('api', { templateRef: { name: 'base' } }),
    ]);
    await world.plane.faults([
      { method: 'GET', path: '/api/templates', times: 1, fault: 'status', status: 503 },
    ]);
    const { code, stdout } = await fleetkeeper(['plan', ...world.fleet.flags, '--timeout', '15s']);
    expect([code, stdout]).toEqual([2, expect.stringContaining('2 to create')]);
  });

  testInFolder('is repeated by `apply`, with a plan file and without, and by `import`', async () => {
    const world = await opened();
    await world.plan();
    await world.plane.faults([{ ...read, times: 1, fault: 'status', status: 503 }]);
    expect(await world.apply()).toMatchObject({ code: 0, sent: ['POST /api/services'] });
    await world.fleet.write('all.yaml', [service('web'), service('api'), service('new')]);
    await world.plane.faults([{ ...read, times: 1, fault: 'status', status: 503 }]);
    expect((await world.fleet.apply()).code).toBe(0);
    await world.plane.faults([{ ...read, times: 1, fault: 'status', status: 503 }]);
    const folder = path.join(path.dirname(world.file), 'imported');
    const imported = await fleetkeeper(['import', '--all', '-o', folder], {
      FLEETKEEPER_API_URL: world.plane.url,
      FLEETKEEPER_API_KEY: apiKey,
    });
    expect([imported.code, imported.stdout]).toEqual([0, expect.stringContaining('4 document(s)')]);
  });
});

const refusals = [
  ['a key that is not accepted', { status: 401 }],
  ['a right that is missing', { status: 403 }],
  ['a pause that is longer than the time', { status: 429, retryAfter: 600 }],
] as const;

async function endAtOnce([, answer]: (typeof refusals)[number]): Promise<void> {
  const world = await opened();
  await world.plane.faults([{ ...read, fault: 'status', ...answer }]);
  await endsSoon(world);
}

/** Within what a few reads take. */
async function endsSoon(world: PlanFileWorld): Promise<void> {
  const begunMs = clockOf.nowMs();
  const { code, stderr } = await fleetkeeper(['plan', ...world.fleet.flags, '--timeout', '5m']);
  expect([code, stderr]).toEqual([1, expect.stringContaining("the account can't be read")]);
  expect((await inventory(world, '--timeout', '5m')).code).toBe(1);
  expect(clockOf.nowMs() - begunMs).toBeLessThan(20_000);
}

async function endAfterOneThatMayPass([, answer]: readonly [string, object]): Promise<void> {
  const world = await opened();
  await world.plane.faults([
    { ...read, times: 1, fault: 'status', status: 503 },
    { ...read, fault: 'status', ...answer },
  ]);
  await endsSoon(world);
}

describe('reads that always fail', () => {
  testInFolder('leave objects unseen, which the JSON counts, and no output takes for done', async () => {
    const world = await opened();
    await world.plane.faults([{ ...read, fault: 'status', status: 401 }]);
    const { code, plan } = await world.fleet.plan();
    expect([code, plan.summary.unseen, plan.summary.waiting]).toEqual([1, 2, 2]);
    expect(plan.unclear).toHaveLength(2);
    const counts = "Nothing is known: 2 not observed: their account can't be read.";
    const text = await fleetkeeper(['plan', ...world.fleet.flags]);
    expect([text.code, text.stdout.trim()]).toEqual([1, counts]);
    const markdown = await fleetkeeper(['plan', ...world.fleet.flags, '-o', 'markdown']);
    expect(markdown.stdout).toContain(counts);
    expect(markdown.stdout.match(/status 401|with 401/g)).toHaveLength(1);
  });

  testInFolder('are repeated until the time is over, and then the failure is what is reported', async () => {
    const world = await opened();
    await world.plane.faults([{ ...read, fault: 'status', status: 503 }]);
    await world.plane.forgetRequests();
    const planned = await fleetkeeper(['plan', ...world.fleet.flags, '--timeout', '15s']);
    expect([planned.code, planned.stderr]).toEqual([1, expect.stringContaining("the account can't be read")]);
    expect(await reads(world)).toBeGreaterThan(3);
    await world.plane.forgetRequests();
    const shown = await inventory(world, '--timeout', '15s');
    expect([shown.code, shown.stderr]).toEqual([1, expect.stringContaining('status 503')]);
    expect(await reads(world)).toBeGreaterThan(3);
  });

  testInFolder.for(refusals)('because of %s end the commands at once', endAtOnce);

  testInFolder.for([...refusals, ['an answer that is not read', { status: 200 }] as const])(
    'because of %s, after one that may pass, end the commands then',
    endAfterOneThatMayPass,
  );

  testInFolder('because nobody listens end the commands at once', async () => {
    const world = await opened();
    await world.plane.stop();
    await endsSoon(world);
  });
});
