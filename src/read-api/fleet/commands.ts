/** Commands to copy: those of the command line that apply to an object now. Pure. */
import { isReason, reasons } from '../../reasons/index.ts';
import { parseObjectKey, traitsOf, type ObjectKey } from '../../resources/index.ts';
import { conditionOf, type StatusEntry } from '../../shown/entries.ts';

export interface CopiedCommand {
  readonly what: string;
  readonly text: string;
}

/** `flags`: those that name the fleet. */
export function showCommand(key: ObjectKey, flags: string): string {
  const { kind, namespace, name } = parseObjectKey(key);
  return commandLine(`describe ${kind}/${name}`, namespace, flags);
}

/** What changes something is first. `reason`: why it is as it is. */
export function commandsFor(entry: StatusEntry, flags: string, reason: string): CopiedCommand[] {
  const { record, kind, namespace, name } = entry;
  const line = (text: string) => commandLine(text, namespace, flags);
  const { list, scale } = traitsOf(kind);
  const commands: CopiedCommand[] = scale ? rolloutCommands(entry, line) : [];
  if (conditionOf(entry, 'OutcomeUnknown')?.status === 'True') {
    const resolve = `resolve ${kind}/${name}`;
    commands.push(
      { what: 'confirm that the request took effect', text: line(`${resolve} --applied`) },
      { what: 'confirm that it did not', text: line(`${resolve} --not-applied`) },
    );
  }
  if (list === 'services' && record.externalId !== undefined) {
    commands.push(
      { what: 'show what its containers write', text: line(`logs ${name}`) },
      { what: "show the provider's events", text: line(`events ${name}`) },
    );
  }
  commands.push({ what: 'show all that is recorded', text: showCommand(record.key, flags) });
  if (isReason(reason) && reasons[reason].kind !== 'ready')
    commands.push({ what: `read what ${reason} means`, text: `fleetkeeper explain ${reason}` });
  return commands;
}

const byPhase: Readonly<Record<string, readonly string[]>> = {
  Progressing: ['freeze', 'abort'],
  Paused: ['promote', 'freeze', 'abort'],
  Analysing: ['promote', 'freeze', 'abort'],
  RollingBack: ['freeze'],
  RolledBack: ['retry'],
  Frozen: ['thaw', 'abort'],
};

const effects: Readonly<Record<string, string>> = {
  promote: 'continue with the next step',
  freeze: 'keep everything as it is',
  abort: 'return to the last healthy revision',
  retry: 'try the failed revision again',
  thaw: 'continue the frozen rollout',
};

function rolloutCommands({ record, name }: StatusEntry, line: (text: string) => string): CopiedCommand[] {
  const { phase = '' } = (record.status?.['rollout'] ?? {}) as { readonly phase?: string };
  const verbs = byPhase[phase] ?? [];
  return [
    ...verbs.map((verb) => ({ what: effects[verb] ?? verb, text: line(`rollout ${verb} ${name}`) })),
    { what: 'follow the rollout', text: line(`rollout status ${name}`) },
  ];
}

function commandLine(text: string, namespace: string, flags: string): string {
  return `fleetkeeper ${text} -n ${namespace}${flags === '' ? '' : ` ${flags}`}`;
}
