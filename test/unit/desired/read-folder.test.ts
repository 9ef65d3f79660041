import { chmodSync, existsSync, lstatSync, mkdirSync, rmSync, symlinkSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/index.ts';
import { FolderReader } from '../../../src/desired/folder/folder-reader.ts';
import { createFileSource, readFolder, type DesiredSnapshot } from '../../../src/desired/index.ts';
import { documents, service } from './documents.ts';
import { names, removeTemporary, temporaryFolder, reported, writeInto } from './folders.ts';

let folder: string;
const write = (file: string, text: string) => writeInto(folder, file, text);

beforeEach(() => {
  folder = temporaryFolder();
});

afterEach(() => removeTemporary(folder));

describe('a folder is read', () => {
  test('with its subfolders, and without what is not meant', async () => {
    write('a.yaml', service('a'));
    write('deep/er/b.yml', service('b'));
    write('c.json', JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c' } }));
    for (const skipped of [
      '.git/x.yaml',
      '.fleetkeeper/x.yaml',
      '.hidden.yaml',
      'node_modules/x.yaml',
      'a.yaml~',
      '.#a.yaml',
      '#a.yaml#',
      '.a.yaml.swp',
      '4913',
      'README.md',
      'a.yaml.orig',
      '..2026/a.yaml',
    ]) {
      write(skipped, service('skipped'));
    }
    const snapshot = await readFolder(folder);
    expect(names(snapshot)).toEqual(['a', 'b']);
    expect(snapshot).toMatchObject({ complete: true, empty: false, problems: [], sequence: 1 });
    expect(snapshot.objects.get('ContainerService/default/b')?.location.file).toBe('deep/er/b.yml');
    expect(snapshot.configMaps.has('default/c')).toBe(true);
  });

  test('or a single file', async () => {
    write('a.yaml', service('a'));
    write('b.yaml', service('b'));
    expect(names(await readFolder(join(folder, 'b.yaml')))).toEqual(['b']);
  });

  test('through links; circles end, and what is reached twice counts once', async () => {
    write('real/a.yaml', service('a'));
    write('.shared/b.yaml', service('b'));
    symlinkSync(join(folder, '.shared'), join(folder, 'linked'));
    symlinkSync('..', join(folder, 'real', 'circle'));
    symlinkSync('real', join(folder, 'again'));
    symlinkSync('real/a.yaml', join(folder, 'a-too.yaml'));
    const snapshot = await readFolder(folder);
    expect(names(snapshot)).toEqual(['a', 'b']);
    expect(snapshot).toMatchObject({ complete: true, problems: [] });
    expect(snapshot.objects.get('ContainerService/default/a')?.location.file).toBe('real/a.yaml');
  });

  test('a link that leads nowhere leaves it incomplete', async () => {
    write('a.yaml', service('a'));
    symlinkSync('gone', join(folder, 'more'));
    const snapshot = await readFolder(folder);
    expect(snapshot.complete).toBe(false);
    expect(reported(snapshot)).toEqual([
      'more: is a link to something that is not there; fix the link, or remove it',
    ]);
    expect(names(snapshot)).toEqual(['a']);
  });

  test('a file that is too large leaves it incomplete', async () => {
    write('a.yaml', service('a'));
    write('b.yaml', `${service('b')}# ${'x'.repeat(1024 * 1024)}`);
    const snapshot = await readFolder(folder);
    expect(snapshot.complete).toBe(false);
    expect(reported(snapshot)[0]).toMatch(/^b.yaml: the file is larger than 1 MiB; split it/);
  });

  test.skipIf(process.getuid?.() === 0)('a file that may not be read leaves it incomplete', async () => {
    write('a.yaml', service('a'));
    write('b.yaml', service('b'));
    chmodSync(join(folder, 'b.yaml'), 0);
    const snapshot = await readFolder(folder);
    expect(snapshot.complete).toBe(false);
    expect(reported(snapshot)[0]).toMatch(/^b.yaml: the file can't be read: EACCES/);
  });

  test('an empty folder is read, and said to be empty', async () => {
    const snapshot = await readFolder(folder);
    expect(snapshot).toMatchObject({ empty: true, complete: true });
    expect(reported(snapshot)[0]).toContain('there is no document in it');
  });

  test('a folder that is not there is refused at the start', async () => {
    const missing = { name: 'UserError', remedy: expect.stringContaining('check --source') as string };
    await expect(readFolder(join(folder, 'nowhere'))).rejects.toMatchObject(missing);
    const source = createFileSource({ directory: join(folder, 'nowhere'), clock: systemClock });
    await expect(source.start(() => {})).rejects.toMatchObject(missing);
  });

  test('with 2,000 documents in 200 files of ten subfolders', async () => {
    for (let file = 0; file < 200; file += 1) {
      const ten = Array.from({ length: 10 }, (_, index) => service(`web-${file}-${index}`));
      write(`team-${file % 10}/${file}.yaml`, documents(...ten));
    }
    expect((await readFolder(folder)).objects.size).toBe(2000);
  });
});

describe('a folder that is read time after time', () => {
  const file = fc.constantFrom('a.yaml', 'b.yaml', 'sub/c.yaml');
  const content = fc.constantFrom(
    service('a'),
    service('b'),
    documents(service('a'), service('c')),
    'not: [yaml',
    '# nothing\n',
  );
  type Step = { readonly file: string } & (
    | { readonly do: 'write'; readonly content: string }
    | { readonly do: 'remove' | 'touch' | 'lead nowhere' | 'nothing' }
  );
  const step: fc.Arbitrary<Step> = fc.oneof(
    fc.record({ do: fc.constant('write' as const), file, content }),
    fc.record({ do: fc.constantFrom('remove', 'touch', 'lead nowhere', 'nothing'), file }),
  );

  const act = (each: Step) => {
    const path = join(folder, each.file);
    if (each.do === 'nothing') return;
    if (each.do === 'touch') {
      if (existsSync(path)) utimesSync(path, new Date(), new Date(Date.now() + 1000));
      return;
    }
    rmSync(path, { force: true });
    if (each.do === 'write') write(each.file, each.content);
    if (each.do === 'lead nowhere') symlinkSync('gone', path);
  };
  const shown = ({ objects, unusable, files, problems, complete, empty }: DesiredSnapshot) => ({
    objects: [...objects.values()].map(({ key, location }) => ({ key, location })),
    unusable: [...unusable.keys()].toSorted(),
    files: [...(files ?? [])].toSorted(([left], [right]) => left.localeCompare(right)),
    problems,
    complete,
    empty,
  });

  test('law: what is shown unchanged is unchanged, and what was removed is forgotten', async () => {
    const property = fc.asyncProperty(fc.array(step, { maxLength: 8 }), async (steps) => {
      rmSync(folder, { recursive: true });
      mkdirSync(join(folder, 'sub'), { recursive: true });
      const reader = new FolderReader(folder);
      let nowMs = 0;
      let last = await reader.read(1, nowMs);
      for (const [index, each] of steps.entries()) {
        act(each);
        nowMs += 1000;
        const read = await reader.read(index + 2, nowMs, new Set([each.file]));
        expect(read.snapshot).toMatchObject({ sequence: index + 2, readAtMs: nowMs });
        const files = [...(read.snapshot.files ?? new Map<string, unknown>()).keys()];
        expect(files.filter((one) => !lstatSync(join(folder, one), { throwIfNoEntry: false }))).toEqual([]);
        expect(shown(read.snapshot)).toEqual(shown((read.isUnchanged ? last : read).snapshot));
        last = read;
      }
      nowMs += 1000;
      const settled = await reader.read(100, nowMs);
      const fresh = await new FolderReader(folder).read(100, nowMs);
      // What can't be identified any more is remembered, which a new reader can't.
      const expected = fresh.snapshot.complete ? fresh : settled;
      expect(shown(settled.snapshot)).toEqual(shown(expected.snapshot));
      const again = await reader.read(101, nowMs + 1000);
      expect(again.isUnchanged).toBe(
        !again.snapshot.problems.some(({ message }) => message.includes('link')),
      );
    });
    await fc.assert(property, { numRuns: 150 });
  });
});
