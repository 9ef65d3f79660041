import { Argument, type Command } from 'commander';
import { schemaFiles, schemaText } from '../../crdgen/index.ts';
import { managedKinds, type ManagedKind } from '../../resources/index.ts';
import type { Context } from '../context.ts';
import { planSchemaFiles } from '../output/plan-schema.ts';
import { servedFolder, withFolderFlags, type FolderFlags } from '../generated-files.ts';

const generated = {
  command: 'schema',
  noun: 'schemas',
  files: () => [...schemaFiles(), ...planSchemaFiles()],
} as const;

/** `schema`: what an editor has to know of the documents of a folder. */
export function defineSchema(command: Command, context: Context): void {
  const kind = new Argument('[kind]', 'of documents of this kind; without one: of any document in a folder');
  withFolderFlags(command.addArgument(kind.choices(managedKinds))).action(
    (name: ManagedKind | undefined, flags: FolderFlags) => {
      if (!servedFolder(context, flags, generated)) context.stdout.write(schemaText(name));
    },
  );
}
