/** What no evidence tells, on a control plane that shows less than ours. */
import { expect, test } from 'vitest';
import { ControlPlane, isMutation, keysWithTwoBodies } from '../support/processes/control-plane.ts';
import { account, createFleet, type Fleet, service } from '../support/processes/fleet.ts';
import { eventually, fleetkeeper, nowMs, sleep, temporaryFolder } from '../support/processes/processes.ts';
import { Proxy } from '../support/processes/proxy.ts';

const env = [{ name: 'MODE', value: 'train' }];

/** Names of variables are hidden, and with them the beacon. */
async function nameless(): Promise<{ plane: ControlPlane; proxy: Proxy; fleet: Fleet }> {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const proxy = await new Proxy(plane.url).start();
  proxy.edit = ({ environmentNames: _hidden, ...shown }) => shown;
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(proxy.url));
  return { plane, proxy, fleet };
}

const lostAnswer = { method: 'POST', path: '^/api/services$', fault: 'drop-response', times: 1 };
const resolve = (fleet: Fleet, ...args: string[]) =>
  fleetkeeper(['resolve', ...args, '--namespace', fleet.namespace, ...fleet.flags]);

test('a creation that nobody can find waits for a person, who says what it made', async () => {
  const { plane, fleet } = await nameless();
  await plane.faults([lostAnswer]);
  await fleet.write('web.yaml', [service('web', { env })]);
  fleet.run();
  const stalled = await fleet.until('ContainerService/web', 'Stalled', 'True', 'OutcomeUnknown');
  // Which namespaces the operator watches is no matter.
  const sameFleet = fleet.flags.slice(0, 4).join(' ');
  const place = fleet.namespace === 'default' ? '' : ` --namespace ${fleet.namespace}`;
  for (const word of ['--applied --id ID', '--not-applied']) {
    const said = `fleetkeeper resolve ContainerService/web ${word}${place} ${sameFleet}`;
    expect(stalled.message).toContain(said);
  }
  const { id } = await plane.service('web');
  const answer = await resolve(fleet, 'ContainerService/web', '--applied', '--id', id);
  expect(answer).toMatchObject({ code: 0, stderr: '' });
  expect(answer.stdout).toMatch(/^Recorded: create-service of ContainerService\/web was applied and made /);
  await fleet.untilReady(1);
  expect((await fleet.records()).get('ContainerService/web')?.externalId).toBe(id);
  expect((await plane.requests()).filter(isMutation)).toHaveLength(1);
});

