import { expect, test } from 'vitest';
import { explainedField } from '../../../src/cli/explained-field.ts';
import { fieldsIn, schemaOf } from '../../../src/crdgen/index.ts';
import { reasonNames } from '../../../src/reasons/index.ts';
import { managedKinds } from '../../../src/resources/index.ts';
import { run } from './support.ts';

test('a reason is explained: what it is, whose turn it is, what to do, and where there is more', async () => {
  const { code, stdout } = await run(['explain', 'OutcomeUnknown']);
  expect(code).toBe(0);
  expect(stdout.split('\n').slice(0, 4)).toEqual([
    'OutcomeUnknown',
    '  kind     waiting, an Event',
    '  severity critical',
    '  turn     fleetkeeper',
  ]);
  expect(stdout).toMatch(/remedy +Wait\..*`fleetkeeper resolve`/);
  expect(stdout).toContain('docs/concepts/unknown-outcomes.md#operator-confirmation');
});

test('programs get the same as JSON', async () => {
  const { stdout } = await run(['explain', 'AccountNotFound', '--output', 'json']);
  expect(JSON.parse(stdout)).toEqual({
    reason: 'AccountNotFound',
    kinds: ['held'],
    severity: 'critical',
    whose: 'user',
    meaning: 'There is no Account of the name in `accountRef`.',
    remedy: 'Add the Account, or correct the name.',
    docs: 'docs/reference/reasons.md',
  });
});

test('without a name all reasons are listed', async () => {
  const { code, stdout } = await run(['explain']);
  expect([
    code,
    stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split(' ')[0]),
  ]).toEqual([0, reasonNames]);
  const all = JSON.parse((await run(['explain', '--output', 'json'])).stdout) as {
    reasons: { reason: string }[];
  };
  expect(all.reasons.map(({ reason }) => reason)).toEqual(reasonNames);
});

test('an unknown name is an error that names the nearest one', async () => {
  expect(await run(['explain', 'OutcomeUnkown'])).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(
      /there is no reason OutcomeUnkown, and no kind\n.*did you mean OutcomeUnknown\?/,
    ),
  });
  const { code, stderr } = await run(['explain', 'zzzzzzzzzzzz']);
  expect([code, stderr.includes('did you mean')]).toEqual([1, false]);
});

test('a kind is explained with its fields, and a field with its type, default, meaning and what is in it', async () => {
  const kind = await run(['explain', 'ServiceFleet']);
  expect(kind.code).toBe(0);
  expect(kind.stdout).toMatch(/^ServiceFleet\n {2}type {5}kind\n {2}meaning {2}Interchangeable replicas/);
  expect(kind.stdout).toContain('docs     docs/reference/fields.md#servicefleet\n');
  expect(kind.stdout).toMatch(/\n {2}spec\.replicas +integer, 0 to \d+ +1 +The number of replicas\.\n/);
  expect(kind.stdout).toMatch(/\n {2}status\.readyReplicas +integer/);
  const { stdout } = await run(['explain', 'ServiceFleet.spec.update']);
  expect(stdout).toMatch(
    /^ServiceFleet\.spec\.update\n {2}type {5}object\n {2}meaning {2}How a changed template reaches the replicas\.\n/,
  );
  expect(stdout).toMatch(/\n {2}minReadySeconds +integer, 0 to 3600 +30 +How long a replica/);
  expect(stdout).toMatch(/\n {2}mode +Auto, InPlace, Replace +Auto +Auto: /);
});

test.each([
  ['cflt.update', 'ServiceFleet.spec.update'],
  ['servicefleet.spec.update.steps[].pause', 'ServiceFleet.spec.update.steps.pause'],
  ['ServiceFleet.status.rollout.phase', 'ServiceFleet.status.rollout.phase'],
  ['Account.spec.url', 'Account.spec.url'],
])('a field may be written shorter: %s', async (text, full) => {
  const { code, stdout } = await run(['explain', text]);
  expect([code, stdout.split('\n')[0]]).toEqual([0, full]);
});

test('programs get a field as JSON', async () => {
  const { stdout } = await run(['explain', 'ServiceFleet.spec.replicas', '-o', 'json']);
  expect(JSON.parse(stdout)).toEqual({
    kind: 'ServiceFleet',
    field: 'spec.replicas',
    type: expect.stringMatching(/^integer, 0 to \d+$/),
    default: '1',
    required: false,
    description: 'The number of replicas.',
    fields: [],
    docs: 'docs/reference/fields.md#servicefleet',
  });
});

test('a field that is not there is an error that names the nearest one, or those that are', async () => {
  expect(await run(['explain', 'ServiceFleet.spec.update.mod'])).toMatchObject({
    code: 1,
    stderr:
      'error: ServiceFleet.spec.update has no field mod\n  did you mean `ServiceFleet.spec.update.mode`?\n',
  });
  const { stderr } = await run(['explain', 'ServiceFleet.spec.drain.zzzzzz']);
  expect(stderr).toContain('its fields are graceSeconds');
  expect((await run(['explain', 'ServiceFlet'])).stderr).toContain('did you mean ServiceFleet?');
});

test('every field of every kind is explained', () => {
  for (const kind of managedKinds) {
    const paths = fieldsIn(schemaOf(kind)).map((field) => `${kind}.${field.path}`);
    expect(paths.length).toBeGreaterThan(5);
    for (const path of paths) expect(explainedField(path).kind).toBe(kind);
  }
});
