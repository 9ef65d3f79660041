/** `--policy`: what rules deny is held, in `plan`, `apply` and `run`. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import type { ClusterFleet } from '../support/processes/cluster-fleet.ts';
import { ControlPlane } from '../support/processes/control-plane.ts';
import {
  account,
  createFleet,
  isInCluster,
  service,
  testInCluster,
  testInFolder,
  volume,
} from '../support/processes/fleet.ts';
import { eventually, fetch, fleetkeeper, temporaryFolder } from '../support/processes/processes.ts';
import { fleetOf } from '../support/processes/replicas.ts';

async function world() {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(plane.url));
  const file = path.join(folder, 'policy.yaml');
  const write = (...rules: object[]) =>
    writeFile(
      file,
      stringify({
        apiVersion: 'fleetkeeper.dev/v1alpha1',
        kind: 'PlanPolicy',
        metadata: { name: 'test' },
        rules,
      }),
    );
  return { plane, fleet, file, write, policy: ['--policy', file] };
}

const noLatest = {
  name: 'no-latest',
  deny: "object.kind == 'ContainerService' && object.spec.image.endsWith(':latest')",
  message: '{{key}} has no version',
};
const noDeletion = {
  name: 'no-deletion',
  deny: "change.deletion && change.steps.exists(s, s.action.startsWith('delete-'))",
  message: 'nothing is deleted here',
};
const allowAll = { name: 'none', deny: 'false', message: 'x' };

test('a rule sees what a plan foresees behind its steps, and nothing where nothing is foreseen', async () => {
  const { fleet, write, policy } = await world();
  await fleet.write('web.yaml', [service('web', { desiredState: 'Stopped' }), service('api')]);
  await write({
    name: 'no-stops',
    deny: "change.later.exists(s, s.action == 'stop-service')",
    message: 'nothing is stopped here',
  });
  const { code, plan } = await fleet.plan(...policy);
  expect(code).toBe(4);
  expect(plan.held).toMatchObject([{ name: 'web', reason: 'PolicyDenied' }]);
  expect(plan.changes).toMatchObject([{ name: 'api', action: 'create' }]);
});

test('a plan holds what a rule denies, warns of the rest, and exits with 4', async () => {
  const { fleet, write, policy } = await world();
  await fleet.write('web.yaml', [service('web', { image: 'ghcr.io/acme/app:latest' }), service('api')]);
  await write(noLatest, { name: 'costs', warn: 'cost.deltaHourlyMicros > 0', message: 'more than before' });
  const { code, plan } = await fleet.plan(...policy);
  expect(code).toBe(4);
  expect(plan.changes).toMatchObject([{ name: 'api', action: 'create' }]);
  expect(plan.held).toMatchObject([
    {
      name: 'web',
      reason: 'PolicyDenied',
      actions: ['create'],
      message: expect.stringContaining('has no version'),
    },
  ]);
  expect(plan.warnings).toContainEqual(expect.objectContaining({ name: 'api', rule: 'costs' }));
  // What is held costs nothing.
  expect(plan.cost.changes).toBe(1);
  const { stdout, code: again } = await fleetkeeper(['plan', ...fleet.flags, ...policy]);
  expect(again).toBe(4);
  expect(stdout).toContain('PolicyDenied  would create');
  expect(stdout).toContain('costs: more than before');
  await write(allowAll);
  expect((await fleet.plan(...policy)).code).toBe(2);
});

test('no rule sees a literal value of a variable, and nothing of one is printed, not in errors either (PI4)', async () => {
  const { fleet, write, policy } = await world();
  const value = 'hunter2-of-the-test';
  await fleet.write('web.yaml', [service('web', { env: [{ name: 'PASSWORD', value }] })]);
  const rules = [
    ['seen', { deny: `object.spec.env.exists(e, has(e.value) && e.value.contains('hunter2'))` }, false],
    ['text', { deny: `string(object).contains('hunter2')` }, true],
    ['number', { deny: 'int(object.spec.env[0].value) > 0' }, true],
    ['named', { warn: "object.spec.env.exists(e, e.name == 'PASSWORD')" }, true],
  ] as const;
  for (const [name, rule, isReported] of rules) {
    await write({ name, ...rule, message: '{{key}}' });
    for (const output of ['text', 'json', 'markdown']) {
      const { stdout, stderr } = await fleetkeeper(['plan', ...fleet.flags, ...policy, '-o', output]);
      expect([output, stdout.includes(`${name}: `) || stdout.includes(`"${name}"`)]).toEqual([
        output,
        isReported,
      ]);
      expect(`${stdout}${stderr}`).not.toContain('hunter2');
    }
  }
});

test('rules see the whole plan', async () => {
  const { fleet, write, policy } = await world();
  await fleet.write(
    'web.yaml',
    ['a', 'b', 'c'].map((name) => service(name)),
  );
  await write({ name: 'few', deny: 'plan.summary.create > 2', message: 'too many at once' });
  const { code, plan } = await fleet.plan(...policy);
  expect([code, plan.summary.create, plan.summary.held]).toEqual([4, 0, 3]);
});

test('a fleet that a rule denies is held as one', async () => {
  const { fleet, write, policy } = await world();
  await fleet.write('fleet.yaml', [fleetOf('llm', { replicas: 3 })]);
  await write({
    name: 'small',
    deny: "object.kind == 'ServiceFleet' && change.replicas.create > 2",
    message: 'at most two',
  });
  const { code, plan } = await fleet.plan(...policy);
  expect(code).toBe(4);
  expect(plan.held).toMatchObject([{ kind: 'ServiceFleet', name: 'llm', reason: 'PolicyDenied' }]);
});

testInFolder('apply does the rest, sends nothing of what is denied, and exits with 4', async () => {
  const { plane, fleet, write, policy } = await world();
  await fleet.write('web.yaml', [service('web', { image: 'ghcr.io/acme/app:latest' }), service('api')]);
  await write(noLatest);
  const applied = await fleet.apply(...policy);
  expect(applied.code).toBe(4);
  expect(await fleet.condition('ContainerService/api', 'Ready')).toMatchObject({ status: 'True' });
  expect(await fleet.condition('ContainerService/web', 'Ready')).toMatchObject({
    status: 'False',
    reason: 'PolicyDenied',
  });
  const creations = (await plane.requests()).filter(
    ({ method, path: at }) => method === 'POST' && at === '/api/services',
  );
  expect(creations).toHaveLength(1);
  // What failed for another reason is stronger.
  await fleet.write('bad.yaml', [service('bad', { imgae: 'x' })]);
  expect((await fleet.apply(...policy)).code).toBe(1);
});

test('a deletion that was accepted is held until the rules allow it, and the thing stays', async () => {
  const { plane, fleet, write, policy } = await world();
  await write(noDeletion);
  await fleet.write('data.yaml', [volume('data')]);
  await fleet.write('web.yaml', [service('web')]);
  const manager = fleet.run(...policy);
  await fleet.untilReady(2);
  const actions = async () =>
    (await plane.requests()).filter(({ method, path: at }) => method === 'POST' && at.endsWith('/actions'))
      .length;
  await fleet.remove('web.yaml');
  const held = await fleet.until('ContainerService/web', 'Ready', 'False', 'PolicyDenied');
  expect(held.message).toContain('its deletion is accepted, and waits');
  expect(await actions()).toBe(0);
  await write(allowAll);
  await eventually(
    'the service is gone',
    async () => !(await fleet.records()).has('ContainerService/web'),
    120_000,
  );
  expect(await actions()).toBe(1);
  await manager.kill('SIGTERM');
});

test('a later version of the file that is not valid is reported, and the last valid one stays', async () => {
  const { fleet, file, write, policy } = await world();
  await write(noLatest);
  const manager = fleet.run('--log-level', 'info', ...policy);
  const logged = (text: string) => eventually(text, async () => manager.stderr.includes(text));
  await fleet.write('api.yaml', [service('api')]);
  await fleet.untilReady(1);
  await writeFile(file, 'rules: [');
  await logged('policy not valid, the last valid one stays');
  await fleet.write('web.yaml', [service('web', { image: 'ghcr.io/acme/app:latest' })]);
  await fleet.until('ContainerService/web', 'Ready', 'False', 'PolicyDenied');
  await write(allowAll);
  await logged('policy read');
  await fleet.until('ContainerService/web', 'Ready', 'True', undefined, 120_000);
  await manager.kill('SIGTERM');
});

test('what rules were asked about is counted by outcome, without a name', async () => {
  const { fleet, write, policy } = await world();
  await write(
    { name: 'broken', when: "object.metadata.name == 'odd'", deny: 'object.spec.nope == 1', message: 'x' },
    { name: 'never', when: "object.metadata.name == 'web'", deny: 'true', message: 'x' },
    { name: 'note', when: "object.metadata.name == 'api'", warn: 'true', message: 'x' },
  );
  await fleet.write(
    'web.yaml',
    ['web', 'api', 'odd', 'plain'].map((name) => service(name)),
  );
  const manager = fleet.run('--listen', '127.0.0.1:0', ...policy);
  const [, url = ''] = await manager.line(/^listening on (.*)$/);
  for (const name of ['web', 'odd'])
    await fleet.until(`ContainerService/${name}`, 'Ready', 'False', 'PolicyDenied');
  for (const name of ['api', 'plain']) await fleet.until(`ContainerService/${name}`, 'Ready', 'True');
  const text = await (await fetch(`${url}/metrics`)).text();
  const lines = text.split('\n').filter((line) => line.startsWith('fleetkeeper_policy_evaluations_total{'));
  const outcomes = lines.map((line) => /^[a-z_]+\{outcome="([a-z]+)"\} [1-9]/.exec(line)?.[1]);
  expect(new Set(outcomes)).toEqual(new Set(['allow', 'deny', 'error', 'warn']));
  await manager.kill('SIGTERM');
});

test('an error in a rule denies, and a warning does not', async () => {
  const { fleet, write, policy } = await world();
  await write(
    { name: 'broken', when: "object.metadata.name == 'web'", deny: 'object.spec.nope == 1', message: 'x' },
    { name: 'new', warn: "change.steps.exists(s, s.reason == 'Create')", message: '{{key}} is new' },
  );
  const manager = fleet.run('--log-level', 'info', ...policy);
  await fleet.write('web.yaml', [service('web'), service('api')]);
  const held = await fleet.until('ContainerService/web', 'Ready', 'False', 'PolicyDenied');
  expect(held.message).toContain('No such key: nope');
  await fleet.until('ContainerService/api', 'Ready', 'True');
  const warned = manager.stderr.split('\n').filter((line) => line.includes('policy warning'));
  expect(warned).toEqual([expect.stringContaining('/api is new')]);
  await manager.kill('SIGTERM');
});

testInCluster('a denial and a warning are Events of the object, and the finalizer stays', async () => {
  const { fleet, write, policy } = await world();
  await write(noDeletion, {
    name: 'new',
    warn: "change.steps.exists(s, s.reason == 'Create')",
    message: 'is new',
  });
  await fleet.write('web.yaml', [service('web')]);
  const manager = fleet.run(...policy);
  await fleet.untilReady(1);
  await fleet.remove('web.yaml');
  await fleet.until('ContainerService/web', 'Ready', 'False', 'PolicyDenied');
  const { api } = (fleet as ClusterFleet).cluster;
  const events = { group: '', version: 'v1', plural: 'events', kind: 'Event', namespaced: true };
  const reasons = async () =>
    (await api.list(events, { namespace: fleet.namespace })).items.map(({ reason }) => reason);
  await eventually('both Events', async () => {
    const found = await reasons();
    return found.includes('PolicyWarning') && found.includes('PolicyDenied');
  });
  const object = (await fleet.records()).get('ContainerService/web');
  expect(object?.deletionRequestedAt).toBeDefined();
  await manager.kill('SIGTERM');
});

test('a file that can not be used stops plan, apply and run before anything is read', async () => {
  const { plane, fleet, file, policy } = await world();
  await writeFile(file, 'kind: PlanPolicy\n');
  const before = (await plane.requests()).length;
  const commands = [['plan'], ['run'], ...(isInCluster ? [] : [['apply', '--yes']])];
  for (const [name = '', ...flags] of commands) {
    const { code, stderr } = await fleetkeeper([name, ...fleet.flags, ...flags, ...policy]);
    expect([code, stderr]).toEqual([1, expect.stringContaining("the policy can't be used")]);
  }
  expect((await plane.requests()).length).toBe(before);
});
