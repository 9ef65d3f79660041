import { Argument, type Command } from 'commander';
import { readFolder } from '../desired/index.ts';
import { readState } from '../state/index.ts';
import { candidates, completionScript, shells, type Shell } from './completion.ts';
import { print, type Context } from './context.ts';
import { ownerChoice, stateFile } from './options.ts';
import { serviceNames } from './service-lookup.ts';

/** `completion`: a script for a shell; and the hidden command that the script asks. */
export function addCompletionCommands(program: Command, context: Context): void {
  program
    .command('completion')
    .description('print the completion script of a shell')
    .addArgument(new Argument('<shell>', 'of which shell').choices(shells))
    .action((shell: Shell) => print(context, completionScript(shell)));
  program
    .command('__complete', { hidden: true })
    .argument('[words...]')
    .action(async (words: string[]) => {
      const found = await candidates(program, words, (flags) => namesIn(context, flags));
      for (const { word, description } of found) print(context, `${word}\t${description}`);
    });
}

/** A folder that can't be read has no names to offer; saying so would only disturb the line. */
async function namesIn({ random }: Context, flags: ReadonlyMap<string, string>): Promise<readonly string[]> {
  try {
    const source = flags.get('--source') ?? '';
    const state = flags.get('--state');
    const file = stateFile({ source, ...(state === undefined ? {} : { state }) });
    const store = readState(file, random, ownerChoice({ source }));
    const snapshot = await readFolder(source);
    return serviceNames({ snapshot, store }, flags.get('--namespace') ?? 'default');
  } catch {
    return [];
  }
}
