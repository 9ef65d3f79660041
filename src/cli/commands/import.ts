import path from 'node:path';
import { Option, type Command } from 'commander';
import { originOf, type ObjectKey } from '../../resources/index.ts';
import { readAccounts } from '../account/account-contents.ts';
import {
  connected,
  withConnectionFlags,
  type ConnectionFlags,
  type FleetView,
} from '../account/connection.ts';
import { complain, print, type Context } from '../context.ts';
import type { WrittenDocument } from '../import/draft.ts';
import { addFiles, addIgnored } from '../import/files.ts';
import { planImport, type ImportPlan } from '../import/plan.ts';
import { apiTimeoutOption, needed, sameFleetFlags } from '../options.ts';
import { addSchema, withSchemaLine } from '../schema-line.ts';
import { renderTable } from '../output/render.ts';
import { onceEach } from '../../shown/shared-things.ts';
import { surveyor } from '../../shown/survey.ts';

interface ImportFlags extends ConnectionFlags {
  readonly output: string;
  readonly all?: boolean;
  readonly timeout: number;
}

/** `import`: documents for what is in an account already, such that a plan of them finds nothing to do. */
export function defineImport(command: Command, context: Context): void {
  const output = new Option('-o, --output <dir>', 'folder to put them in; nothing in it is overwritten');
  needed(withConnectionFlags(command), output)
    .option('--all', 'also what another owner manages (see docs/how-to/import.md for what that means)')
    .addOption(apiTimeoutOption())
    .action(async (flags: ImportFlags) => {
      const plan = await connected(context, flags, async ({ accounts, fleet }) => {
        const read = await readAccounts(context, accounts, flags.timeout);
        for (const line of read.flatMap(({ missing }) => missing)) complain(context, line);
        const survey = surveyor(fleet);
        const held = read.map(({ account, contents }) => ({
          account: account.key,
          origin: originOf(account.spec.url),
          holdings: survey(contents),
        }));
        // Two Accounts may have keys of one account.
        const once = onceEach(held);
        const imported = read.map(({ account, contents }, index) => ({
          account,
          contents,
          holdings: once[index]?.holdings ?? [],
        }));
        return planImport(imported, { all: flags.all ?? false, existing: existingObjects(flags, fleet) });
      });
      await writeDocuments(flags, plan.documents);
      for (const line of plan.left) complain(context, `left out: ${line}`);
      print(context, report(flags.output, plan));
    });
}

/** With a line for editors each, and the schema that it leads to. */
async function writeDocuments(flags: ImportFlags, documents: readonly WrittenDocument[]): Promise<void> {
  const folder = isInSource(flags) ? flags.source : flags.output;
  const files = documents.map(({ file, text }) => {
    const fromFolder = path.relative(folder, path.join(flags.output, file));
    return { file, text: withSchemaLine(fromFolder.replaceAll(path.sep, '/'), text) };
  });
  await addFiles(flags.output, files);
  if (files.length > 0) await addSchema(folder);
  if (files.length > 0) await addIgnored(folder);
}

/** The output is the folder of the fleet, or in it. */
function isInSource(flags: ImportFlags): flags is ImportFlags & { readonly source: string } {
  const { output, source } = flags;
  if (source === undefined) return false;
  const way = path.relative(path.resolve(source), path.resolve(output));
  return way.split(path.sep)[0] !== '..' && !path.isAbsolute(way);
}

/** The objects of the folder that the output is a part of. */
function existingObjects(
  flags: ImportFlags,
  fleet: FleetView | undefined,
): ReadonlySet<ObjectKey> | undefined {
  if (!fleet || !isInSource(flags)) return undefined;
  return new Set([...fleet.snapshot.objects.keys(), ...fleet.snapshot.unusable.keys()]);
}

function report(folder: string, { documents }: ImportPlan): string {
  if (documents.length === 0)
    return 'Nothing to import: all of it is managed, or has the mark of an owner (see --all).';
  const unusable = documents.filter(({ usable }) => !usable).length;
  const unmarked = documents.filter(({ gaps }) => gaps.some(({ field }) => field === 'env')).length;
  return [
    renderTable(['FILE', 'KIND', 'NAME', 'GAPS'], documents.map(reportRow)),
    '',
    `${documents.length} document(s) in ${folder}. Next: fleetkeeper plan ${sameFleetFlags({ source: folder })}`,
    ...(unmarked > 0
      ? [
          `${unmarked} of them get no mark until \`env\` is given. Another folder can import them as well, and both would undo each other's edits`,
        ]
      : []),
    ...(unusable > 0 ? [`${unusable} of them lack something and are commented out; fill it in`] : []),
  ].join('\n');
}

function reportRow({ file, kind, name, gaps, usable }: WrittenDocument): string[] {
  const fields = gaps.map(({ field }) => field).join(', ');
  return [file, kind, name, usable ? fields : `${fields} (commented out)`];
}
