/** Commands that print what follows from the declarations of the kinds, write it to a folder, or compare a folder with it. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Option, type Command } from 'commander';
import { UserError, messageOf } from '../base/index.ts';
import { differingFiles, type GeneratedFile } from '../crdgen/index.ts';
import { print, type Context } from './context.ts';

export interface FolderFlags {
  readonly outputDir?: string;
  readonly check?: string;
}

export function withFolderFlags(command: Command): Command {
  return command
    .addOption(new Option('--output-dir <dir>', 'write a file per kind there, instead of text to stdout'))
    .addOption(
      new Option('--check <dir>', 'compare with the files there; exit 1 when any differs').conflicts(
        'outputDir',
      ),
    );
}

interface Generated {
  /** The command that generates them. */
  readonly command: string;
  /** What they are, as in `the definitions`. */
  readonly noun: string;
  readonly files: () => readonly GeneratedFile[];
}

/** Whether the flags named a folder, and so all is done. */
export function servedFolder(
  context: Context,
  { outputDir, check }: FolderFlags,
  generated: Generated,
): boolean {
  if (check !== undefined) {
    compare(check, generated);
    print(context, `${check} is up to date`);
  } else if (outputDir !== undefined) write(outputDir, generated);
  return (check ?? outputDir) !== undefined;
}

function write(folder: string, { noun, files }: Generated): void {
  attempt(`can't write the ${noun} to ${folder}`, () => {
    mkdirSync(folder, { recursive: true });
    for (const { file, text } of files()) writeFileSync(path.join(folder, file), text);
  });
}

function compare(folder: string, { command, noun, files }: Generated): void {
  const differing = attempt(`can't read the ${noun} in ${folder}`, () => differingFiles(folder, files()));
  if (differing.length === 0) return;
  throw new UserError(
    `not what this version of fleetkeeper has: ${differing.map((file) => path.join(folder, file)).join(', ')}`,
    `write them again with \`fleetkeeper ${command} --output-dir ${folder}\`, and remove the files that belong to no kind of Fleetkeeper`,
  );
}

function attempt<Result>(what: string, act: () => Result): Result {
  try {
    return act();
  } catch (error) {
    throw new UserError(`${what}: ${messageOf(error)}`, 'name a folder that can be used', error);
  }
}
