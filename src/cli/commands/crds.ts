import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Option, type Command } from 'commander';
import { UserError, messageOf } from '../../base/index.ts';
import { definitionFiles, definitionStream, differingFiles } from '../../crdgen/index.ts';
import { print, type Context } from '../context.ts';

interface CrdsFlags {
  readonly outputDir?: string;
  readonly check?: string;
}

/** `crds`: what a cluster has to know of our kinds. */
export function defineCrds(command: Command, context: Context): void {
  command
    .addOption(
      new Option('--output-dir <dir>', 'write a file per kind there, instead of one stream to stdout'),
    )
    .addOption(
      new Option('--check <dir>', 'compare with the files there; exit 1 when any differs').conflicts(
        'outputDir',
      ),
    )
    .action(({ outputDir, check }: CrdsFlags) => {
      if (check !== undefined) {
        compare(check);
        print(context, `${check} is up to date`);
      } else if (outputDir !== undefined) write(outputDir);
      else context.stdout.write(definitionStream());
    });
}

function write(folder: string): void {
  attempt(`can't write the definitions to ${folder}`, () => {
    mkdirSync(folder, { recursive: true });
    for (const { file, text } of definitionFiles()) writeFileSync(path.join(folder, file), text);
  });
}

function compare(folder: string): void {
  const differing = attempt(`can't read the definitions in ${folder}`, () => differingFiles(folder));
  if (differing.length === 0) return;
  throw new UserError(
    `not what this version of fleetkeeper has: ${differing.map((file) => path.join(folder, file)).join(', ')}`,
    `write them again with \`fleetkeeper crds --output-dir ${folder}\`, and remove the files that belong to no kind of Fleetkeeper`,
  );
}

function attempt<Result>(what: string, act: () => Result): Result {
  try {
    return act();
  } catch (error) {
    throw new UserError(`${what}: ${messageOf(error)}`, 'name a folder that can be used', error);
  }
}
