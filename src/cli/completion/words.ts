/**
 * What may come next on a command line, from the program's own commands and options. Pure but for `known`, which
 * reads the objects of a folder. The scripts for the shells call `fleetkeeper __complete` and show its output.
 */
import type { Argument, Command, Option } from 'commander';
import { reasonNames, reasons } from '../../reasons/index.ts';
import { managedKinds } from '../../resources/index.ts';

export interface Candidate {
  readonly word: string;
  readonly description: string;
}

/** What the objects of a fleet have, as they are written on a command line. */
export type Known = 'service' | 'fleet' | 'replica' | 'object' | 'label' | 'namespace';

/** What is already on the line: the flags by their long names, and the argument DIR. */
export interface Line {
  readonly command: Command;
  readonly flags: ReadonlyMap<string, string>;
  readonly dir: string | undefined;
}

export type Lookup = (line: Line, what: Known) => Promise<readonly Candidate[]>;

const knownByFlag: Readonly<Record<string, Known>> = {
  '--target': 'object',
  '--selector': 'label',
  '--namespace': 'namespace',
};

const knownByArgument: Readonly<Record<string, Known>> = {
  name: 'service',
  fleet: 'fleet',
  replica: 'replica',
};

/** `words`: everything behind the program's name. The last one is being written, and perhaps empty. */
export async function candidates(
  program: Command,
  words: readonly string[],
  known: Lookup,
): Promise<Candidate[]> {
  // Bash takes `--output=js` apart at the `=`.
  const line = words.filter((word, index) => word !== '=' || index === words.length - 1);
  const current = line.at(-1) === '=' ? '' : (line.at(-1) ?? '');
  const before = line.slice(0, -1);
  const start = (found: readonly Candidate[]) => found.filter(({ word }) => word.startsWith(current));
  const [first] = before;
  if (first === undefined) return start(commandsOf(program));
  const command = program.commands.find((candidate) => candidate.name() === first);
  if (!command || before.includes('--')) return [];
  const { flags, operands, pending } = readLine(command, before.slice(1));
  const [dir] = command.registeredArguments[0]?.name() === 'dir' ? operands : [];
  const lookup = (what: readonly Known[]) => lookUp(known, { command, flags, dir }, what);
  if (pending?.argChoices) return start(wordsOf(pending.argChoices));
  if (pending?.long === '--kind') return start(wordsOf(managedKinds));
  if (pending?.long === '--reason') return start(allReasons());
  if (pending) return start(await lookup([knownByFlag[pending.long ?? ''] ?? []].flat()));
  if (current.startsWith('-')) return start(optionsOf(command));
  const last = command.registeredArguments.at(-1);
  const argument = command.registeredArguments[operands.length] ?? (last?.variadic ? last : undefined);
  if (!argument) return [];
  if (argument.argChoices) return start(wordsOf(argument.argChoices));
  if (argument.name() === 'reason-or-field') return start([...allReasons(), ...wordsOf(managedKinds)]);
  return start(await lookup(knownAs(argument)));
}

async function lookUp(known: Lookup, line: Line, what: readonly Known[]): Promise<Candidate[]> {
  return (await Promise.all(what.map((each) => known(line, each)))).flat();
}

/** A name is that of a service. Where its kind may be written, too, it may be any object. */
function knownAs(argument: Argument): Known[] {
  const withKind = /kind\/name/i.test(`${argument.name()} ${argument.description}`);
  const known = knownByArgument[argument.name()];
  return [...(known ? [known] : []), ...(withKind ? ['object' as const] : [])];
}

/** Of `jsonpath=TEMPLATE`, the part that is written as it stands. */
function wordsOf(choices: readonly string[]): Candidate[] {
  return choices.map((choice) => ({ word: choice.replace(/=[A-Z]+$/, '='), description: '' }));
}

function commandsOf(program: Command): Candidate[] {
  return program
    .createHelp()
    .visibleCommands(program)
    .map((command) => ({ word: command.name(), description: command.description() }));
}

function optionsOf(command: Command): Candidate[] {
  return command
    .createHelp()
    .visibleOptions(command)
    .flatMap(({ long, short, description }) =>
      [long, short].flatMap((word) => (word ? { word, description } : [])),
    );
}

function allReasons(): Candidate[] {
  return reasonNames.map((word) => ({ word, description: reasons[word].meaning }));
}

/** The flags with their values by their long names, the arguments, and the option that waits for its value. */
function readLine(command: Command, words: readonly string[]) {
  const flags = new Map<string, string>();
  const operands: string[] = [];
  let pending: Option | undefined;
  for (const word of words) {
    if (pending) {
      flags.set(pending.long ?? '', word);
      pending = undefined;
    } else if (word.startsWith('-')) {
      const { option, value } = flagIn(command, word);
      if (option?.long && value !== undefined) flags.set(option.long, value);
      else if (option?.required) pending = option;
    } else operands.push(word);
  }
  return { flags, operands, pending };
}

/** `--output=json`, `-ojson`, or a flag alone. */
function flagIn({ options }: Command, word: string): { option: Option | undefined; value?: string } {
  const [flag, value] = word.startsWith('--') ? word.split(/=(.*)/s, 2) : [word.slice(0, 2), word.slice(2)];
  const option = options.find(({ long, short }) => flag === long || flag === short);
  return value ? { option, value } : { option };
}

export const shells = ['bash', 'zsh'] as const;
export type Shell = (typeof shells)[number];

/** `COMP_WORDS[0]` and `words[1]`: the name or function by which the command was called. */
const scripts: Readonly<Record<Shell, string>> = {
  bash: `# fleetkeeper completion for bash; load it with: source <(fleetkeeper completion bash)
_fleetkeeper() {
  local IFS=$'\\n'
  COMPREPLY=($("\${COMP_WORDS[0]}" __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f 1))
}
complete -o default -F _fleetkeeper fleetkeeper`,
  zsh: `#compdef fleetkeeper
# fleetkeeper completion for zsh; load it with: source <(fleetkeeper completion zsh)
_fleetkeeper() {
  local line
  local -a found
  while IFS= read -r line; do
    found+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done < <("\${words[1]}" __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
  if (( \${#found} )); then _describe 'fleetkeeper' found; else _files; fi
}
compdef _fleetkeeper fleetkeeper`,
};

export function completionScript(shell: Shell): string {
  return scripts[shell];
}
