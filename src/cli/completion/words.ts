/**
 * What may come next on a command line, from the program's own commands and options. Pure but for `names`, which
 * reads the objects of a folder. The scripts for the shells call `fleetkeeper __complete` and show its output.
 */
import type { Argument, Command, Option } from 'commander';
import { containerService } from '../../kinds/container-service/declaration.ts';
import { reasonNames, reasons } from '../../reasons/index.ts';

export interface Candidate {
  readonly word: string;
  readonly description: string;
}

/** Flags that say where objects are: those already on the line. */
export type NameLookup = (flags: ReadonlyMap<string, string>) => Promise<readonly string[]>;

/** `words`: everything behind the program's name. The last one is being written, and perhaps empty. */
export async function candidates(
  program: Command,
  words: readonly string[],
  names: NameLookup,
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
  if (pending) return start((pending.argChoices ?? []).map((word) => ({ word, description: '' })));
  if (current.startsWith('-')) return start(optionsOf(command));
  const last = command.registeredArguments.at(-1);
  const argument = command.registeredArguments[operands] ?? (last?.variadic ? last : undefined);
  if (!argument) return [];
  return start(await valuesOf(argument, flags, names));
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
    .flatMap(({ long, description }) => (long ? { word: long, description } : []));
}

async function valuesOf(
  argument: Argument,
  flags: ReadonlyMap<string, string>,
  names: NameLookup,
): Promise<readonly Candidate[]> {
  if (argument.argChoices) return argument.argChoices.map((word) => ({ word, description: '' }));
  if (argument.name() === 'reason') {
    return reasonNames.map((word) => ({ word, description: reasons[word].meaning }));
  }
  if (argument.name() !== 'name' || !flags.has('--source')) return [];
  return (await names(flags)).map((word) => ({ word, description: containerService.name }));
}

/** The flags with their values, the number of operands, and the option that waits for its value. */
function readLine(command: Command, words: readonly string[]) {
  const flags = new Map<string, string>();
  let operands = 0;
  let pending: Option | undefined;
  for (const word of words) {
    if (pending) {
      flags.set(pending.long ?? '', word);
      pending = undefined;
    } else if (word.startsWith('-')) {
      const [flag = '', value] = word.split('=', 2);
      const option = command.options.find(({ long, short }) => flag === long || flag === short);
      if (value !== undefined) flags.set(flag, value);
      else if (option?.required) pending = option;
    } else operands += 1;
  }
  return { flags, operands, pending };
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
