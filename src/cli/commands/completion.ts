import { Argument, type Command } from 'commander';
import { candidates, completionScript, shells, type Shell } from '../completion/words.ts';
import { print, type Context } from '../context.ts';

/** `completion`: a script for a shell. */
export function defineCompletion(command: Command, context: Context): void {
  command
    .addArgument(new Argument('<shell>', 'of which shell').choices(shells))
    .action((shell: Shell) => print(context, completionScript(shell)));
}

/** What the script asks. The command that is being written has to be defined. */
export async function complete(program: Command, words: readonly string[], context: Context): Promise<void> {
  const found = await candidates(program, words, async (line, what) => {
    const { known } = await import('../completion/names.ts');
    return known(context, line, what);
  });
  for (const { word, description } of found) print(context, `${word}\t${description}`);
}
