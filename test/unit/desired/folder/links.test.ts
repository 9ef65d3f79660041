/** What links in a source may do, and what many files in one of its folders: whoever may write there is not trusted by the others. */
import { execFileSync } from 'node:child_process';
import { linkSync, mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { contentOf } from '../../../../src/desired/folder/content.ts';
import { FolderReader } from '../../../../src/desired/folder/folder-reader.ts';
import { list, type Listing } from '../../../../src/desired/folder/listing.ts';
import { readFolder } from '../../../../src/desired/index.ts';
import { secret, service } from '../documents.ts';
import { names, removeTemporary, reported, temporaryFolder, writeInto } from '../folders.ts';

let folder: string;
let outside: string;
const write = (file: string, text: string) => writeInto(folder, file, text);

beforeEach(() => {
  folder = temporaryFolder();
  outside = join(dirname(folder), 'outside');
  mkdirSync(outside);
  write('web/web.yaml', service('web'));
});

afterEach(() => removeTemporary(folder));

const leadsOut =
  'is a link to something outside of the source folder, so it is not read; put the files themselves there, mount them there, or use the folder that holds both as the source';

describe('a link that leads out of the source', () => {
  test('gives no Secret of another fleet to whoever makes it', async () => {
    writeInto(outside, 'prod-secrets.yaml', secret('prod', 'password', 'hunter2'));
    symlinkSync(join(outside, 'prod-secrets.yaml'), join(folder, 'web', 's.yaml'));
    const snapshot = await readFolder(folder);
    expect(snapshot.secrets.size).toBe(0);
    expect(reported(snapshot)).toEqual([`web/s.yaml: ${leadsOut}`]);
    expect(snapshot).toMatchObject({ complete: false, empty: false });
    expect(names(snapshot)).toEqual(['web']);
  });

  test('to the root of the file system is not followed, and stops nobody', async () => {
    symlinkSync('/', join(folder, 'web', 'x'));
    const listing = await list(folder);
    expect(listing.files.map(({ file }) => file)).toEqual(['web/web.yaml']);
    expect(listing.folders).toEqual(['web']);
    const snapshot = await readFolder(folder);
    expect(names(snapshot)).toEqual(['web']);
    expect(reported(snapshot)).toEqual([`web/x: ${leadsOut}`]);
  });

  test('to the folder that the source is in, and then back into it, is followed', async () => {
    write('.shared/a.yaml', service('a'));
    symlinkSync(join('..', '..', 'fleet', '.shared'), join(folder, 'web', 'x'));
    const snapshot = await readFolder(folder);
    expect(names(snapshot)).toEqual(['a', 'web']);
    expect(snapshot).toMatchObject({ complete: true, problems: [] });
  });

  test('to a folder whose name begins with that of the source leads out, too', async () => {
    writeInto(`${folder}-of-others`, 'a.yaml', service('a'));
    symlinkSync(`${folder}-of-others`, join(folder, 'web', 'x'));
    expect(reported(await readFolder(folder))).toEqual([`web/x: ${leadsOut}`]);
  });

  test('takes nothing away from what stood in its place', async () => {
    write('team/a.yaml', service('a'));
    write('team/b/b.yaml', service('b'));
    const reader = new FolderReader(folder);
    await reader.read(1, 0);
    rmSync(join(folder, 'team/a.yaml'));
    symlinkSync('/etc/hostname', join(folder, 'team/a.yaml'));
    rmSync(join(folder, 'team/b'), { recursive: true });
    symlinkSync(outside, join(folder, 'team/b'));
    for (const nowMs of [1000, 2000, 60_000]) {
      const { snapshot } = await reader.read(nowMs, nowMs);
      expect(names(snapshot)).toEqual(['a', 'b', 'web']);
      expect(snapshot.complete).toBe(false);
      expect(reported(snapshot)).toEqual([
        expect.stringMatching(/^team\/a.yaml: is a link to something outside .* is kept; /),
        expect.stringMatching(/^team\/b: is a link to something outside .* is kept; /),
      ]);
    }
    rmSync(join(folder, 'team/b'));
    rmSync(join(folder, 'team/a.yaml'));
    await reader.read(60_001, 60_001);
    const { snapshot } = await reader.read(70_000, 70_000);
    expect(names(snapshot)).toEqual(['web']);
    expect(snapshot).toMatchObject({ complete: true, problems: [] });
  });

  test('to a file that would not be read is no problem', async () => {
    writeInto(outside, 'README.md', 'Read me');
    symlinkSync(join(outside, 'README.md'), join(folder, 'README.md'));
    expect(await readFolder(folder)).toMatchObject({ complete: true, problems: [] });
  });
});

describe('links in the source', () => {
  test('to folders above them multiply nothing, in whatever number', async () => {
    write('a/b/c/deep.yaml', service('deep'));
    for (const place of ['a', 'a/b', 'a/b/c']) {
      for (const up of ['.', '..', folder]) {
        symlinkSync(up, join(folder, place, `to-${up.replaceAll('/', '-')}`));
      }
    }
    expect((await list(folder)).files.map(({ file }) => file).sort()).toEqual([
      'a/b/c/deep.yaml',
      'web/web.yaml',
    ]);
  });

  test('to parts of a folder with a skipped name, and to all of it, multiply nothing', async () => {
    write('.shared/a/a/a/a.yaml', service('a'));
    symlinkSync('.shared/a/a', join(folder, 'l1'));
    symlinkSync('.shared/a', join(folder, 'l2'));
    symlinkSync('.shared', join(folder, 'l3'));
    expect((await list(folder)).files.map(({ file }) => file)).toEqual(['web/web.yaml', 'l1/a/a.yaml']);
  });

  test('are followed when the source is a link itself, and all of a listing is of one folder', async () => {
    write('..v1/a.yaml', service('a'));
    symlinkSync('..v1', join(folder, '..data'));
    symlinkSync('..data/a.yaml', join(folder, 'a.yaml'));
    symlinkSync(folder, join(outside, 'current'));
    const snapshot = await readFolder(join(outside, 'current'));
    expect(names(snapshot)).toEqual(['a', 'web']);
    expect(snapshot).toMatchObject({ complete: true, problems: [] });
    const listing = await list(join(outside, 'current'));
    rmSync(join(outside, 'current'));
    symlinkSync(outside, join(outside, 'current'));
    for (const { path } of listing.files) {
      expect(await contentOf(path, listing.place)).toMatchObject({ vanished: false });
    }
  });

  test('and a source that is a single file behind links, are read', async () => {
    write('..v1/a.yaml', service('a'));
    symlinkSync('..v1', join(folder, '..data'));
    symlinkSync('..data/a.yaml', join(folder, 'a.yaml'));
    expect(names(await readFolder(join(folder, 'a.yaml')))).toEqual(['a']);
  });
});

describe('what was exchanged after it was listed is not read:', () => {
  const listed = async () => {
    const listing = await list(folder);
    const [file] = listing.files;
    return { path: file?.path ?? '', place: listing.place };
  };
  const refused = { bytes: undefined, message: "can't be read: it was exchanged for something else" };

  test('a file, for a link', async () => {
    const { path, place } = await listed();
    writeInto(outside, 'secret.yaml', secret('prod', 'password', 'hunter2'));
    rmSync(path);
    symlinkSync(join(outside, 'secret.yaml'), path);
    expect(await contentOf(path, place)).toMatchObject(refused);
  });

  test('the folder of a file, for a link', async () => {
    const { path, place } = await listed();
    writeInto(outside, 'web.yaml', secret('prod', 'password', 'hunter2'));
    renameSync(dirname(path), `${dirname(path)}.away`);
    symlinkSync(outside, dirname(path));
    expect(await contentOf(path, place)).toMatchObject(refused);
  });

  test('a file, for a pipe, which is not waited for', async () => {
    const { path, place } = await listed();
    rmSync(path);
    execFileSync('sh', ['-c', 'mkfifo "$0"', path]);
    expect(await contentOf(path, place)).toMatchObject(refused);
  });
});

describe('a folder with more in it than the limits allow', () => {
  const bounds = { files: 20, entries: 60 };
  const files = ({ files: found }: Listing) => found.map(({ file }) => file).sort();
  const unlisted = (listing: Listing) => listing.unlisted.map(({ prefix }) => prefix);

  test.each([
    ['files', (index: number) => `a-team/x/${index}.yaml`],
    ['files in a folder each', (index: number) => `a-team/${index}/a.yaml`],
    ['other files', (index: number) => `a-team/x/${index}.txt`],
    [
      'other files in folders of folders',
      (index: number) => `a-team/${index % 9}/${index % 30}/${index}.txt`,
    ],
  ])('is left out itself, and the others are listed: %s', async (_what, name) => {
    for (let index = 0; index < 100; index += 1) write(name(index), '');
    write('z/z.yaml', service('z'));
    const listing = await list(folder, bounds);
    expect(files(listing)).toEqual(expect.arrayContaining(['web/web.yaml', 'z/z.yaml']));
    expect(unlisted(listing).every((prefix) => prefix.startsWith('a-team'))).toBe(true);
    expect([...listing.tooLarge]).toEqual(unlisted(listing));
    expect(unlisted(listing).length).toBeLessThan(5);
  });

  test('with links, each of which would be a problem, is left out itself', async () => {
    mkdirSync(join(folder, 'a-team'));
    for (let index = 0; index < 30; index += 1) symlinkSync('/', join(folder, 'a-team', `${index}`));
    const listing = await list(folder, bounds);
    expect(files(listing)).toEqual(['web/web.yaml']);
    expect(unlisted(listing)).toEqual(['a-team']);
  });

  test('is left out as a whole, however many parts of it are too large', async () => {
    for (let part = 0; part < 30; part += 1) {
      for (let index = 0; index < 15; index += 1) write(`a-team/${part}/${index}.yaml`, '');
    }
    const listing = await list(folder, bounds);
    expect(files(listing)).toEqual(['web/web.yaml']);
    expect(unlisted(listing)).toEqual(['a-team']);
  });

  test('is the source, if it is too many in the source itself', async () => {
    for (let index = 0; index < 30; index += 1) write(`${index}.yaml`, '');
    const listing = await list(folder, bounds);
    expect(unlisted(listing)).toEqual(['']);
    expect(listing.unlisted[0]?.message).toBe('holds more than 20 files of documents, or 60 entries');
  });

  test('keeps what was read from it before', async () => {
    write('a-team/a.yaml', service('a'));
    const reader = new FolderReader(folder);
    await reader.read(1, 0);
    for (let index = 0; index < 10_001; index += 1) {
      linkSync(join(folder, 'a-team/a.yaml'), join(folder, 'a-team', `${index}.yaml`));
    }
    await reader.read(2, 1000);
    const { snapshot } = await reader.read(3, 2000);
    expect(names(snapshot)).toEqual(['a', 'web']);
    expect(snapshot.complete).toBe(false);
    expect(snapshot.unreadable).toBeUndefined();
    expect(reported(snapshot)).toEqual([
      expect.stringMatching(/^a-team: has most of what is in the source, more than 10000 files .* is kept; /),
    ]);
  });
});
