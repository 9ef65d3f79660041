import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { addSchema, schemaFile, withSchemaLine } from '../../../src/cli/schema-line.ts';
import { schemaText } from '../../../src/crdgen/index.ts';
import { isSkipped } from '../../../src/desired/folder/listing.ts';
import { temporaryFile } from '../../support/temporary.ts';

test('each document of a file gets a line that leads from the file to the schema, once', () => {
  const line = '# yaml-language-server: $schema=../../.fleetkeeper.schema.json\n';
  const written = withSchemaLine('team/services/web.yaml', 'kind: A\n---\nkind: B\n');
  expect(written).toBe(`${line}kind: A\n---\n${line}kind: B\n`);
  expect(withSchemaLine('team/services/web.yaml', written)).toBe(written);
  expect(withSchemaLine('web.yaml', written)).toBe(written.replaceAll('../', ''));
});

test('the schema is put where no document is looked for, and one that is there stays', async () => {
  const folder = temporaryFile('new/fleet');
  const file = path.join(folder, schemaFile);
  await addSchema(folder);
  expect(readFileSync(file, 'utf8')).toBe(schemaText());
  expect(isSkipped(schemaFile)).toBe(true);
  writeFileSync(file, '{}');
  await addSchema(folder);
  expect(readFileSync(file, 'utf8')).toBe('{}');
});

test('a folder that can not be written to is reported', async () => {
  const folder = temporaryFile('fleet');
  mkdirSync(path.dirname(folder), { recursive: true });
  writeFileSync(folder, '');
  await expect(addSchema(folder)).rejects.toThrow(`can't write the schema for editors to ${folder}`);
});
