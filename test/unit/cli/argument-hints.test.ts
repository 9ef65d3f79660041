/** What somebody reads who names a folder where a name is expected, or a kind and a name as kubectl takes them. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { serviceDocument } from '../../support/desired.ts';
import { temporaryFile } from '../../support/temporary.ts';
import { aStatus, anObject, condition, stateWith } from './status/support.ts';
import { run } from './support.ts';

/** With the folder `shop`, which has documents, and an empty one. */
function currentFolder(): string {
  const folder = path.dirname(temporaryFile('here/any'));
  mkdirSync(path.join(folder, 'shop'), { recursive: true });
  mkdirSync(path.join(folder, 'empty'));
  writeFileSync(path.join(folder, 'shop/web.yaml'), serviceDocument('web'));
  return folder;
}

const inFolder = (args: readonly string[]) => run(args, { currentFolder: currentFolder() });

test.each([
  [['status', 'shop'], '`fleetkeeper status -f shop`'],
  [['describe', 'shop', 'web'], '`fleetkeeper describe web -f shop`'],
  [['status', './shop'], '`fleetkeeper status -f ./shop`'],
  [['open', 'web', 'shop'], '`fleetkeeper open web -f shop`'],
  [['rollout', 'status', 'llm', 'shop'], '`fleetkeeper rollout status llm -f shop`'],
  [['logs', '-f', './shop', 'web'], '`fleetkeeper logs web --source ./shop`'],
  [['logs', '-f', 'shop', 'web'], '`fleetkeeper logs web --source shop`'],
])('a folder where a name is expected: %j', async (args, advice) => {
  const { code, stderr } = await inFolder(args);
  expect(code).toBe(1);
  expect(stderr).toContain('is taken for a name, and is a folder');
  expect(stderr).toContain(advice);
  expect(stderr.includes('-f means --follow here')).toBe(args[0] === 'logs');
});

test.each([[['status', 'empty']], [['status', 'nothing']], [['status', 'shop', '--source', 'shop']]])(
  'nothing is advised where no folder is meant: %j',
  async (args) => {
    const { code, stderr } = await inFolder(args);
    expect(code).toBe(1);
    expect(stderr).not.toContain('folder:');
  },
);

const fleet = anObject('ServiceFleet/default/checkout', {
  status: aStatus([condition('Ready', 'True', 'AllAvailable')]),
});
const replica = anObject('ContainerService/default/checkout-0');

test.each([
  [['status', 'servicefleet', 'checkout', '-o', 'name'], ['servicefleet/checkout']],
  [['status', 'cflt', '-o', 'name'], ['servicefleet/checkout']],
  [['status', 'csvc', '-o', 'name'], ['containerservice/checkout-0']],
])('%j works as with kubectl', async (args, expected) => {
  const { stdout } = await run([...args, ...(await stateWith([fleet, replica]))]);
  expect(stdout.trim().split('\n')).toEqual(expected);
});

test('describe takes a kind and names, too', async () => {
  const { code, stdout } = await run([
    'describe',
    'servicefleet',
    'checkout',
    ...(await stateWith([fleet, replica])),
  ]);
  expect([code, stdout]).toEqual([0, expect.stringMatching(/Name: +checkout\n/)]);
});

test('an object that is called as a kind is still found by its name', async () => {
  const called = anObject('ContainerService/default/fleet');
  const { stdout } = await run(['status', 'fleet', '-o', 'name', ...(await stateWith([called, fleet]))]);
  expect(stdout).toBe('containerservice/fleet\n');
});

test.each([
  [['rollout', 'status', 'servicefleet', 'checkout'], 'rollout status servicefleet/checkout'],
  [['scale', 'cflt', 'checkout', '--replicas', '2'], 'scale cflt/checkout'],
  [['endpoints', 'servicefleet', 'checkout'], 'endpoints servicefleet/checkout'],
  [['retire', 'csvc', 'checkout-0'], 'retire csvc/checkout-0'],
  [['resolve', 'csvc', 'web'], 'resolve csvc/web'],
  [['open', 'csvc', 'web'], 'open csvc/web'],
  [['logs', 'csvc', 'web'], 'logs csvc/web'],
  [['restart', 'csvc', 'web'], 'restart csvc/web'],
])('where it does not, the one word is shown: %j', async (args, advice) => {
  const { code, stderr } = await run([...args, '--source', path.join(currentFolder(), 'shop')]);
  expect(code).toBe(1);
  expect(stderr).toContain(`\`fleetkeeper ${advice}\``);
});

test('a flag is no name of an object, behind a folder that is called as a kind', async () => {
  const { code, stderr } = await inFolder(['plan', 'fleet', '--bogus']);
  expect([code, stderr]).toEqual([1, expect.stringContaining("unknown option '--bogus'")]);
  expect(stderr).not.toContain('fleet/--bogus');
});

test.each(['apply', 'status', 'destroy'])(
  'standard input is for `plan` only, and %s reports that',
  async (name) => {
    const { code, stderr } = await inFolder([name, '--source', '-']);
    expect([code, stderr]).toEqual([1, expect.stringContaining('is for `plan` only')]);
  },
);
