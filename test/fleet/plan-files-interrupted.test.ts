/** Plan files that are not applied in one go: kill -9, a time that is over, changes meanwhile, other keys and machines. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect } from 'vitest';
import { account, service, testInFolder, type Json, testInTime } from '../support/processes/fleet.ts';
import { apiKey, isMutation } from '../support/processes/control-plane.ts';
import { PlanFileWorld, stepsIn } from '../support/processes/plan-files.ts';
import { eventually, fleetkeeper } from '../support/processes/processes.ts';

const image = 'ghcr.io/acme/app:2';
const names = ['a', 'b', 'c', 'd', 'e', 'f'];
const noCapacity = {
  method: 'POST',
  path: '/api/services$',
  fault: 'status',
  status: 409,
  code: 'capacity_unavailable',
};

const progressOf = async ({ fleet }: PlanFileWorld): Promise<Json> =>
  JSON.parse((await fleetkeeper(['status', ...fleet.flags, '-o', 'json'])).stdout).planFile;

describe('kill -9 in the middle', () => {
  testInFolder('of changes: the same file continues, and no step is done twice', async () => {
    const spec = { requests: { perSecond: 5, burst: 1, concurrency: 1 } };
    const before = names.map((name) => service(name));
    const world = await (await PlanFileWorld.open(spec)).with(...before);
    const after = names.map((name) => service(name, { image, sleepAfterMinutes: 30 }));
    await world.fleet.write('all.yaml', [...after, service('new')]);
    const { plan } = await world.plan();
    expect(stepsIn(plan)['ContainerService/a']).toEqual(['patch-service', 'set-sleep-policy']);
    await world.plane.forgetRequests();
    const first = world.begin();
    await eventually('some requests', async () => (await world.sent()).length >= 5);
    await first.kill('SIGKILL');
    const untilThen = await world.plane.requests();
    expect((await world.sent()).length).toBeLessThan(13);
    expect(await progressOf(world)).toMatchObject({ digest: plan.digest, left: expect.any(Number) });
    const second = await world.apply();
    expect([second.code, second.stderr]).toEqual([0, expect.not.stringContaining('steps are left')]);
    expect(await progressOf(world)).toBeUndefined();
    const { services } = await world.plane.account();
    expect(services).toHaveLength(7);
    const keys = Map.groupBy(
      [...untilThen, ...(await world.plane.requests())].filter(isMutation),
      ({ method, path: where }) => `${method} ${where}`,
    );
    expect(keys.size).toBe(13);
    // A repetition has the key of the first request, and no effect of its own.
    for (const [where, requests] of keys)
      expect([where, new Set(requests.map(({ idempotencyKey }) => idempotencyKey)).size]).toEqual([where, 1]);
    expect(await world.apply()).toMatchObject({ code: 3, sent: [] });
  });

  testInFolder('what somebody undid meanwhile is not done a second time', async () => {
    const world = await (await PlanFileWorld.open()).with(service('web'), service('api'));
    await world.fleet.write('all.yaml', [service('web', { image }), service('api', { image })]);
    await world.plan();
    const { id } = await world.plane.service('web');
    await world.plane.faults([
      { method: 'PATCH', path: `/api/services/(?!${id})`, fault: 'status', status: 503 },
    ]);
    const first = world.begin();
    await eventually('web patched', async () => (await world.plane.service('web')).image === image);
    // What is killed before that does not know whether its request took effect.
    await eventually('web recorded', async () => {
      const { generation, status } = (await world.fleet.records()).get('ContainerService/web') ?? {};
      const [ready] = status?.conditions ?? [];
      return generation === 2 && status?.observedGeneration === 2 && ready?.status === 'True';
    });
    await first.kill('SIGKILL');
    await world.plane.faults([]);
    const { revision } = await world.plane.service('web');
    await world.plane.call('PATCH', `/api/services/${id}`, {
      revision,
      patch: { image: 'ghcr.io/acme/app:1' },
    });
    await world.pause(5000);
    const { code, sent, stderr } = await world.apply();
    expect([code, sent.filter((one) => one.includes(id))]).toEqual([3, []]);
    expect(stderr).toContain('not in the plan file, and not done: ContainerService default/web');
  });
});

describe('the time is over', () => {
  testInFolder(
    'while there is no capacity: exit 5, and the same file continues when it returns',
    async () => {
      const world = await PlanFileWorld.open();
      await world.fleet.write('all.yaml', [service('web')]);
      await world.plan();
      await world.plane.faults([noCapacity]);
      const late = await world.apply('--timeout', '20s');
      expect([late.code, late.stderr]).toEqual([
        5,
        expect.stringMatching(
          /1 of 1 steps are left \(ContainerService default\/web\); the same file continues until/,
        ),
      ]);
      expect(await progressOf(world)).toMatchObject({ done: 0, left: 1 });
      await world.plane.faults([]);
      expect(await world.apply('--timeout', '30m')).toMatchObject({ code: 0 });
      expect((await world.plane.account()).services).toHaveLength(1);
      expect(await world.apply()).toMatchObject({ code: 3, sent: [] });
    },
  );

  testInTime('of the file itself: no step begins any more, and that is exit 5', async () => {
    const world = await PlanFileWorld.open();
    await world.fleet.write('all.yaml', [service('web'), service('api')]);
    await world.plan('--expires', '15m');
    await world.plane.faults([noCapacity]);
    const running = world.begin('--timeout', '2h');
    await world.pause(16 * 60_000);
    await world.plane.faults([]);
    await world.plane.forgetRequests();
    const { code, stderr } = await running.finished();
    expect([code, await world.sent()]).toEqual([5, []]);
    expect(stderr).toContain('2 of 2 steps are left');
    expect(await world.apply()).toMatchObject({ code: 3, sent: [] });
  });
});

describe('while a file is applied', () => {
  testInFolder('somebody changes an object of it: what the file lacks is not sent', async () => {
    const world = await (await PlanFileWorld.open()).with(service('web'));
    await world.fleet.write('all.yaml', [service('web', { image, resources: { cpu: 2, memoryGb: 2 } })]);
    await world.plan();
    await world.plane.forgetRequests();
    const { id } = await world.plane.service('web');
    await world.plane.faults([{ method: 'POST', path: '/actions$', fault: 'status', status: 503 }]);
    const running = world.begin();
    await eventually('the first step', async () => (await world.plane.service('web')).image === image);
    await world.pause(5000);
    const { revision } = await world.plane.service('web');
    const other = { revision, patch: { image: 'ghcr.io/them/app:9' } };
    await world.plane.call('PATCH', `/api/services/${id}`, other);
    await world.plane.faults([]);
    const { code, stderr } = await running.finished();
    const patches = (await world.sent()).filter((one) => one.startsWith('PATCH'));
    // One of the file, and that of somebody else.
    expect([code, patches.length, stderr]).toEqual([3, 2, expect.any(String)]);
    expect(stderr).toContain('not in the plan file, and not done: ContainerService default/web');
    expect((await world.plane.service('web')).image).toBe('ghcr.io/them/app:9');
  });

  testInFolder('the source changes: the next run sees it', async () => {
    const world = await (await PlanFileWorld.open()).with(service('web'));
    await world.fleet.write('all.yaml', [service('web', { image, resources: { cpu: 2, memoryGb: 2 } })]);
    await world.plan();
    const running = world.begin();
    await eventually('the first step', async () => (await world.plane.service('web')).image === image);
    await world.fleet.write('all.yaml', [service('web', { image: 'ghcr.io/acme/app:3' }), service('api')]);
    expect((await running.finished()).code).toBe(0);
    expect(await world.plane.service('web')).toMatchObject({ image, resources: { cpu: 2 } });
    expect((await world.plane.account()).services).toHaveLength(1);
  });

  testInFolder('another apply is refused by the lock of the state', async () => {
    const world = await PlanFileWorld.open();
    await world.fleet.write('all.yaml', [service('web')]);
    await world.plan();
    await world.plane.faults([noCapacity]);
    const running = world.begin('--timeout', '10m');
    await eventually('a request', async () => (await world.sent()).length > 0);
    const second = await fleetkeeper(['apply', world.file, ...world.fleet.flags]);
    expect(second).toMatchObject({ code: 1, stderr: expect.stringContaining('in use') });
    await running.kill('SIGKILL');
  });
});

describe('another key, account or machine', () => {
  const accounts = `accounts:
  - {name: acme, email: a@b.example, balanceMicros: 1000000000, apiKeys: [${apiKey}, second-key-0123456789abcdef]}
  - {name: other, email: c@d.example, balanceMicros: 1000000000, apiKeys: [third-key-0123456789abcdefgh]}`;
  const withKey = (url: string, key: string) =>
    JSON.parse(JSON.stringify(account(url)).replaceAll(apiKey, key)) as object[];

  testInFolder('the API key was replaced: values can not be compared, and that is the message', async () => {
    const world = await PlanFileWorld.open({}, { accounts });
    await world.fleet.write('all.yaml', [service('web', { env: [{ name: 'A', value: '1' }] })]);
    await world.plan();
    await world.fleet.write('account.yaml', withKey(world.plane.url, 'second-key-0123456789abcdef'));
    const { code, sent, stderr } = await world.apply();
    expect([code, sent, stderr]).toEqual([3, [], expect.stringContaining('the API key was replaced since')]);
  });

  testInFolder('the API key was replaced, and the file has no value: it is applied', async () => {
    const world = await PlanFileWorld.open({}, { accounts });
    await world.fleet.write('all.yaml', [service('web')]);
    await world.plan();
    await world.fleet.write('account.yaml', withKey(world.plane.url, 'second-key-0123456789abcdef'));
    expect(await world.apply()).toMatchObject({ code: 0 });
  });

  async function isRefused(state: string): Promise<void> {
    const world = await PlanFileWorld.open({}, { accounts });
    if (state === 'known') await world.with(service('api'));
    await world.fleet.write('all.yaml', [service('api'), service('web')]);
    await world.plan();
    await world.fleet.write('account.yaml', withKey(world.plane.url, 'third-key-0123456789abcdefgh'));
    const { code, sent, stderr } = await world.apply();
    expect([code, sent, stderr]).toEqual([
      3,
      [],
      expect.stringMatching(/another account|IdentityChanged|belongs/),
    ]);
  }

  testInFolder.for(['known', 'new'])(
    'the key belongs to another account, and the state is %s: it is refused',
    isRefused,
  );

  testInFolder('a CI plans in one job and applies in another, each without a state file', async () => {
    const world = await PlanFileWorld.open();
    const key = path.join(path.dirname(world.file), 'digest.key');
    await writeFile(key, 'k'.repeat(40));
    const job = (name: string) => [
      '--source',
      world.fleet.folder,
      '--digest-key-file',
      key,
      '--state',
      `${world.file}.${name}.db`,
    ];
    const documents = (value: string) => [service('web', { env: [{ name: 'A', value }] })];
    for (const [round, value] of ['one', 'two'].entries()) {
      await world.fleet.write('all.yaml', documents(value));
      await fleetkeeper(['plan', ...job(`plan-${round}`), '--out', world.file]);
      await world.plane.forgetRequests();
      const { code } = await fleetkeeper([
        'apply',
        world.file,
        ...job(`apply-${round}`),
        '--settle',
        '1s',
        '--stable',
        '500ms',
      ]);
      expect([code, await world.sent()]).toEqual([
        0,
        [expect.stringMatching(round === 0 ? /^POST/ : /^PATCH/)],
      ]);
    }
    // Without the state, nobody knows that the file was completed; nothing is left of it.
    await world.plane.forgetRequests();
    const again = await fleetkeeper([
      'apply',
      world.file,
      ...job('apply-again'),
      '--settle',
      '1s',
      '--stable',
      '500ms',
    ]);
    expect([again.code, await world.sent()]).toEqual([0, []]);
  });
});
