import { mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { systemRandom } from '../../../src/base/index.ts';
import { chooseSource } from '../../../src/cli/flags/default-source.ts';
import { ownerChoice, stateFile } from '../../../src/cli/options.ts';
import { openState } from '../../../src/state/index.ts';
import { serviceDocument } from '../../support/desired.ts';
import { temporaryFile } from '../../support/temporary.ts';
import { run, type RunOptions } from './support.ts';

/** A folder called `x` with these files. */
function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = path.dirname(temporaryFile('x/any'));
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
  }
  return realpathSync(folder);
}

const web = serviceDocument('web');
const ofOurs = (kind: string) =>
  JSON.stringify({ apiVersion: 'fleetkeeper.dev/v1', kind, objects: [{ kind: 'ContainerService' }] });
const policy = 'apiVersion: fleetkeeper.dev/v1\nkind: PlanPolicy\nrules: []\n';
const listed = JSON.stringify({ kind: 'List', items: [{ apiVersion: 'fleetkeeper.dev/v1' }] });

function saveState(folder: string): void {
  openState(path.join(folder, '.fleetkeeper/state.db'), systemRandom, {
    default: 'lab',
    explicit: undefined,
  }).close();
}

/** Relative to the folder; undefined: there is none. */
async function sourceIn(folder: string, given: { dir?: string; source?: string } = {}) {
  const chosen = await chooseSource({
    dir: given.dir,
    source: given.source,
    currentFolder: given.dir === undefined ? folder : '',
  });
  return chosen && path.relative(folder, path.resolve(chosen.source));
}

describe('the folder that nobody named', () => {
  test.each([
    ['fleet, with documents', { 'fleet/web.yaml': web }, 'fleet'],
    ['fleet, with documents in its folders only', { 'fleet/services/web.yaml': web }, 'fleet'],
    ['the current one, with documents', { 'web.yaml': web }, ''],
    ['the current one, with documents in JSON', { 'web.json': '{"apiVersion": "fleetkeeper.dev/v1"}' }, ''],
    ['that of fleetkeeper.yaml', { 'fleetkeeper.yaml': 'source: shop', 'fleet/web.yaml': web }, 'shop'],
    ['the current one, by fleetkeeper.yaml', { 'fleetkeeper.yaml': 'source: .', 'fleet/web.yaml': web }, ''],
    ['fleet, beside a plan file', { 'fleet/web.yaml': web, 'plan.json': ofOurs('Plan') }, 'fleet'],
    ['fleet, beside a policy', { 'fleet/web.yaml': web, 'policy.yaml': policy }, 'fleet'],
    ['the current one, with a policy in the file of a document', { 'all.yaml': `${policy}---\n${web}` }, ''],
    ['the current one, with a list in JSON', { 'all.json': listed }, ''],
    ['none: documents of others are no fleet', { 'a.yaml': 'apiVersion: v1\nkind: Pod' }, undefined],
    ['none: a folder far below is not found', { 'my/fleet/web.yaml': web }, undefined],
    ['none: fleet has no documents', { 'fleet/README.md': 'none', 'other.txt': web }, undefined],
  ])('is %s', async (_title, files, expected) => {
    expect(await sourceIn(folderWith(files))).toBe(expected);
  });

  test('is one with a state, although its documents are gone', async () => {
    const folder = folderWith({ 'fleet/README.md': 'empty' });
    saveState(path.join(folder, 'fleet'));
    expect(await sourceIn(folder)).toBe('fleet');
  });

  test('is never guessed: two candidates are an error that names both', async () => {
    const both = folderWith({ 'web.yaml': web, 'fleet/web.yaml': web });
    await expect(sourceIn(both)).rejects.toMatchObject({
      message: `the folder ${both} and the folder ${both}/fleet may both be the fleet: each has documents or a state`,
      remedy: expect.stringContaining('--source'),
    });
    const nested = folderWith({ 'fleet/web.yaml': web });
    saveState(nested);
    await expect(sourceIn(nested)).rejects.toThrow('may both be the fleet');
  });
});

describe('the argument DIR', () => {
  test.each([
    { 'web.yaml': web },
    { 'fleet/web.yaml': web },
    { 'fleetkeeper.yaml': 'source: shop\nowner: acme', 'shop/web.yaml': web },
    { 'fleetkeeper.yaml': 'owner: acme', 'fleet/web.yaml': web },
    { 'fleetkeeper.yaml': 'owner: acme\nstate: s.db', 'web.yaml': web },
  ])('is the fleet, owner and state of a command that is started there: %j', async (files) => {
    const x = folderWith(files);
    const inside = await chooseSource({ dir: undefined, source: undefined, currentFolder: x });
    const outside = await chooseSource({ dir: x, source: undefined, currentFolder: path.dirname(x) });
    const identity = (chosen: typeof inside) => {
      const source = chosen?.source ?? '';
      const flags = Object.fromEntries(
        [...(chosen?.settings?.of('plan') ?? [])].map(([key, { text }]) => [key, text]),
      );
      return [path.resolve(source), ownerChoice({ source, ...flags }), stateFile({ source, ...flags })];
    };
    mkdirSync(path.join(x, 'shop'), { recursive: true });
    expect(identity(outside)).toEqual(identity(inside));
  });

  test('is a file or a folder as it is, if it has no fleet by these rules', async () => {
    const folder = folderWith({ 'one.yaml': web, 'deep/er/web.yaml': web });
    expect(await sourceIn(folder, { dir: path.join(folder, 'one.yaml') })).toBe('one.yaml');
    expect(await sourceIn(folder, { dir: path.join(folder, 'deep') })).toBe('deep');
    expect(await sourceIn(folder, { dir: path.join(folder, 'none') })).toBe('none');
  });

  test('may repeat --source, and not contradict it', async () => {
    const folder = folderWith({ 'fleet/web.yaml': web });
    const fleet = path.join(folder, 'fleet');
    expect(await sourceIn(folder, { dir: fleet, source: `${fleet}/` })).toBe('fleet');
    expect(await sourceIn(folder, { dir: folder, source: fleet })).toBe('fleet');
    await expect(sourceIn(folder, { dir: folder, source: '/elsewhere' })).rejects.toThrow(
      `${folder} and --source /elsewhere are different folders`,
    );
  });
});

