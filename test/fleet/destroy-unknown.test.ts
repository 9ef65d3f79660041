/** `destroy` and `apply` after one that was killed while nobody knew what became of its request. */
import { expect, test } from 'vitest';
import { ControlPlane, isMutation, keysWithTwoBodies } from '../support/processes/control-plane.ts';
import {
  account,
  createFleet,
  isInCluster,
  service,
  testInFolder,
  volume,
} from '../support/processes/fleet.ts';
import {
  eventually,
  fleetkeeper,
  launch,
  nowMs,
  sleep,
  temporaryFolder,
} from '../support/processes/processes.ts';
import { Proxy } from '../support/processes/proxy.ts';
import { isSimulated } from '../support/world.ts';

async function world(spec: object = {}, timeScale = 60) {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder, { timeScale }).start();
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(plane.url, spec));
  const destroy = (...flags: string[]) =>
    fleetkeeper(['destroy', ...fleet.flags, '--settle', '1s', ...flags]);
  /** As kill -9 does, when the fault has hit its first creation. */
  const killedApply = async (fault: object) => {
    await plane.faults([{ method: 'POST', path: '^/api/(services|volumes)$', times: 1, ...fault }]);
    const apply = launch(['apply', ...fleet.flags, '--yes', '--settle', '1s']);
    await eventually('a creation', async () => (await plane.faultHits()) > 0);
    await apply.kill('SIGKILL');
  };
  return { plane, fleet, destroy, killedApply };
}

/** At the provider, and in the state; and keys that were sent with two bodies. */
async function left({ plane, fleet }: Pick<Awaited<ReturnType<typeof world>>, 'plane' | 'fleet'>) {
  const { services, volumes } = await plane.account();
  const records = [...(await fleet.records()).keys()].filter((name) => name !== 'Account/default');
  return [...services, ...volumes, ...records, ...keysWithTwoBodies(await plane.requests())];
}

const data = volume('data', { deletionPolicy: 'Delete' });
const web = service('web', { storage: { volumeRef: { name: 'data' } } });

test.skipIf(isInCluster).each([
  { what: 'whose answer was lost', fault: { fault: 'drop-response' } },
  { what: 'that takes effect later', fault: { fault: 'delay', delayMs: 8000 } },
])('what a creation made $what is found and destroyed', async ({ fault }) => {
  for (const documents of [[service('web')], [data, web]]) {
    const there = await world();
    await there.fleet.write('all.yaml', documents);
    await there.killedApply(fault);
    const { code, stderr } = await there.destroy('--yes');
    expect([code, stderr]).toEqual([0, expect.stringContaining('OutcomeUnknown')]);
    expect(await left(there)).toEqual([]);
  }
});

testInFolder('what reads show late is destroyed, too', async () => {
  const there = await world();
  const proxy = await new Proxy(there.plane.url).start();
  await there.fleet.write('account.yaml', account(proxy.url));
  await there.fleet.write('web.yaml', [service('web')]);
  await there.killedApply({ fault: 'drop-response' });
  const shownFromMs = nowMs() + 20_000;
  proxy.hides = () => nowMs() < shownFromMs;
  expect((await there.destroy('--yes')).code).toBe(0);
  expect(nowMs()).toBeGreaterThan(shownFromMs);
  expect(await left(there)).toEqual([]);
});

testInFolder('a creation that never arrived is forgotten when it can not arrive any more', async () => {
  const there = await world({ visibilitySeconds: 30 });
  await there.fleet.write('web.yaml', [service('web')]);
  await there.killedApply({ fault: 'drop-request' });
  const early = await there.destroy('--yes', '--timeout', '15s');
  expect([early.code, early.stderr]).toEqual([
    1,
    expect.stringMatching(/not all objects are gone after 15 s.*`visibilitySeconds`.*--timeout/),
  ]);
  expect((await there.destroy('--yes')).code).toBe(0);
  expect(await left(there)).toEqual([]);
});

