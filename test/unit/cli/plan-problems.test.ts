/** What `plan` reports beside changes: in JSON as in text, with one exit code. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { freePort, serve } from '../../servers/api/support.ts';
import { serviceDocument } from '../../support/desired.ts';
import { temporaryFile } from '../../support/temporary.ts';
import { readPlanJson } from '../../support/plan-form.ts';
import { CommandLine, run } from './support.ts';

function folderWith(files: Readonly<Record<string, string>>): string {
  const directory = path.dirname(temporaryFile('fleet/any.yaml'));
  mkdirSync(directory, { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(directory, name), text);
  return directory;
}

test('a broken document and an account that can not be read are in JSON as in text, and count alike', async () => {
  const source = folderWith({
    'web.yaml': serviceDocument('web'),
    'bad.yaml': serviceDocument('bad').replace('image:', 'imgae:'),
  });
  const url = `http://127.0.0.1:${await freePort()}`;
  const environment = { FLEETKEEPER_API_URL: url, FLEETKEEPER_API_KEY: 'key' };
  const text = await run(['plan', '--source', source], { environment });
  const json = await run(['plan', '--source', source, '--output', 'json'], { environment });
  expect([text.code, json.code]).toEqual([1, 1]);
  const { problems, unreadAccounts, summary } = readPlanJson(json.stdout);
  expect(summary.problems).toBe(problems.length);
  expect(problems).toContainEqual({
    file: 'bad.yaml',
    line: expect.any(Number),
    path: 'spec.imgae',
    message: 'unknown field `imgae`',
    remedy: 'did you mean `image`?',
    object: 'ContainerService/default/bad',
  });
  expect(unreadAccounts).toEqual([
    { account: null, file: null, line: null, reason: expect.any(String), message: expect.any(String) },
  ]);
  for (const { file, line, path: field, message, remedy } of problems) {
    expect(text.stderr).toContain(`${file}:${line}: ${field}: ${message}; ${remedy}`);
  }
  expect(text.stderr).toContain(`the account can't be read: ${unreadAccounts[0].message}`);
});

test('a plan that is stopped with Ctrl-C does not advise to check the API', async () => {
  const source = folderWith({ 'web.yaml': serviceDocument('web') });
  const asked = Promise.withResolvers<void>();
  const silent = await serve(() => asked.resolve());
  const environment = { FLEETKEEPER_API_URL: silent.url, FLEETKEEPER_API_KEY: 'key-of-the-test' };
  const line = new CommandLine(['plan', '--source', source], { environment });
  await asked.promise;
  line.stop();
  expect(await line.ended).toBe(1);
  await line.shows('stopped before the plan was complete', 'stderr');
  expect(line.stderr).toContain('nothing is changed');
  expect(line.stderr).not.toContain('--timeout');
});
