import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { systemRandom } from '../../../src/base/index.ts';
import { commandGroups } from '../../../src/cli/commands.ts';
import { settingKeys, settingsIn } from '../../../src/cli/flags/settings.ts';
import { readFolder } from '../../../src/desired/index.ts';
import { openState } from '../../../src/state/index.ts';
import { desiredOf, serviceDocument } from '../../support/desired.ts';
import { temporaryFile } from '../../support/temporary.ts';
import { defined } from './commands-document.ts';
import { run } from './support.ts';

function folderWith(text: string): string {
  const file = temporaryFile('fleetkeeper.yaml');
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
  return path.dirname(file);
}

function stateOf(folder: string, name: string): void {
  openState(path.join(folder, name), systemRandom, { default: 'lab', explicit: undefined }).close();
}

describe('fleetkeeper.yaml', () => {
  test('has the flags that a command line does not give; its paths are relative to it', async () => {
    const folder = folderWith('source: .\nstate: lab/state.db\noutput: yaml\n');
    stateOf(folder, 'lab/state.db');
    const { code, stdout, stderr } = await run(['status'], { currentFolder: folder });
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^kind: List$[^]*^items: \[\]$/m)]);
    expect(stderr).toBe(`using the folder ${folder}, with ${folder}/fleetkeeper.yaml\n`);
    const given = await run(['status', '-o', 'json'], { currentFolder: folder });
    expect(JSON.parse(given.stdout)).toMatchObject({ kind: 'List', items: [] });
  });

  test('may have flags of one command, which win over those of all', async () => {
    const folder = folderWith('source: .\noutput: yaml\ncommands: {status: {output: json}}\n');
    stateOf(folder, '.fleetkeeper/state.db');
    expect(JSON.parse((await run(['status'], { currentFolder: folder })).stdout)).toMatchObject({
      items: [],
    });
  });

  test('is of one fleet: a command about another one does not use it', async () => {
    const folder = folderWith('source: shop\noutput: yaml\n');
    for (const name of ['shop', 'other']) stateOf(folder, `${name}/.fleetkeeper/state.db`);
    const status = (name: string) =>
      run(['status', '-f', path.join(folder, name)], { currentFolder: folder });
    expect((await status('shop')).stdout).toContain('kind: List');
    expect(await status('other')).toMatchObject({
      stdout: expect.stringContaining('No objects.\n'),
      stderr: '',
    });
  });

  test('can not make a command read a device or a pipe without end', async () => {
    for (const key of ['/dev/zero', 'pipe']) {
      const folder = folderWith(`source: .\ndigest-key-file: ${key}\n`);
      writeFileSync(path.join(folder, 'a.yaml'), '');
      execFileSync('sh', ['-c', 'mkfifo "$0"', path.join(folder, 'pipe')]);
      const { code, stderr } = await run(['plan'], { currentFolder: folder });
      expect(code).toBe(1);
      expect(stderr).toContain('fleetkeeper.yaml:2: digest-key-file: it is no plain file');
    }
  });

  test('is one file: two for the same fleet are an error', async () => {
    const folder = folderWith('source: shop\n');
    mkdirSync(path.join(folder, 'shop'));
    writeFileSync(path.join(folder, 'shop/fleetkeeper.yaml'), 'owner: acme\n');
    const { code, stderr } = await run(['status'], { currentFolder: folder });
    expect([code, stderr]).toEqual([1, expect.stringContaining('are both for the fleet')]);
  });

  test('may have what other commands have, and only flags of the command under its name', async () => {
    const folder = folderWith('source: .\nlisten: 127.0.0.1:0\n');
    stateOf(folder, '.fleetkeeper/state.db');
    expect((await run(['status'], { currentFolder: folder })).code).toBe(0);
    writeFileSync(path.join(folder, 'fleetkeeper.yaml'), 'source: .\ncommands:\n  status: {listen: "a:1"}\n');
    const { code, stderr } = await run(['status'], { currentFolder: folder });
    expect(code).toBe(1);
    expect(stderr).toContain(':3: listen: `status` has no such setting');
  });

  test('selects no part of a fleet: its namespace is that of services by their names', async () => {
    const folder = folderWith('source: .\nnamespace: lab\n');
    stateOf(folder, '.fleetkeeper/state.db');
    writeFileSync(path.join(folder, 'web.yaml'), serviceDocument('web'));
    const stopped = await run(['stop', 'web'], { currentFolder: folder });
    expect(stopped.stderr).toContain('namespace lab');
    const planned = await run(['plan', '-o', 'json'], { currentFolder: folder });
    expect(planned.stdout).toContain('"name": "web"');
    writeFileSync(path.join(folder, 'fleetkeeper.yaml'), 'commands: {plan: {namespace: lab}}\n');
    const { code, stderr } = await run(['plan'], { currentFolder: folder });
    expect([code, stderr]).toEqual([1, expect.stringContaining(':1: namespace: `plan` has no such setting')]);
  });

  test('does not take the folder of `import --output` for a format', async () => {
    const folder = folderWith('source: .\noutput: json\n');
    const { stderr } = await run(['import'], { currentFolder: folder });
    expect(stderr).toContain("required option '--output <dir>'");
  });

  test.each([
    ['sorce: fleet', ':1: sorce: there is no such setting', 'did you mean source?'],
    ['owner: a\nfrobnicate: 1', ':2: frobnicate: there is no such setting', 'the keys here are account'],
    ['commands: {plann: {}}', ':1: plann: there is no such setting', 'did you mean plan?'],
    ['commands:\n  plan:\n    timeuot: 1m', ':3: timeuot', 'did you mean timeout?'],
    ['commands: {plan: {owner: a}}', ':1: owner: there is no such setting', 'the keys here are account'],
    ['yes: true', ':1: yes is a confirmation', 'pass it on the command line'],
    ['allow-mass-change: true', ':1: allow-mass-change is a confirmation', 'pass it on the command line'],
    ['accept-identity: a', ':1: accept-identity is a confirmation', 'pass it on the command line'],
    ['commands: {apply: {yes: true}}', ':1: yes is a confirmation', 'pass it on the command line'],
    ['api-key: hidden', ':1: api-key is not allowed: files like this are shared', 'FLEETKEEPER_API_KEY_FILE'],
    ['apiToken: hidden', ':1: apiToken is not allowed', 'FLEETKEEPER_API_KEY_FILE'],
    ['url: http://hidden', ':1: url is not allowed: an address in this file could get your key', 'Account'],
    ['kubeconfig: k', ':1: kubeconfig is not allowed: a kubeconfig may name programs', 'set KUBECONFIG'],
    ['target: a', ':1: target is what one command is about', 'command line'],
    ['owner: [hidden]', ':1: owner: expected a text', '`name: value`'],
    ['owner: "hidden\\e[2J"', ':1: owner: expected a text', '`name: value`'],
    ['owner:', ':1: owner: expected a text', '`name: value`'],
    ['- hidden', ':1: the file: expected object', '`name: value`'],
    ['owner: {', ':1: not valid YAML', ''],
    ['owner: a\n---\nowner: b', ':3: a second document', 'keep one'],
    ['owner: a\nowner: b', ':2: is written twice', 'keep one'],
  ])('is refused with the line and what to do: %j', (text, message, remedy) => {
    const folder = folderWith(text);
    expect(() => settingsIn(folder)).toThrow(
      expect.objectContaining({
        message: expect.stringContaining(`${folder}/fleetkeeper.yaml${message}`),
        remedy: expect.stringContaining(remedy),
      }),
    );
    expect(() => settingsIn(folder)).not.toThrow(/hidden/);
  });

  test('with a value that the flag does not take is refused with its line', async () => {
    const folder = folderWith('source: .\nsettle: soon\n');
    const { code, stderr } = await run(['apply'], { currentFolder: folder });
    expect(code).toBe(1);
    expect(stderr).toContain(`${folder}/fleetkeeper.yaml:2: settle: expected a duration such as 30s`);
  });

  test('of a folder has no flags of clusters', async () => {
    const folder = folderWith('source: .\ncontext: prod\n');
    const { code, stderr } = await run(['status'], { currentFolder: folder });
    expect([code, stderr]).toEqual([1, expect.stringContaining('--context is for clusters')]);
  });

  test('is read only if it is a file of a bounded size: a pipe would be waited for', async () => {
    const folder = folderWith('');
    const file = path.join(folder, 'fleetkeeper.yaml');
    const refusal = (text: string) =>
      expect.objectContaining({ message: `can't read ${file}: ${text}`, name: 'UserError' });
    truncateSync(file, 5 * 1024 * 1024);
    expect(() => settingsIn(folder)).toThrow(refusal('it is larger than 1 MiB'));
    rmSync(file);
    symlinkSync('/dev/zero', file);
    expect(() => settingsIn(folder)).toThrow(refusal('it is no plain file'));
    rmSync(file);
    execFileSync('sh', ['-c', 'mkfifo "$0"', file]);
    // Should somebody wait for it all the same, it ends.
    const writer = spawn('sh', ['-c', `sleep 5; : <> "$0"`, file], { stdio: 'ignore' });
    expect(() => settingsIn(folder)).toThrow(refusal('it is no plain file'));
    writer.kill();
  });

  test('may be empty', () => {
    expect(settingsIn(folderWith('# nothing yet\n'))?.of('plan').size).toBe(0);
    expect(settingsIn(folderWith(''))?.source).toBeUndefined();
  });
});

