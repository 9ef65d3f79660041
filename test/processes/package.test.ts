/** What `npm pack` makes, as a user has it: one file, in an empty folder, with nothing else from anywhere. */
import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, readdir, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { build } from 'rolldown';
import { expect, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import options from '../../rolldown.config.ts';
import { version } from '../../src/cli/version.ts';
import { definitionStream, schemaText } from '../../src/crdgen/index.ts';
import { temporaryFolder } from '../support/processes/processes.ts';

const root = path.resolve(import.meta.dirname, '../..');
const run = promisify(execFile);

/** What is packed, with a `dist` of one build: that of the checkout keeps, for other runs of tests, what earlier builds left there. */
async function stage(folder: string): Promise<string> {
  const staged = path.join(folder, 'staged');
  const made = manifest.files.filter((name) => !/^!|^dist$/.test(name));
  for (const name of [...made, 'package.json', 'README.md', 'LICENSE']) {
    await cp(path.join(root, name), path.join(staged, name), { recursive: true });
  }
  await build({ ...options, output: { ...options.output, dir: path.join(staged, 'dist') } });
  return staged;
}

/** Names in the package, and where it is. */
async function pack(folder: string): Promise<{ file: string; names: string[]; size: number }> {
  const cwd = await stage(folder);
  const { stdout } = await run('npm', ['pack', '--json', `--pack-destination=${folder}`], { cwd });
  const [packed] = JSON.parse(stdout) as { filename: string; size: number; files: { path: string }[] }[];
  if (!packed) throw new Error('npm packed nothing');
  return {
    file: path.join(folder, packed.filename),
    names: packed.files.map((file) => file.path),
    size: packed.size,
  };
}

test('the package is one file below 2 MB, installs alone without a network, and runs on Node 24', async () => {
  const folder = await temporaryFolder();
  const { file, names, size } = await pack(folder);
  expect(size).toBeLessThan(2_000_000);
  expect((await stat(file)).size).toBe(size);
  const rooms = new Set(names.map((name) => name.split('/')[0] ?? ''));
  const expected = [
    'CHANGELOG.md',
    'LICENSE',
    'README.md',
    'bin',
    'contrib',
    'crds',
    'dist',
    'examples',
    'manifests',
    'package.json',
    'schemas',
  ];
  expect([...rooms].sort()).toEqual(expected);
  expect(names.filter((name) => /\.(map|ts|db|log)$/.test(name))).toEqual([]);
  expect(names).toContain('dist/sbom.json');
  expect(names).toContain('dist/THIRD-PARTY.md');

  const home = path.join(folder, 'home');
  await mkdir(home);
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', file], { cwd: home });
  const installed = await readdir(path.join(home, 'node_modules'));
  expect(installed.filter((name) => !name.startsWith('.'))).toEqual(['fleetkeeper']);
  const command = path.join(home, 'node_modules/.bin/fleetkeeper');
  const said = await run(process.execPath, [command, '--version'], { cwd: home });
  expect(said).toEqual({ stdout: `${version}\n`, stderr: '' });
  const crds = await run(process.execPath, [command, 'crds'], { cwd: home });
  expect(crds.stdout.trimEnd()).toBe(definitionStream().trimEnd());
  const schema = path.join(home, 'node_modules/fleetkeeper/schemas/folder.json');
  expect(await readFile(schema, 'utf8')).toBe(schemaText());
});

test('an older Node gets one sentence', async () => {
  const folder = await temporaryFolder();
  const older = path.join(folder, 'older.cjs');
  await writeFile(
    older,
    `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '18.20.8' } });`,
  );
  const main = path.join(root, 'bin/fleetkeeper.cjs');
  const { code, stdout, stderr } = await run(process.execPath, ['--require', older, main, '--version']).then(
    () => ({ code: 0, stdout: '', stderr: '' }),
    (error: { code: number; stdout: string; stderr: string }) => error,
  );
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(
    /^fleetkeeper: needs Node 24 or newer, and \S+ is Node 18\.20\.8: install a newer one[^\n]*\n$/,
  );
});
