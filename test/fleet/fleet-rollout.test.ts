/** What people see of a rollout, and do about it, on the command line. */
import { expect, test } from 'vitest';
import { ControlPlane } from '../support/processes/control-plane.ts';
import {
  account,
  createFleet,
  task,
  type Fleet,
  type Json,
  testInFolder,
} from '../support/processes/fleet.ts';
import { eventually, fleetkeeper, temporaryFolder } from '../support/processes/processes.ts';
import { fleetOf, template } from '../support/processes/replicas.ts';

const update = { minReadySeconds: 0, failureLimit: 0 };
const next = template({ image: 'ghcr.io/acme/llm:2' });
const broken = template({ image: 'registry.invalid/llm:2' });

async function world() {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder).start();
  const fleet = await createFleet(folder);
  await fleet.write('account.yaml', account(plane.url));
  await fleet.write('llm.yaml', [fleetOf('llm', { update })]);
  expect((await fleet.apply()).code).toBe(0);
  return { plane, fleet };
}

const rollout = (fleet: Fleet, ...args: string[]) =>
  fleetkeeper(['rollout', ...args, '-n', fleet.namespace, ...fleet.flags]);
const images = async (plane: ControlPlane): Promise<string[]> =>
  (await plane.account()).services.map(({ image }: Json) => image);
const phaseOf = async (fleet: Fleet): Promise<Json> =>
  (await fleet.records()).get('ServiceFleet/llm')?.status?.['rollout'];

test('status waits until all replicas have the new revision, and history shows both', async () => {
  const { plane, fleet } = await world();
  expect(await rollout(fleet, 'status', 'llm')).toMatchObject({
    code: 0,
    stdout: 'llm: all replicas are available at r1\n',
  });
  fleet.run();
  await fleet.untilReady(4);
  await fleet.write('llm.yaml', [fleetOf('llm', { template: next, update })]);
  const { code, stdout, stderr } = await rollout(fleet, 'status', 'llm', '--timeout', '5m');
  expect([code, stderr]).toEqual([0, '']);
  const lines = stdout.trimEnd().split('\n');
  expect(lines.length).toBeGreaterThan(1);
  expect(lines.at(-1)).toBe('llm: all replicas are available at r2');
  expect(stdout).toMatch(/rolling out r2: \d of 3 replicas updated, \d available/);
  expect(await images(plane)).toEqual(Array.from({ length: 3 }, () => 'ghcr.io/acme/llm:2'));
  const history = await rollout(fleet, 'history', 'llm');
  expect(
    history.stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/ {2,}/).slice(0, 2).join(' ')),
  ).toEqual(['REVISION OUTCOME', expect.stringMatching(/^r1 /), 'r2 Healthy']);
  const json = JSON.parse((await rollout(fleet, 'history', 'llm', '-o', 'json')).stdout);
  expect(json.revisions).toMatchObject([{ name: 'r1' }, { name: 'r2', image: 'ghcr.io/acme/llm:2' }]);
});

test('status ends with 1 when the revision is rolled back; retry tries it again', async () => {
  const { fleet } = await world();
  fleet.run();
  await fleet.untilReady(4);
  await fleet.write('llm.yaml', [fleetOf('llm', { template: broken, update })]);
  const { code, stdout } = await rollout(fleet, 'status', 'llm', '-o', 'json');
  expect([code, JSON.parse(stdout)]).toMatchObject([
    1,
    {
      object: `ServiceFleet/${fleet.namespace}/llm`,
      result: 'Failed',
      message: expect.stringMatching(/^r2 failed, and was rolled back: /),
    },
  ]);
  const retried = await rollout(fleet, 'retry', 'llm', '-o', 'json');
  expect(JSON.parse(retried.stdout)).toMatchObject({ command: 'retry@r2#1', given: true });
  await eventually('a second attempt', async () => (await phaseOf(fleet))?.attempt === 2);
  expect((await rollout(fleet, 'status', 'llm')).code).toBe(1);
});

testInFolder('without a manager nothing continues a rollout: status fails, with --once at once', async () => {
  const { fleet } = await world();
  await fleet.write('llm.yaml', [fleetOf('llm', { template: next, update })]);
  for (const args of [[], ['--once']]) {
    const { code, stderr } = await rollout(fleet, 'status', 'llm', ...args);
    const failed =
      'no manager is running, and the rollout has not ended: the manager has not taken in the document';
    expect([code, stderr]).toEqual([1, expect.stringContaining(failed)]);
  }
});