test('--source is the folder that it names, whatever is in it', async () => {
  const folder = folderWith({ 'fleet/web.yaml': web, 'fleetkeeper.yaml': 'source: fleet' });
  const chosen = await chooseSource({ dir: undefined, source: folder, currentFolder: '/' });
  expect(chosen).toMatchObject({ source: folder, settings: undefined, isNamed: true });
});

describe('a command', () => {
  const inFolder = (args: readonly string[], currentFolder: string, more: RunOptions = {}) =>
    run(args, { currentFolder, ...more });

  test('reports on stderr which folder it has found, and not the one that it was given', async () => {
    const folder = folderWith({ 'fleet/web.yaml': web });
    saveState(path.join(folder, 'fleet'));
    const found = await inFolder(['status'], folder);
    expect(found).toMatchObject({ code: 0, stderr: `using the folder ${folder}/fleet\n` });
    const named = await inFolder(['status', '-f', path.join(folder, 'fleet')], folder);
    expect(named).toMatchObject({ code: 0, stderr: '' });
  });

  test('that finds none explains where it has searched', async () => {
    const { code, stdout, stderr } = await inFolder(['plan'], folderWith({}));
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(
      /required option '--source <dir>' not specified.*fleetkeeper.yaml.*fleet.*current/,
    );
  });

  test('given a folder without a state by --source reports the state of the fleet in it', async () => {
    const folder = folderWith({ 'fleet/web.yaml': web });
    saveState(path.join(folder, 'fleet'));
    const { stderr } = await inFolder(['plan', '--source', folder], folder);
    expect(stderr).toContain(`the folder ${folder}/fleet has a state, and the folder ${folder} has none`);
  });

  test('of an account keeps to that of the environment, unless fleetkeeper.yaml names a source', async () => {
    const environment = { FLEETKEEPER_API_URL: 'http://127.0.0.1:9' };
    const folder = folderWith({ 'web.yaml': web });
    const alone = await inFolder(['inventory'], folder, { environment });
    expect(alone.stderr).toContain('there is no API key');
    expect(alone.stderr).not.toContain('using');
    const withoutUrl = await inFolder(['inventory'], folder);
    expect(withoutUrl.stderr).toContain(`using the folder ${folder}`);
    writeFileSync(path.join(folder, 'fleetkeeper.yaml'), 'source: .');
    const configured = await inFolder(['inventory'], folder, { environment });
    expect(configured.stderr).toContain(`using the folder ${folder}`);
  });

  test('that runs a command of somebody else leaves 1 to that one', async () => {
    const folder = folderWith({ 'web.yaml': web, 'fleet/web.yaml': web });
    expect((await inFolder(['exec', 'web', '--', 'ls'], folder)).code).toBe(125);
  });
});

describe('flags that mean nothing for the source', () => {
  test.each([
    [['plan', '--kubeconfig', 'k'], '--kubeconfig is for clusters'],
    [['run', '--lease', '5s'], '--lease is for clusters'],
    [['status', '--watch-namespaces', 'a'], '--watch-namespaces is for clusters'],
    [['apply', '--shard', '0/2'], '--shard is for clusters'],
    [['run', '--source', 'kubernetes', '--state', 's.db'], '--state is for folders'],
    [['run', '--source', 'kubernetes', '--file-grace', '1m'], '--file-grace is for folders'],
    [['plan', '--source', 'kubernetes', '--digest-key-file', 'k'], '--digest-key-file is for folders'],
  ])('are refused: %j', async (args, message) => {
    const { code, stderr } = await run(args, { currentFolder: folderWith({ 'web.yaml': web }) });
    expect(code).toBe(1);
    expect(stderr).toContain(`error: ${message}`);
  });

  test('are refused where there is no source, too', async () => {
    const environment = { FLEETKEEPER_API_URL: 'http://127.0.0.1:9' };
    const { code, stderr } = await run(['inventory', '--context', 'prod'], {
      environment,
      currentFolder: folderWith({}),
    });
    expect([code, stderr]).toEqual([1, expect.stringContaining('--context is for clusters')]);
  });
});