test('every setting is a flag of a command', async () => {
  const commands = await Promise.all(Object.values(commandGroups).flat().map(defined));
  const flags = new Set(commands.flatMap(({ options }) => options.map(({ long }) => long)));
  const keys = [...settingKeys.everywhere, ...settingKeys.ofACommand];
  expect(keys.filter((key) => !flags.has(`--${key}`))).toEqual([]);
});

describe('in the folder of a fleet', () => {
  test('it is no document, and a folder with nothing else is empty', async () => {
    const folder = folderWith('owner: acme\n');
    expect(await readFolder(folder)).toMatchObject({ problems: [{ message: 'there is no document in it' }] });
    writeFileSync(path.join(folder, 'web.yaml'), serviceDocument('web'));
    expect(await readFolder(folder)).toMatchObject({ problems: [], complete: true });
  });

  test('a file of documents with its name stays one, and is not read for flags', () => {
    const snapshot = desiredOf({ 'fleetkeeper.yaml': serviceDocument('web') });
    expect([...snapshot.objects.keys()]).toEqual(['ContainerService/default/web']);
    expect(settingsIn(folderWith(serviceDocument('web')))).toBeUndefined();
  });

  test.each(['owner: {', 'owner: acme\n---\nkind: Account\n'])(
    'one that may have documents leaves the folder incomplete: %j',
    (text) => {
      expect(desiredOf({ 'fleetkeeper.yaml': text }).complete).toBe(false);
    },
  );
});