test('one that is said not to have happened is sent again with the same key', async () => {
  const { plane, fleet } = await nameless();
  await plane.faults([{ ...lostAnswer, fault: 'drop-request' }]);
  await fleet.write('web.yaml', [service('web', { env })]);
  fleet.run();
  await fleet.until('ContainerService/web', 'Ready', 'False', 'OutcomeUnknown');
  // Somebody else's, of the same name, that was not there before: it might be ours.
  await plane.call('POST', '/api/services', {
    name: 'web',
    region: 'standard',
    image: 'ghcr.io/them/app:1',
    resources: { gpuCount: 0, cpu: 1, memoryGb: 1 },
  });
  const [theirs] = (await plane.requests()).filter(isMutation).slice(-1);
  await fleet.until('ContainerService/web', 'Stalled', 'True', 'OutcomeUnknown');
  expect((await resolve(fleet, 'containerservice/web', '--not-applied')).code).toBe(0);
  await fleet.untilReady(1);
  const sent = (await plane.requests())
    .filter(isMutation)
    .filter(({ idempotencyKey }) => idempotencyKey !== theirs?.idempotencyKey);
  expect(sent).toHaveLength(2);
  expect(new Set(sent.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
  expect(keysWithTwoBodies(sent)).toEqual([]);
});

test('a creation of which nothing by that name is there did not happen, and nobody is asked', async () => {
  const { plane, fleet } = await nameless();
  await plane.faults([{ ...lostAnswer, fault: 'drop-request' }]);
  await fleet.write('web.yaml', [service('web', { env })]);
  fleet.run();
  await fleet.untilReady(1);
  expect((await plane.account()).services).toHaveLength(1);
});

test('a word that can not be right is refused, with the reason', async () => {
  const { plane, fleet } = await nameless();
  await fleet.write('web.yaml', [service('web', { env }), service('other', { env })]);
  fleet.run();
  await fleet.untilReady(2);
  const nobody = await resolve(fleet, 'ContainerService/wep', '--applied');
  expect(nobody).toMatchObject({ code: 1, stdout: '' });
  expect(nobody.stderr).toContain('did you mean web?');
  expect((await resolve(fleet, 'ContainerService/web', '--applied')).stderr).toMatch(
    /ContainerService\/web has no request whose outcome is unknown \(its last one, create-service, is known to be applied\)/,
  );
  expect((await resolve(fleet, 'ContainerService/web')).stderr).toContain('pass --applied or --not-applied');
  expect((await resolve(fleet, 'Pod/web', '--applied')).stderr).toContain('write KIND/NAME');
  await plane.faults([lostAnswer]);
  await fleet.write('third.yaml', [service('third', { env })]);
  await fleet.until('ContainerService/third', 'Stalled', 'True', 'OutcomeUnknown');
  const third = (...args: string[]) => resolve(fleet, 'ContainerService/third', ...args);
  expect((await third('--applied')).stderr).toContain('what did it make?');
  expect((await third('--applied', '--not-applied')).code).not.toBe(0);
  expect((await third('--applied', '--id', 'web')).stderr).toContain('is not a UUID');
  const other = (await plane.service('other')).id;
  expect((await third('--applied', '--id', other)).stderr).toContain(
    `is managed as ContainerService/${fleet.namespace}/other`,
  );
  const nowhere = '00000000-0000-4000-8000-000000000000';
  expect((await third('--applied', '--id', nowhere)).code).toBe(0);
  await eventually('the manager says what is wrong with it', async () =>
    (await fleet.condition('ContainerService/third', 'Stalled'))?.message.includes(
      'there is nothing with the id',
    ),
  );
  const { id } = await plane.service('third');
  expect((await third('--applied', '--id', id)).code).toBe(0);
  await fleet.untilReady(3);
});

test('a word that is given while nobody runs is taken at the next start', async () => {
  const { plane, fleet } = await nameless();
  await plane.faults([lostAnswer]);
  await fleet.write('web.yaml', [service('web', { env })]);
  const manager = fleet.run();
  await fleet.until('ContainerService/web', 'Stalled', 'True', 'OutcomeUnknown');
  await manager.kill('SIGKILL');
  const { id } = await plane.service('web');
  expect((await resolve(fleet, 'ContainerService/web', '--applied', '--id', id)).code).toBe(0);
  expect((await fleet.apply()).code).toBe(0);
  expect((await plane.account()).services).toHaveLength(1);
});

test('a restart that can not be told from none is not sent twice', async () => {
  const { plane, proxy, fleet } = await nameless();
  proxy.edit = ({ revision: _hidden, ...shown }) => shown;
  await fleet.write('web.yaml', [service('web', { env, restartToken: '1' })]);
  fleet.run();
  await fleet.untilReady(1);
  await plane.faults([{ method: 'POST', path: '/actions$', fault: 'drop-response', times: 1 }]);
  await plane.forgetRequests();
  await fleet.write('web.yaml', [service('web', { env, restartToken: '2' })]);
  await fleet.until('ContainerService/web', 'Stalled', 'True', 'OutcomeUnknown');
  expect((await resolve(fleet, 'ContainerService/web', '--applied')).code).toBe(0);
  await fleet.untilReady(1);
  await sleep(1500);
  expect((await plane.requests()).filter(isMutation)).toHaveLength(1);
});

test('revisions that run back stop everything, until a person says why', async () => {
  const { proxy, fleet } = await nameless();
  proxy.edit = (shown) => shown;
  await fleet.write('web.yaml', [service('web', { env })]);
  expect((await fleet.apply()).code).toBe(0);
  proxy.edit = (shown) => ({ ...shown, revision: 1, image: 'ghcr.io/acme/app:0' });
  const { code, plan } = await fleet.plan();
  expect(code).toBe(2);
  expect(plan.changes).toEqual([]);
  expect(plan.held).toMatchObject([{ name: 'web', reason: 'RevisionRegressed' }]);
  expect(plan.held[0].message).toContain('fleetkeeper.dev/accept-revisions-until');
  const until = new Date(nowMs() + 3_600_000).toISOString();
  await fleet.write('web.yaml', [
    service('web', { env }, { 'fleetkeeper.dev/accept-revisions-until': until }),
  ]);
  expect((await fleet.plan()).plan.changes).toMatchObject([{ name: 'web', action: 'update', drift: true }]);
  proxy.edit = (shown) => ({ ...shown, revision: 2 ** 53 });
  expect((await fleet.plan()).plan.held).toMatchObject([{ name: 'web', reason: 'RevisionInvalid' }]);
});
