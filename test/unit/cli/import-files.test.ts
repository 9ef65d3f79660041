import { mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { addFiles, addIgnored } from '../../../src/cli/import/files.ts';
import { temporaryFile } from '../../support/temporary.ts';

const files = [
  { file: 'accounts/default.yaml', text: 'a' },
  { file: 'services/web.yaml', text: 'b' },
];

describe('files of an import', () => {
  test('are put into a folder that is made for them', async () => {
    const folder = temporaryFile('new/folder');
    await addFiles(folder, files);
    expect(readFileSync(path.join(folder, 'services/web.yaml'), 'utf8')).toBe('b');
    expect(readdirSync(folder).sort()).toEqual(['accounts', 'services']);
  });

  test('are added to what is there', async () => {
    const folder = temporaryFile('folder');
    await addFiles(folder, files);
    await addFiles(folder, [{ file: 'services/other.yaml', text: 'c' }]);
    expect(readdirSync(path.join(folder, 'services')).sort()).toEqual(['other.yaml', 'web.yaml']);
  });

  test('never take the place of one that is there, and then none is written', async () => {
    const folder = temporaryFile('folder');
    mkdirSync(path.join(folder, 'services'), { recursive: true });
    writeFileSync(path.join(folder, 'services/web.yaml'), 'mine');
    await expect(addFiles(folder, files)).rejects.toThrow(/something in .* already: services\/web\.yaml/);
    expect(readdirSync(folder)).toEqual(['services']);
    expect(readFileSync(path.join(folder, 'services/web.yaml'), 'utf8')).toBe('mine');
  });

  test('do not follow a link that leads nowhere yet, and take back what they had put', async () => {
    const folder = temporaryFile('folder');
    mkdirSync(path.join(folder, 'services'), { recursive: true });
    symlinkSync('/there/is/nothing', path.join(folder, 'services/web.yaml'));
    await expect(addFiles(folder, files)).rejects.toThrow(/already/);
    expect(readdirSync(path.join(folder, 'accounts'))).toEqual([]);
    expect(readdirSync(folder).sort()).toEqual(['accounts', 'services']);
  });

  test('can not be put where no folder can be', async () => {
    const file = temporaryFile('file');
    writeFileSync(file, '');
    await expect(addFiles(path.join(file, 'folder'), files)).rejects.toThrow(/can't write into/);
  });
});

test('git does not take the state, unless somebody has decided otherwise in a file of theirs', async () => {
  const folder = path.dirname(temporaryFile('ignored/any'));
  mkdirSync(folder, { recursive: true });
  await addIgnored(folder);
  expect(readFileSync(path.join(folder, '.gitignore'), 'utf8')).toContain('.fleetkeeper/\n');
  writeFileSync(path.join(folder, '.gitignore'), 'mine\n');
  await addIgnored(folder);
  expect(readFileSync(path.join(folder, '.gitignore'), 'utf8')).toBe('mine\n');
});
