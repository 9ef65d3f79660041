/**
 * Operator commands: what a person orders once, beside the document. One is text, `VERB[:ARGUMENT]@TARGET`, in the annotation
 * `fleetkeeper.dev/command` or in the state file. The target is what the person saw. So a command that arrives late does
 * nothing. Pure.
 *
 * A kind declares its verbs (`commands` in kinds/KIND/declaration.ts) and carries them out (`command` in kinds/KIND/kind.ts).
 */
export interface CommandVerb {
  /** What may be between the colon and the target; absent: nothing. */
  readonly argument?: RegExp;
  readonly target: RegExp;
  /** A correct one, for messages. */
  readonly example: string;
  /** Where it can be given; default: in a folder and in a cluster. */
  readonly only?: 'folder';
}

export type CommandVerbs = Readonly<Record<string, CommandVerb>>;

export interface OperatorCommand {
  /** As it was written. */
  readonly text: string;
  readonly verb: string;
  readonly argument: string | undefined;
  readonly target: string;
}

const form = /^([a-z][a-z-]*)(?::([^@]+))?@([^@]+)$/;

/** The command, or what is wrong with the text. */
export function parseCommand(
  text: string,
  verbs: CommandVerbs,
  place: 'folder' | 'cluster',
): OperatorCommand | string {
  const known = Object.entries(verbs).filter(([, { only = place }]) => only === place);
  if (known.length === 0) return 'the kind takes no operator commands; remove it';
  const [, verb = '', argument, target = ''] = form.exec(text) ?? [];
  const declared = known.find(([name]) => name === verb)?.[1];
  if (!declared) {
    const names = known.map(([name]) => name).join(', ');
    return `"${text}" is not a command; write VERB[:ARGUMENT]@TARGET, such as ${known[0]?.[1].example}; verbs are ${names}`;
  }
  const isArgument = declared.argument?.test(argument ?? '') ?? argument === undefined;
  if (isArgument && declared.target.test(target)) return { text, verb, argument, target };
  return `"${text}" is not a command; write ${verb} as in ${declared.example}`;
}

export function commandText(verb: string, argument: string | undefined, target: string): string {
  return `${verb}${argument === undefined ? '' : `:${argument}`}@${target}`;
}
