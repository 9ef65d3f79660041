/** The flag that names a fleet. `default-source.ts` finds it where nobody did. */
import { closeSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import path from 'node:path';
import { Argument, Option, type Command } from 'commander';
import { looksLikePlan, planFileLimits } from '../../plan-file/index.ts';

export class SourceOption extends Option {
  /** The command has nothing to do without a fleet. */
  readonly isNeeded: boolean;

  constructor(flags: string, description: string, isNeeded: boolean) {
    super(flags, description);
    this.isNeeded = isNeeded;
  }
}

/** The folder as the only argument of a command, which is `--source` to its action. */
export function withFolderArgument(command: Command): Command {
  return command.argument('[dir]', 'the folder of the fleet, as if the command was started in it');
}

class FolderOrPlanArgument extends Argument {}

/** The same, or a plan file. */
export function withFolderOrPlanArgument(command: Command): Command {
  return command.addArgument(
    new FolderOrPlanArgument(
      '[dir]',
      'the folder of the fleet, as if the command was started in it; or a plan file of `plan --out`, of which nothing else is done',
    ),
  );
}

/** Undefined: the command has no such argument, it was not given, or it is a plan file, which names no folder. */
export function folderArgument(command: Command): string | undefined {
  const index = command.registeredArguments.findIndex((argument) => argument.name() === 'dir');
  const given = command.processedArgs[index] as string | undefined;
  return planFileArgument(command) === undefined ? given : undefined;
}

/** The argument, if it is a plan file. */
export function planFileArgument(command: Command): string | undefined {
  const index = command.registeredArguments.findIndex((argument) => argument.name() === 'dir');
  const given = command.processedArgs[index] as string | undefined;
  if (given === undefined) return undefined;
  const isNamed = command.getOptionValueSource('source') === 'cli';
  const source = isNamed ? (command.getOptionValue('source') as string) : undefined;
  const mayBeAnyFile = command.registeredArguments[index] instanceof FolderOrPlanArgument;
  return isPlanFile(given, mayBeAnyFile ? source : undefined) ? given : undefined;
}

/**
 * `source`: of the command line. A file beside it can only be meant as a plan, whatever is in it. What does not begin as JSON is not read
 * as a whole: a folder of documents may be given as one large file.
 */
function isPlanFile(place: string, source: string | undefined): boolean {
  try {
    const facts = statSync(place);
    if (!facts.isFile()) return false;
    if (source !== undefined && path.resolve(source) !== path.resolve(place)) return true;
    if (!startsAsJson(place)) return false;
    return facts.size > planFileLimits.bytes || looksLikePlan(readFileSync(place, 'utf8'));
  } catch {
    // Nothing is there: the command that needs it reports why.
    return false;
  }
}

function startsAsJson(place: string): boolean {
  const file = openSync(place, 'r');
  try {
    const start = Buffer.alloc(64);
    return start.subarray(0, readSync(file, start)).toString().trimStart().startsWith('{');
  } finally {
    closeSync(file);
  }
}
