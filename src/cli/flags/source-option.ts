/** The flag that names a fleet. `default-source.ts` finds it where nobody did. */
import { Option, type Command } from 'commander';

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

/** Undefined: the command has no such argument, or it was not given. */
export function folderArgument(command: Command): string | undefined {
  const index = command.registeredArguments.findIndex((argument) => argument.name() === 'dir');
  return command.processedArgs[index] as string | undefined;
}
