/**
 * The commands and flags of `docs/reference/commands.md`, made from the program itself: `npm run docs:commands` writes them. Flags that
 * three or more commands have stand in one table.
 */
import { Command, type Option } from 'commander';
import { commandGroups } from '../../../src/cli/commands.ts';
import { writeGenerated, type GeneratedPart } from '../../support/generated-part.ts';
import { contextOf } from './support.ts';

export const commandsPart: GeneratedPart = {
  document: 'docs/reference/commands.md',
  from: 'src/cli/',
  script: 'docs:commands',
};

interface Flag {
  readonly command: string;
  readonly option: Option;
}

const sharedBy = 3;

export async function commandLines(): Promise<string[]> {
  const groups = await Promise.all(
    Object.entries(commandGroups).map(async ([heading, entries]) => ({
      heading: heading.replace(/:$/, ''),
      commands: await Promise.all(
        entries.map(async (entry) => ({ command: await defined(entry), examples: entry.examples })),
      ),
    })),
  );
  const flags = groups.flatMap(({ commands }) => commands.flatMap(({ command }) => flagsOf(command)));
  const users = Map.groupBy(flags, ({ option }) => textOf(option));
  const isShared = (option: Option) => (users.get(textOf(option)) ?? []).length >= sharedBy;
  const shared = [...users.values()].filter(({ length }) => length >= sharedBy);
  return [
    ...groups.flatMap(({ heading, commands }) =>
      [`**${heading}**`, ''].concat(commands.flatMap((one) => section(one, isShared))),
    ),
    '### Flags of several commands',
    '',
    '| flag | default | meaning | commands |',
    '|---|---|---|---|',
    ...shared.map((same) => sharedRow(same)),
  ];
}

/** With its arguments and options, which are loaded only for the command that is called. */
export async function defined({
  name,
  description,
  load,
}: (typeof commandGroups)[string][number]): Promise<Command> {
  const command = new Command(name).description(description);
  const define = await load();
  const nobody = { stdout: () => undefined, stderr: () => undefined };
  define(command, contextOf({}, nobody, new AbortController().signal), () => undefined);
  return command;
}

function flagsOf(command: Command): Flag[] {
  const visible = command.options.filter(({ hidden }) => !hidden);
  return visible.map((option) => ({ command: command.name(), option }));
}

const textOf = ({ flags, description, defaultValue }: Option) =>
  [flags, description, String(defaultValue)].join(' ');

interface Documented {
  readonly command: Command;
  readonly examples: readonly string[];
}

function section({ command, examples }: Documented, isShared: (option: Option) => boolean): string[] {
  const own = flagsOf(command).filter(({ option }) => !isShared(option));
  const args = command.registeredArguments.filter(({ description }) => description !== '');
  const rows = [
    ...args.map((argument) =>
      rowOf([`\`${argument.name()}\``, '', withChoices(argument.description, argument.argChoices)]),
    ),
    ...own.map(({ option }) => rowOf([`\`${option.flags}\``, defaultOf(option), meaningOf(option)])),
  ];
  const name = command.name();
  return [
    `### ${name}`,
    '',
    `\`fleetkeeper ${name} ${command.usage()}\`: ${command.description()}.`,
    '',
    '```sh',
    ...examples,
    '```',
    '',
    ...(rows.length === 0 ? [] : ['| argument or flag | default | meaning |', '|---|---|---|', ...rows, '']),
  ];
}

function sharedRow(same: readonly Flag[]): string {
  const [{ option } = { option: undefined }] = same;
  if (!option) return '';
  const commands = same.map(({ command }) => `\`${command}\``).join(' ');
  return rowOf([`\`${option.flags}\``, defaultOf(option), meaningOf(option), commands]);
}

const rowOf = (cells: readonly string[]) => `| ${cells.join(' | ')} |`.replaceAll(/ {2,}/g, ' ');

const meaningOf = ({ description, argChoices }: Option) => withChoices(description, argChoices);

function withChoices(description: string, choices: readonly string[] | undefined): string {
  return choices ? `${description}: ${choices.map((choice) => `\`${choice}\``).join(', ')}` : description;
}

function defaultOf({ defaultValue, defaultValueDescription }: Option): string {
  if (defaultValue === undefined) return '';
  return `\`${defaultValueDescription ?? String(defaultValue)}\``;
}

if (import.meta.main) writeGenerated(commandsPart, await commandLines());
