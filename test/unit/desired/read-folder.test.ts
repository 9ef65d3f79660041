import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/index.ts';
import { createFileSource, readFolder } from '../../../src/desired/index.ts';
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
    const elsewhere = join(dirname(folder), 'elsewhere');
    mkdirSync(elsewhere);
    writeFileSync(join(elsewhere, 'b.yaml'), service('b'));
    symlinkSync(elsewhere, join(folder, 'linked'));
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
