/** What people order of a fleet beside its document: another number of replicas, the removal of one. */
import { expect, test } from 'vitest';
import { apiVersion } from '../../src/resources/index.ts';
import { ControlPlane } from '../support/processes/control-plane.ts';
import {
  account,
  createFleet,
  service,
  task,
  type Fleet,
  type Json,
  testInFolder,
} from '../support/processes/fleet.ts';
import { eventually, fleetkeeper, temporaryFolder } from '../support/processes/processes.ts';

function fleetOf(spec: object = {}, annotations: Record<string, string> = {}): object {
  return {
    apiVersion,
    kind: 'ServiceFleet',
    metadata: { name: 'llm', annotations },
    spec: {
      replicas: 2,
      template: {
        spec: {
          region: 'standard',
          image: 'ghcr.io/acme/llm:1',
          resources: { cpu: 1, memoryGb: 1 },
          httpPort: 8000,
        },
      },
      update: { minReadySeconds: 0 },
      scaleIn: { maxPerMinute: 1000 },
      drain: { graceSeconds: 0 },
      ...spec,
    },
  };
}

async function world(spec: object = {}) {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(plane.url));
  await fleet.write('llm.yaml', [fleetOf(spec)]);
  expect((await fleet.apply()).code).toBe(0);
  return { plane, fleet };
}

const names = async (plane: ControlPlane) =>
  (await plane.call('GET', '/api/account')).services.map(({ name }: Json) => name).sort();
const statusOf = async (fleet: Fleet): Promise<Json> =>
  (await fleet.records()).get('ServiceFleet/llm')?.status;
const order = (fleet: Fleet, ...args: string[]) =>
  fleetkeeper([...args, '-n', fleet.namespace, ...fleet.flags]);

testInFolder(
  'scale gives a number beside the document; plan and status show it; an edit ends it',
  async () => {
    const { plane, fleet } = await world();
    const answer = await order(fleet, 'scale', 'llm', '--replicas', '4');
    expect([answer.code, answer.stderr]).toEqual([0, '']);
    expect(answer.stdout).toContain(
      'Recorded: llm gets 4 replicas until `replicas` of the document is edited.',
    );
    const { plan } = await fleet.plan();
    expect(plan.changes).toMatchObject([
      { action: 'scale', differences: [{ path: 'replicas', desired: 4, observed: 2 }] },
    ]);
    const text = await order(fleet, 'plan');
    expect(text.stdout).toContain('replicas: 2 → 4  (command scale, replicas of the document: 2)');
    expect((await fleet.apply()).code).toBe(0);
    expect(await names(plane)).toEqual(['llm-0', 'llm-1', 'llm-2', 'llm-3']);
    expect(await statusOf(fleet)).toMatchObject({
      desiredReplicas: 4,
      scaled: { replicas: 4 },
      lastHandledCommand: { command: 'scale:4@g1', result: 'Done', message: '4 replicas' },
    });
    // The same once more changes nothing, and says so.
    const again = await order(fleet, 'scale', 'llm', '--replicas', '4');
    expect([again.code, again.stdout]).toEqual([0, expect.stringMatching(/^Unchanged: .* carried out at /)]);
    // Another part of the document may be edited.
    await fleet.write('llm.yaml', [fleetOf({ scaleIn: { maxPerMinute: 500 } })]);
    expect((await fleet.apply()).code).toBe(0);
    expect(await names(plane)).toHaveLength(4);
    await fleet.write('llm.yaml', [fleetOf({ replicas: 3 })]);
    expect((await fleet.apply()).code).toBe(0);
    expect(await names(plane)).toEqual(['llm-0', 'llm-1', 'llm-2']);
    expect((await statusOf(fleet)).scaled).toBeUndefined();
  },
);