test('freeze, thaw and abort: status ends with 2 while it is frozen', async () => {
  const { plane, fleet } = await world();
  fleet.run();
  // The rollout can't end while somebody works in a replica.
  await fleet.write('task.yaml', [task('nightly', { serviceRef: { name: 'llm-1' } })]);
  await fleet.until('ProtectedTask/nightly', 'Ready', 'True', 'Held');
  await fleet.write('llm.yaml', [fleetOf('llm', { template: next, update })]);
  await eventually('under way', async () => (await phaseOf(fleet))?.phase === 'Progressing');
  expect((await rollout(fleet, 'status', 'llm', '--once')).code).toBe(0);
  const late = await rollout(fleet, 'status', 'llm', '--timeout', '3s');
  expect([late.code, late.stderr]).toEqual([
    1,
    expect.stringContaining('llm is not there yet: rolling out r2'),
  ]);
  expect((await rollout(fleet, 'freeze', 'llm')).stdout).toContain(
    'no more replicas of llm get r2 until it is thawed',
  );
  const frozen = await rollout(fleet, 'status', 'llm');
  expect([frozen.code, frozen.stdout]).toEqual([
    2,
    expect.stringContaining('the rollout to r2 is frozen: a person froze it'),
  ]);
  expect((await rollout(fleet, 'thaw', 'llm')).code).toBe(0);
  await eventually('under way', async () => (await phaseOf(fleet))?.phase === 'Progressing');
  expect((await rollout(fleet, 'abort', 'llm')).code).toBe(0);
  await fleet.remove('task.yaml');
  expect((await rollout(fleet, 'status', 'llm')).code).toBe(1);
  await eventually('the surge is gone', async () => (await images(plane)).length === 3);
  expect(await images(plane)).toEqual(Array.from({ length: 3 }, () => 'ghcr.io/acme/llm:1'));
});

testInFolder('mistakes are named, with what to do instead', async () => {
  const { fleet } = await world();
  const refused = async (...args: string[]) => {
    const { code, stderr } = await rollout(fleet, ...args);
    return `${code} ${stderr
      .trim()
      .replaceAll(/\s+/g, ' ')
      .replaceAll(/since \S+,/g, 'since TIME,')}`;
  };
  await fleet.write('llm.yaml', [fleetOf('llm', { template: next, update })]);
  expect([
    await refused('statsu', 'llm'),
    await refused('status', 'llmm'),
    await refused('status', 'llm-0'),
    await refused('abort', 'llm'),
    await refused('freeze', 'llm'),
    await refused('thaw', 'llm'),
    await refused('retry', 'llm'),
    await refused('status', 'llm'),
    await refused('status', 'llm', '--timeout', 'soon'),
  ]).toMatchInlineSnapshot(`
    [
      "1 error: command-argument value 'statsu' is invalid for argument 'action'. Allowed choices are status, history, promote, abort, retry, freeze, thaw. (see \`fleetkeeper rollout --help\`)",
      "1 error: the state has no ServiceFleet llmm in the namespace default did you mean llm?",
      "1 error: llm-0 is a replica, not a ServiceFleet its fleet is llm",
      "1 error: the rollout of llm is not under way: it is Stable, at r1 \`fleetkeeper rollout history\` shows what became of each revision",
      "1 error: the rollout of llm is not under way: it is Stable, at r1 \`fleetkeeper rollout history\` shows what became of each revision",
      "1 error: the rollout of llm is not frozen: it is Stable, at r1 \`fleetkeeper rollout history\` shows what became of each revision",
      "1 error: the rollout of llm has not failed: it is Stable, at r1 \`fleetkeeper rollout history\` shows what became of each revision",
      "1 error: no manager is running, and the rollout has not ended: the manager has not taken in the document yet \`fleetkeeper apply\` or \`fleetkeeper run\` continues it",
      "1 error: option '--timeout <duration>' argument 'soon' is invalid. expected a duration such as 30s, 10m or 1h (see \`fleetkeeper rollout --help\`)",
    ]
  `);
});
