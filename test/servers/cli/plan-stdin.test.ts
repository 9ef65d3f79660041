/** `plan --source -`: documents that another program prints. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { ControlPlane } from '../../support/processes/control-plane.ts';
import { readPlanJson } from '../../support/plan-form.ts';
import { account, service } from '../../support/processes/fleet.ts';
import { temporaryFolder } from '../../support/processes/processes.ts';
import { CommandLine, run } from '../../unit/cli/support.ts';
import { writeFile } from 'node:fs/promises';

const json = ['--output', 'json'];

async function world() {
  const folder = await temporaryFolder();
  const plane = await new ControlPlane(folder, { timeScale: 1000 }).start();
  const documents = (...services: object[]) =>
    [...account(plane.url), ...services].map((document) => stringify(document)).join('---\n');
  const file = path.join(folder, 'fleet.yaml');
  const apply = async (text: string, ...flags: string[]) => {
    await writeFile(file, text);
    return run(['apply', '--source', file, '--yes', '--stable', '0s', ...flags]);
  };
  return { folder, file, documents, apply };
}

test('is what the plan of a file with the same documents is', async () => {
  const { file, documents } = await world();
  const text = documents(service('web'), service('worker'));
  await writeFile(file, text);
  const ofFile = await run(['plan', '--source', file, '--owner', 'shop', ...json]);
  const ofInput = await run(['plan', '--source', '-', '--owner', 'shop', ...json], { stdin: text });
  expect([ofInput.code, ofInput.stderr]).toEqual([2, '']);
  expect(readPlanJson(ofInput.stdout)).toEqual(readPlanJson(ofFile.stdout));
});

test('the owner alone finds what earlier runs have made, and records nothing', async () => {
  const { folder, documents, apply } = await world();
  const text = documents(service('web'));
  const state = path.join(folder, 'applied.db');
  expect((await apply(text, '--owner', 'shop', '--state', state)).code).toBe(0);
  const before = await readFile(state);
  const again = await run(['plan', '--source', '-', '--owner', 'shop', ...json], { stdin: text });
  expect([again.code, readPlanJson(again.stdout).summary.unchanged]).toEqual([0, 1]);
  const other = documents(service('web', { image: 'ghcr.io/acme/app:2' }));
  const changed = await run(['plan', '-', '--owner', 'shop', ...json], { stdin: other });
  expect([changed.code, readPlanJson(changed.stdout).summary.update]).toEqual([2, 1]);
  expect(await readFile(state)).toEqual(before);
});

test('with a state, no owner is needed, and what the documents lack is a deletion', async () => {
  const { folder, documents, apply } = await world();
  const state = path.join(folder, 'applied.db');
  await apply(documents(service('web'), service('worker')), '--owner', 'shop', '--state', state);
  const { code, stdout } = await run(['plan', '--source', '-', '--state', state, ...json], {
    stdin: documents(service('web')),
  });
  expect(code).toBe(2);
  expect(readPlanJson(stdout).changes).toMatchObject([{ name: 'worker', action: 'delete' }]);
});

test('without an owner and a state it is refused, before anything is read', async () => {
  const { code, stderr } = await run(['plan', '--source', '-']);
  expect(code).toBe(1);
  expect(stderr).toContain('pass --owner NAME');
});

test.each(['', '\n# only a comment\n'])(
  'input without a document is an error, not an empty fleet: %j',
  async (stdin) => {
    const { code, stderr } = await run(['plan', '--source', '-', '--owner', 'shop'], { stdin });
    expect(code).toBe(1);
    expect(stderr).toContain('no document on standard input');
  },
);

test('a mistake has its line in the input', async () => {
  const { documents } = await world();
  const text = documents(service('web'), service('bad', { imgae: 'x' }));
  const line = text.split('\n').findIndex((one) => one.includes('imgae')) + 1;
  const { code, stderr } = await run(['plan', '--source', '-', '--owner', 'shop'], { stdin: text });
  expect(code).toBe(1);
  expect(stderr).toContain(`stdin:${line}: spec.imgae: unknown field`);
});

test('it may be larger than a file of a folder, up to its own bound', async () => {
  const { documents } = await world();
  const padding = `# ${'x'.repeat(1022)}\n`;
  const large = documents(service('web')) + padding.repeat(2000);
  const { code } = await run(['plan', '--source', '-', '--owner', 'shop', ...json], { stdin: large });
  expect(code).toBe(2);
  const tooLarge = await run(['plan', '--source', '-', '--owner', 'shop'], { stdin: padding.repeat(65_600) });
  expect(tooLarge.code).toBe(1);
  expect(tooLarge.stderr).toContain('more than 64 MiB');
});

test('Ctrl-C ends it while it waits for input', async () => {
  const line = new CommandLine(['plan', '--source', '-', '--owner', 'shop'], {});
  setImmediate(() => line.stop());
  expect(await line.ended).toBe(1);
  expect(line.stderr).toContain('stopped before the plan was complete');
});