testInFolder('a manager that runs carries a command out in seconds, and ends it in time', async () => {
  const { plane, fleet } = await world();
  fleet.run();
  await fleet.untilReady(3);
  const answer = await order(fleet, 'scale', 'llm', '--replicas', '4', '--for', '40s', '-o', 'json');
  expect(JSON.parse(answer.stdout)).toMatchObject({
    object: 'ServiceFleet/default/llm',
    command: expect.stringMatching(/^scale:4:\d{4}-.*Z@g1$/),
    given: true,
    replaced: null,
  });
  await eventually('4 replicas', async () => (await names(plane)).length === 4, 10_000);
  await eventually('2 replicas', async () => (await names(plane)).length === 2, 60_000);
  expect(await names(plane)).toEqual(['llm-0', 'llm-1']);
});

test('retire removes that replica and no other one; the fleet gets another one', async () => {
  const { plane, fleet } = await world({ replicas: 3 });
  const answer = await order(fleet, 'retire', 'llm-0');
  expect([answer.code, answer.stderr]).toEqual([0, '']);
  expect(answer.stdout).toContain('llm-0 drains, and is deleted when nothing protects it.');
  const { plan } = await fleet.plan();
  expect(plan.changes).toMatchObject([{ action: 'scale', differences: [{ path: 'replica 0' }] }]);
  expect((await fleet.apply()).code).toBe(0);
  expect(await names(plane)).toEqual(['llm-1', 'llm-2', 'llm-3']);
});

test('a protected replica that is retired is not spared, and stays until its task is over', async () => {
  const { plane, fleet } = await world({ replicas: 2 });
  fleet.run();
  await fleet.write('task.yaml', [task('nightly', { serviceRef: { name: 'llm-1' } })]);
  await fleet.until('ProtectedTask/nightly', 'Ready', 'True', 'Held');
  expect((await order(fleet, 'retire', 'llm-1')).code).toBe(0);
  await eventually('a third replica', async () => (await names(plane)).includes('llm-2'));
  await eventually('protected', async () => {
    const { conditions } = await statusOf(fleet);
    return conditions.some(({ reason }: Json) => reason === 'ReplicasProtected');
  });
  expect(await names(plane)).toEqual(['llm-0', 'llm-1', 'llm-2']);
  await fleet.remove('task.yaml');
  await eventually('llm-1 gone', async () => !(await names(plane)).includes('llm-1'), 90_000);
  expect(await names(plane)).toEqual(['llm-0', 'llm-2']);
});

testInFolder('a command that comes late does nothing, and reports that', async () => {
  const { plane, fleet } = await world();
  expect((await order(fleet, 'scale', 'llm', '--replicas', '5')).code).toBe(0);
  await fleet.write('llm.yaml', [fleetOf({ replicas: 3 })]);
  expect((await fleet.apply()).code).toBe(0);
  expect(await names(plane)).toHaveLength(3);
  expect((await statusOf(fleet)).lastHandledCommand).toMatchObject({
    command: 'scale:5@g1',
    result: 'Outdated',
    message: expect.stringContaining('generation 2, not 1'),
  });
});

testInFolder(
  'an annotation is a command; one that is outdated or wrong is shown; a pause is stronger',
  async () => {
    const { plane, fleet } = await world();
    const write = (annotations: Record<string, string>) =>
      fleet.write('llm.yaml', [
        fleetOf(
          {},
          Object.fromEntries(
            Object.entries(annotations).map(([name, value]) => [`fleetkeeper.dev/${name}`, value]),
          ),
        ),
      ]);
    fleet.run();
    await write({ command: 'scale:4@g1', paused: 'true' });
    await fleet.until('ServiceFleet/llm', 'Stalled', 'True', 'Paused');
    expect([await names(plane), (await statusOf(fleet)).lastHandledCommand]).toEqual([
      ['llm-0', 'llm-1'],
      undefined,
    ]);
    await write({ command: 'scale:4@g1' });
    await eventually('4 replicas', async () => (await names(plane)).length === 4);
    await fleet.until('ServiceFleet/llm', 'Ready', 'True', 'AllAvailable');
    await write({ command: 'scale:1@g9' });
    const outdated = await fleet.until('ServiceFleet/llm', 'Stalled', 'True', 'CommandOutdated');
    expect(outdated.message).toContain('llm.yaml:');
    expect(outdated.message).toContain('generation 1, not 9');
    expect(await fleet.condition('ServiceFleet/llm', 'Ready')).toMatchObject({ status: 'True' });
    await write({ command: 'scael:1@g1' });
    const wrong = await fleet.until('ServiceFleet/llm', 'Stalled', 'True', 'InvalidAnnotation');
    expect(wrong.message).toContain('verbs are ');
    await write({});
    await fleet.until('ServiceFleet/llm', 'Stalled', 'False');
    expect(await names(plane)).toHaveLength(4);
  },
);

