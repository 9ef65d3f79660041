/** What `npm pack` makes, as a user has it: one file, in an empty folder, with nothing else from anywhere. */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { build } from 'rolldown';
import { afterAll, beforeAll, expect, test } from 'vitest';
import options from '../../rolldown.config.ts';
import { version } from '../../src/cli/version.ts';
import { reasons, sectionOf } from '../../src/reasons/index.ts';
import { definitionStream, schemaText } from '../../src/crdgen/index.ts';
import { temporaryFolder } from '../support/processes/processes.ts';

const root = path.resolve(import.meta.dirname, '../..');
const run = promisify(execFile);

/** The files of the repository with a build of their own: dist/ also has what earlier runs have built (build.ts). */
const stage = await mkdtemp(path.join(tmpdir(), 'fleetkeeper-package-'));
afterAll(() => rm(stage, { recursive: true, force: true }));

beforeAll(async () => {
  await build({
    ...options,
    logLevel: 'silent',
    output: { ...options.output, dir: path.join(stage, 'dist') },
  });
  const manifest = await readFile(path.join(root, 'package.json'), 'utf8');
  const { files } = JSON.parse(manifest) as { files: string[] };
  const own = files.filter((name) => !/^!|^dist$/.test(name));
  for (const name of [...own, 'package.json', '.npmrc', 'README.md', 'LICENSE']) {
    await cp(path.join(root, name), path.join(stage, name), { recursive: true });
  }
}, 60_000);

/** Names in the package, and where it is. */
async function pack(folder: string): Promise<{ file: string; names: string[]; size: number }> {
  const { stdout } = await run('npm', ['pack', '--json', `--pack-destination=${folder}`], { cwd: stage });
  const [packed] = JSON.parse(stdout) as { filename: string; size: number; files: { path: string }[] }[];
  if (!packed) throw new Error('npm packed nothing');
  return {
    file: path.join(folder, packed.filename),
    names: packed.files.map((file) => file.path),
    size: packed.size,
  };
}

test('the package is one file of about 2 MB, installs alone without a network, and runs on Node 24', async () => {
  const folder = await temporaryFolder();
  const { file, names, size } = await pack(folder);
  expect(size).toBeLessThan(2_200_000);
  expect((await stat(file)).size).toBe(size);
  const rooms = new Set(names.map((name) => name.split('/')[0] ?? ''));
  const expected = [
    'CHANGELOG.md',
    'CONTRIBUTING.md',
    'LICENSE',
    'README.md',
    'SECURITY.md',
    'bin',
    'charts',
    'contrib',
    'crds',
    'dist',
    'docs',
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
  const { stdout: help } = await run(process.execPath, [command, '--help'], { cwd: home });
  const [, documents = ''] = /^Documents: (.*)$/m.exec(help) ?? [];
  expect(await readdir(documents)).toContain('quickstart.md');
  const crds = await run(process.execPath, [command, 'crds'], { cwd: home });
  expect(crds.stdout.trimEnd()).toBe(definitionStream().trimEnd());
  const schema = path.join(home, 'node_modules/fleetkeeper/schemas/folder.json');
  expect(await readFile(schema, 'utf8')).toBe(schemaText());
});

/** Relative targets of Markdown links, as paths of the package. */
async function linksOf(name: string): Promise<string[]> {
  const text = await readFile(path.join(root, name), 'utf8');
  return [...text.matchAll(/\]\(([^)#\s:]+)(?:#[^)\s]*)?\)/g)].map(([, target = '']) =>
    path.posix.join(path.posix.dirname(name), target),
  );
}

/** Documents that texts of the program name. Those of libraries have other folders. */
const named = /docs\/(?:(?:concepts|how-to|reference|internals)\/[a-z-]+|quickstart|glossary|README)\.md/g;

test('whatever the command, README and documents point to is in the package', async () => {
  const { names } = await pack(await temporaryFolder());
  const packed = new Set(names);
  const chunks = names.filter((name) => /^(?:dist|bin|examples|manifests|contrib)\//.test(name));
  const texts = await Promise.all(chunks.map((name) => readFile(path.join(stage, name), 'utf8')));
  const inTexts = texts.flatMap((text) => [...text.matchAll(named)].map(([found]) => found));
  expect(inTexts).toContain('docs/how-to/import.md');
  const sections = Object.values(reasons).map((reason) => sectionOf(reason).replace(/#.*/, ''));
  expect([...inTexts, ...sections].filter((name) => !packed.has(name))).toEqual([]);
  expect((await linksOf('README.md')).filter((name) => !isPacked(packed, name))).toEqual([]);

  const documents = names.filter((name) => /^docs\/(?!internals\/).*\.md$/.test(name));
  const links = (await Promise.all(documents.map(linksOf))).flat();
  const dead = links.filter((name) => !isPacked(packed, name));
  // How it is made: docs/README.md says that these are in the repository.
  expect(dead.filter((name) => !name.startsWith('docs/internals/'))).toEqual([]);
});

/** A folder is there if something in it is. */
function isPacked(packed: ReadonlySet<string>, name: string): boolean {
  return packed.has(name) || [...packed].some((file) => file.startsWith(`${name.replace(/\/$/, '')}/`));
}

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