test.skipIf(isInCluster).each(['apply', 'destroy'])(
  '%s asks where an outcome is not known yet',
  async (command) => {
    const { plane, fleet, killedApply } = await world();
    await fleet.write('web.yaml', [service('web')]);
    await killedApply({ fault: 'drop-response' });
    const before = await fleet.records();
    await plane.forgetRequests();
    const { code, stdout, stderr } = await fleetkeeper([command, ...fleet.flags, '--settle', '1s']);
    expect([code, stdout, stderr]).toEqual([
      1,
      expect.stringMatching(/\? ContainerService default\/web {2}OutcomeUnknown\n.*looking for evidence/),
      expect.stringContaining('pass --yes'),
    ]);
    expect((await plane.requests()).filter(isMutation)).toEqual([]);
    expect(await fleet.records()).toEqual(before);
    const { plan, code: planned } = await fleet.plan();
    expect([planned, plan.unclear]).toMatchObject([2, [{ name: 'web', reason: 'OutcomeUnknown' }]]);
    expect(plan.unclear[0]?.message).not.toContain('deleted');
    await fleet.remove('web.yaml');
    const { plan: withoutIt } = await fleet.plan();
    expect(withoutIt.unclear).toMatchObject([
      { name: 'web', message: expect.stringContaining('Its document is gone: once that is known') },
    ]);
  },
);

testInFolder('apply asks before it changes what is still being made', async () => {
  const { plane, fleet } = await world({}, 0.2);
  await fleet.write('web.yaml', [service('web')]);
  const first = launch(['apply', ...fleet.flags, '--yes']);
  // The answer has to be recorded: the service is there before that, and a kill between the two leaves an unknown outcome.
  await fleet.until('ContainerService/web', 'Ready', 'False', 'Provisioning');
  await first.kill('SIGKILL');
  await fleet.write('web.yaml', [service('web', { image: 'ghcr.io/acme/app:2' })]);
  await plane.forgetRequests();
  const { code, stdout, stderr } = await fleetkeeper(['apply', ...fleet.flags]);
  expect([code, stdout, stderr]).toEqual([
    1,
    expect.stringContaining('default/web  Provisioning'),
    expect.stringContaining('pass --yes'),
  ]);
  expect((await plane.requests()).filter(isMutation)).toEqual([]);
});

testInFolder(
  'an account that suddenly shows nothing does not make destroy forget what is there',
  async () => {
    const { plane, fleet, destroy } = await world();
    const proxy = await new Proxy(plane.url).start();
    await fleet.write('account.yaml', account(proxy.url));
    await fleet.write('all.yaml', [service('a'), service('b')]);
    expect((await fleet.apply()).code).toBe(0);
    const { services } = await plane.account();
    const before = await fleet.records();
    proxy.hides = () => true;
    const refused = await destroy('--yes');
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringMatching(
        /does not show 2 of 2 objects .*would forget them: nothing was changed[^]*--allow-mass-change/,
      ),
    ]);
    expect(await fleet.records()).toEqual(before);
    await fleet.remove('all.yaml');
    const applied = await fleet.apply();
    expect([applied.code, applied.stderr]).toEqual([1, expect.stringContaining('apply would forget them')]);
    await fleet.write('all.yaml', [service('a'), service('b')]);
    proxy.hides = () => false;
    // One may have gone by itself, but that is asked, too.
    await plane.call('POST', `/api/services/${services[0].id}/actions`, { action: 'delete' });
    await eventually('one is gone', async () => (await plane.account()).services.length === 1);
    const asked = await destroy();
    expect([asked.code, asked.stdout]).toEqual([
      1,
      expect.stringMatching(/ConfirmingAbsence\n.*does not show it any more/),
    ]);
    await plane.call('POST', `/api/services/${services[1].id}/actions`, { action: 'delete' });
    await eventually('both are gone', async () => (await plane.account()).services.length === 0);
    expect((await destroy('--yes')).code).toBe(1);
    expect((await destroy('--yes', '--allow-mass-change')).code).toBe(0);
    expect(await left({ plane, fleet })).toEqual([]);
  },
);

// On a real clock it would last too long.
test.skipIf(!isSimulated || isInCluster)(
  'an outcome that has been unknown for an hour is looked for all the same',
  async () => {
    for (const fault of ['drop-response', 'drop-request']) {
      const there = await world();
      const { plane, fleet, destroy, killedApply } = there;
      await fleet.write('web.yaml', [service('web')]);
      await killedApply({ fault });
      await sleep(50 * 60_000);
      expect((await fleet.apply()).code).toBe(0);
      expect((await plane.account()).services).toHaveLength(1);
      expect((await destroy('--yes')).code).toBe(0);
      expect(await left(there)).toEqual([]);
      await killedApply({ fault });
      await sleep(50 * 60_000);
      // Also one that never arrived: the default of --timeout is longer than that of visibilitySeconds.
      expect((await destroy('--yes')).code).toBe(0);
      expect(await left(there)).toEqual([]);
    }
  },
);
