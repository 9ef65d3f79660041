import { existsSync } from 'node:fs';
import { Command, CommanderError, Help, type Option } from 'commander';
import { UserError } from '../base/index.ts';
import { explained, hintFor } from './argument-hints.ts';
import { commandGroups } from './commands.ts';
import { complain, exitCodes, explainError, type Context } from './context.ts';
import { documentsFolder } from './examples.ts';
import { version } from './version.ts';

const entries = new Map(
  Object.values(commandGroups).flatMap((group) => group.map((entry) => [entry.name, entry])),
);

/** Runs one command line (without program name); resolves with the exit code. */
export async function runCommandLine(argv: readonly string[], context: Context): Promise<number> {
  let code: number = exitCodes.ok;
  const define = async (command: Command): Promise<void> => {
    const definition = await entries.get(command.name())?.load();
    definition?.(command, context, (next) => {
      code = next;
    });
  };
  const program = createProgram(context)
    .hook('preSubcommand', (_program, command) => define(command))
    .hook('preAction', (_program, command) => addDefaults(command, context));
  for (const [heading, group] of Object.entries(commandGroups)) {
    program.commandsGroup(heading);
    for (const { name, description, examples } of group) {
      program
        .command(name)
        .description(description)
        .addHelpText('after', ['', 'Examples:', ...examples.map((line) => `  ${line}`)].join('\n'))
        .showHelpAfterError(`(see \`fleetkeeper ${name} --help\`)`);
    }
  }
  addHelp(program, define);
  addCompleting(program, context, define);
  try {
    await program.parseAsync(argv, { from: 'user' });
    return code;
  } catch (error) {
    const command = commandCalled(program, argv[0]);
    if (error instanceof CommanderError) {
      if (error.exitCode !== exitCodes.ok) await hint(context, command);
      return failureCode(argv, error.exitCode);
    }
    if (!(error instanceof UserError)) throw error;
    const shown = explained(error, command, context);
    explainError(context, shown);
    if (shown === error) await hint(context, command);
    return failureCode(argv, exitCodes.failed);
  }
}

async function hint(context: Context, command: Command | undefined): Promise<void> {
  const text = await hintFor(command, context);
  if (text !== undefined) complain(context, text);
}

/** What runs a command of somebody else's leaves 1 to that command. */
function failureCode([name]: readonly string[], exitCode: number): number {
  const isRunner = name === 'exec' || name === 'protect';
  return isRunner && exitCode !== exitCodes.ok ? exitCodes.notRun : exitCode;
}

/** The fleet that nobody named, and the flags of its settings file. */
async function addDefaults(command: Command, context: Context): Promise<void> {
  if (!command.options.some(({ long }) => long === '--source')) return;
  const { applyDefaults } = await import('./flags/defaults.ts');
  await applyDefaults(command, context);
}

function createProgram({ stdout, stderr }: Context): Command {
  return new Command('fleetkeeper')
    .description(
      'Keeps container services and volumes of the Container Compute Control API as their owners declared them.',
    )
    .version(version)
    .showHelpAfterError('(see `fleetkeeper --help`)')
    .exitOverride()
    .configureOutput({ writeOut: (text) => stdout.write(text), writeErr: (text) => stderr.write(text) })
    .configureHelp({ subcommandTerm: (command) => command.name(), optionDescription: describeOption })
    .addHelpText('after', () => (existsSync(documentsFolder) ? `\nDocuments: ${documentsFolder}` : ''))
    .helpCommand(false);
}

/** A default is shown as the flag takes it: commander's own would quote texts. */
function describeOption(option: Option): string {
  if (typeof option.defaultValue === 'string') option.defaultValueDescription ??= option.defaultValue;
  return new Help().optionDescription(option);
}

/** Commander's own would show a command before it is defined. */
function addHelp(program: Command, define: (command: Command) => Promise<void>): void {
  program
    .command('help [command]')
    .description('display help for a command')
    .action(async (name: string | undefined) => {
      const command = commandCalled(program, name);
      if (!command && name !== undefined) return unknownCommand(program, name);
      if (!command) return program.help();
      await define(command);
      command.help();
    });
}

function unknownCommand(program: Command, name: string): void {
  const known = program.commands.map((command) => command.name());
  program.error(
    `error: unknown command '${name}'\nthe commands are ${known.filter((one) => !one.startsWith('_')).join(', ')}`,
  );
}

/** The hidden command that the completion script of a shell asks. */
function addCompleting(
  program: Command,
  context: Context,
  define: (command: Command) => Promise<void>,
): void {
  program.command('__complete [line...]', { hidden: true }).action(async (words: readonly string[]) => {
    const command = commandCalled(program, words[0]);
    if (command) await define(command);
    const { complete } = await import('./commands/completion.ts');
    await complete(program, words, context);
  });
}

function commandCalled(program: Command, name: string | undefined): Command | undefined {
  return program.commands.find((command) => command.name() === name);
}
