/** Where `plan --out` writes. */
import { lstatSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { writePlanFile } from '../../../src/cli/change/plan-file.ts';
import { temporaryFile } from '../../support/temporary.ts';

test('a link stays, and the file that it leads to has the plan', () => {
  const file = temporaryFile('plan.json');
  const link = path.join(path.dirname(file), 'link.json');
  writeFileSync(file, 'the plan before');
  symlinkSync(file, link);
  writePlanFile(link, 'the plan', 7);
  expect(lstatSync(link).isSymbolicLink()).toBe(true);
  expect(readFileSync(file, 'utf8')).toBe('the plan');
});

test('a link that leads nowhere is replaced', () => {
  const link = temporaryFile('link.json');
  symlinkSync(path.join(path.dirname(link), 'none'), link);
  writePlanFile(link, 'the plan', 7);
  expect(readFileSync(link, 'utf8')).toBe('the plan');
});

test('a device, or whatever else is no file, is not replaced', () => {
  const link = temporaryFile('null');
  symlinkSync('/dev/null', link);
  for (const place of ['/dev/null', link]) {
    expect(() => writePlanFile(place, 'the plan', 7)).toThrow(
      `can't write the plan file ${place}: it is no plain file`,
    );
  }
  expect(lstatSync('/dev/null').isCharacterDevice()).toBe(true);
  const folder = path.join(path.dirname(link), 'folder');
  mkdirSync(folder);
  expect(() => writePlanFile(folder, 'the plan', 7)).toThrow('it is no plain file');
});
