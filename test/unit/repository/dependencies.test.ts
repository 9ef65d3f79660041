/** What we depend on is what docs/internals/dependencies.md says, and what the lockfile holds can't be exchanged. */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';

interface Package {
  readonly version: string;
  readonly license?: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly dev?: boolean;
  readonly hasInstallScript?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const text = (file: string) => readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8');
const manifest = JSON.parse(text('package.json')) as {
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly allowScripts: Readonly<Record<string, boolean>>;
};
const { '': _root, ...locked } = (
  JSON.parse(text('package-lock.json')) as { readonly packages: Readonly<Record<string, Package>> }
).packages;

/** Where `name` is found from the package at `from`, as Node looks for it. */
function placeOf(name: string, from: string): string | undefined {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('node_modules/') - 1))) {
    const place = `${folder}${folder === '' ? '' : '/'}node_modules/${name}`;
    if (locked[place]) return place;
    if (folder === '') return undefined;
  }
}

/** Packages that src/ imports. The bundle holds them, and what they bring along; the package itself has no dependency. */
function bundled(): string[] {
  const root = path.join(import.meta.dirname, '../../..');
  const names = globSync('src/**/*.ts', { cwd: root }).flatMap((file) =>
    Array.from(
      text(file).matchAll(/(?:from|import\() ?'(?<name>@[^/']+\/[^/']+|[^./'][^/':]*)[^':]*'/g),
      ({ groups }) => groups?.['name'] ?? '',
    ),
  );
  return [...new Set(names)].filter((name) => name in manifest.devDependencies).sort();
}

/** How many packages come with the one that we name. */
function broughtAlong(name: string): number {
  const seen = new Set<string>();
  const visit = (wanted: string, from: string): void => {
    const place = placeOf(wanted, from);
    const found = place === undefined ? undefined : locked[place];
    if (!found || place === undefined || seen.has(place)) return;
    seen.add(place);
    for (const next of Object.keys({ ...found.dependencies, ...found.optionalDependencies }))
      visit(next, place);
  };
  visit(name, '');
  return seen.size - 1;
}

describe('the dependencies', () => {
  test('are told in docs/internals/dependencies.md, each with version, licence, and how many it brings along', () => {
    const rows = [
      ...text('docs/internals/dependencies.md').matchAll(
        /^\| `(.+?)` \| (.+?) \| (.+?) \| (\d+) \| .+ \| .+ \|$/gm,
      ),
    ];
    const reported = rows.map(([, name, version, license, count]) => [name, version, license, Number(count)]);
    const held = bundled().map((name) => {
      const { version, license } = locked[`node_modules/${name}`] ?? {};
      return [name, version, license, broughtAlong(name)];
    });
    expect(reported).toEqual(held);
  });

  test('have exact versions', () => {
    const versions = Object.entries(manifest.devDependencies);
    expect(versions.filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([]);
  });

  test('are locked with a hash each, and from nowhere in particular', () => {
    const entries = Object.entries(locked);
    expect(entries.length).toBeGreaterThan(100);
    expect(entries.filter(([, { integrity }]) => !integrity?.startsWith('sha512-'))).toEqual([]);
    expect(entries.filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
    expect(text('package-lock.json')).not.toMatch(/https?:\/\/registry|"(?:git|ssh|file|https?):[^"]*tgz"/);
  });

  test('run nothing when they are installed; only what brings Node has a script, and no user gets it', () => {
    expect(text('.npmrc').split('\n')).toContain('ignore-scripts=true');
    const scripted = Object.entries(locked).filter(([, { hasInstallScript }]) => hasInstallScript);
    expect(scripted.map(([place]) => place)).toEqual(['node_modules/node']);
    expect(manifest.allowScripts).toEqual({ node: true });
    expect(manifest).not.toHaveProperty('dependencies');
  });
});
