import type { Command } from 'commander';
import { definitionFiles, definitionStream } from '../../crdgen/index.ts';
import type { Context } from '../context.ts';
import { servedFolder, withFolderFlags, type FolderFlags } from '../generated-files.ts';

const generated = { command: 'crds', noun: 'definitions', files: definitionFiles } as const;

/** `crds`: what a cluster has to know of our kinds. */
export function defineCrds(command: Command, context: Context): void {
  withFolderFlags(command).action((flags: FolderFlags) => {
    if (!servedFolder(context, flags, generated)) context.stdout.write(definitionStream());
  });
}
