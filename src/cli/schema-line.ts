/**
 * Documents that Fleetkeeper writes have a line for editors, which leads to a copy of the schema in the same folder. The
 * copy needs no network and belongs into the repository, so it works for everybody who has the folder. Its name starts
 * with a dot, so it is not read as a document.
 *
 * Whoever writes a folder of documents gives each text a line with `withSchemaLine`, and calls `addSchema` once.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { UserError, messageOf } from '../base/index.ts';
import { schemaText } from '../crdgen/index.ts';

/** In the folder of documents. */
export const schemaFile = '.fleetkeeper.schema.json';

const schemaLine = /^# yaml-language-server: \$schema=.*\n/gm;

/**
 * The text of `file` (relative to the folder that has the schema, with `/`) with a line for editors above it. An editor
 * reads the line of each document, so each one gets it. Lines that were there are replaced.
 */
export function withSchemaLine(file: string, text: string): string {
  const up = '../'.repeat(file.split('/').length - 1);
  const line = `# yaml-language-server: $schema=${up}${schemaFile}\n`;
  const bare = text.replaceAll(schemaLine, '');
  return line + bare.replaceAll(/^---\n/gm, `---\n${line}`);
}

/** Puts the schema into `folder`, unless one is there. */
export async function addSchema(folder: string): Promise<void> {
  const file = path.join(folder, schemaFile);
  try {
    await mkdir(folder, { recursive: true });
    await writeFile(file, schemaText(), { flag: 'wx' });
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' && syscall === 'open') return;
    throw new UserError(
      `can't write the schema for editors to ${file}: ${messageOf(error)}`,
      'check that the folder is one in which this user may write',
      error,
    );
  }
}