testInFolder('mistakes are named, with what to write instead', async () => {
  const { fleet } = await world();
  await fleet.write('web.yaml', [service('web'), service('llm-x')]);
  expect((await fleet.apply()).code).toBe(0);
  const refused = async (...args: string[]) => {
    const { code, stderr } = await order(fleet, ...args);
    return `${code} ${stderr.trim().split('\n').slice(0, 2).join(' ').replaceAll(/\s+/g, ' ')}`;
  };
  expect([
    await refused('scale', 'llm'),
    await refused('scale', 'llm', '--replicas', '1.5'),
    await refused('scale', 'llm', '--replicas', '5000'),
    await refused('scale', 'llm', '--replicas', '3', '--for', 'soon'),
    await refused('scale', 'llmm', '--replicas', '3'),
    await refused('scale', 'llm-1', '--replicas', '3'),
    await refused('scale', 'csvc/web', '--replicas', '3'),
    await refused('retire', 'llm'),
    await refused('retire', 'llm-7'),
    await refused('retire', 'web'),
    await refused('retire', 'llm-x'),
  ]).toMatchInlineSnapshot(`
    [
      "1 error: required option '--replicas <n>' not specified: how many replicas (see \`fleetkeeper scale --help\`)",
      "1 error: option '--replicas <n>' argument '1.5' is invalid. expected a whole number from 0 to 1000 (see \`fleetkeeper scale --help\`)",
      "1 error: option '--replicas <n>' argument '5000' is invalid. expected a whole number from 0 to 1000 (see \`fleetkeeper scale --help\`)",
      "1 error: option '--for <duration>' argument 'soon' is invalid. expected a duration such as 30s, 10m or 1h (see \`fleetkeeper scale --help\`)",
      "1 error: the state has no ServiceFleet llmm in the namespace default did you mean llm?",
      "1 error: llm-1 is a replica, not a ServiceFleet its fleet is llm",
      "1 error: csvc/web is no ServiceFleet write NAME, or ServiceFleet/NAME; the namespace is that of -n",
      "1 error: llm is no replica of a ServiceFleet name one of its replicas, such as llm-0",
      "1 error: llm has no replica 7 it has the numbers 0 to 1",
      "1 error: web is no replica of a ServiceFleet write NAME-SLOT, such as llm-0; fleets are llm",
      "1 error: llm-x is no replica of a ServiceFleet write NAME-SLOT, such as llm-0; fleets are llm",
    ]
  `);
  await fleet.write('llm.yaml', [fleetOf({ replicas: 3 })]);
  expect(await refused('scale', 'llm', '--replicas', '5')).toBe(
    '1 error: the document of llm was edited, and is not applied yet write `replicas: 5` there, or apply it first',
  );
});

test('logs NAME --all prints the logs of all replicas, and of nothing else', async () => {
  const { fleet } = await world();
  await fleet.write('web.yaml', [service('web'), service('llm-x')]);
  expect((await fleet.apply()).code).toBe(0);
  const { code, stdout } = await order(fleet, 'logs', 'llm', '--all');
  expect(code).toBe(0);
  const lines = stdout.trimEnd().split('\n');
  expect(new Set(lines.map((line) => line.split(/[ |:]/)[0]))).toEqual(new Set(['llm-0', 'llm-1']));
  const wrong = await order(fleet, 'logs', 'web', '--all');
  expect([wrong.code, wrong.stderr]).toEqual([
    1,
    expect.stringContaining(
      `there are no replicas of a ServiceFleet web in the namespace ${fleet.namespace}`,
    ),
  ]);
});
