import type { Command } from 'commander';
import { UserError } from '../../base/index.ts';
import { containerService } from '../../kinds/container-service/declaration.ts';
import { group, parseObjectKey, type ObjectKey } from '../../resources/index.ts';
import { serviceKey } from '../account/service-lookup.ts';
import { isCluster } from '../cluster.ts';
import { print, type Context } from '../context.ts';
import { editServices, type DocumentEdit, type FieldValue, type Wanted } from '../edit/service-edit.ts';
import { sameFleetFlags, withFolderSource, type FleetFlags } from '../options.ts';
import { oneLine } from '../output/terminal-text.ts';

type PowerFlags = Pick<FleetFlags, 'source' | 'kubeconfig' | 'context'> & { readonly namespace: string };

/** `restart`: a new value of `restartToken`, which asks for one restart. */
export function defineRestart(command: Command, context: Context): void {
  definePower(command, context, (now) => ({
    field: { field: 'restartToken', value: now },
    wanted: ({ desiredState, restartToken }, name) => {
      if (desiredState === 'Stopped') {
        const remedy = `\`${context.command} start ${name}\` starts it`;
        throw new UserError(`${name} is to be stopped (\`desiredState: Stopped\`)`, remedy);
      }
      // Twice within a millisecond.
      return { field: 'restartToken', value: restartToken === now ? `${now}+` : now };
    },
  }));
}

/** `stop`: the service is paused, and keeps its storage. */
export function defineStop(command: Command, context: Context): void {
  definePower(command, context, () => power('Stopped'));
}

/** `start`: the service runs again. */
export function defineStart(command: Command, context: Context): void {
  definePower(command, context, () => power('Running'));
}

function power(value: 'Running' | 'Stopped'): Verb {
  const field: FieldValue = { field: 'desiredState', value };
  return { field, wanted: ({ desiredState }) => (desiredState === value ? undefined : field) };
}

interface Verb {
  /** For a cluster, whose documents are not read. */
  readonly field: FieldValue;
  readonly wanted: Wanted;
}

/** Edits documents, and changes nothing at the provider by itself. */
function definePower(command: Command, context: Context, verb: (now: string) => Verb): void {
  withFolderSource(command.argument('<name...>', 'of services, as NAME or KIND/NAME'))
    .option('-n, --namespace <name>', 'of the services', 'default')
    .action(async (names: readonly string[], flags: PowerFlags) => {
      const keys = [...new Set(names.map((name) => serviceKey(name, flags.namespace)))];
      const { field, wanted } = verb(new Date(context.clock.wallMs()).toISOString());
      if (isCluster(flags.source)) throw inCluster(keys, field, flags);
      const edits = await editServices(flags.source, keys, wanted, context.random);
      for (const edit of edits) print(context, shown(edit));
      if (edits.every(({ edited }) => !edited)) return;
      const fleet = sameFleetFlags(flags);
      print(
        context,
        `The provider is not changed yet: \`${context.command} apply ${fleet}\` does that. ` +
          'A manager that runs on this folder does it by itself.',
      );
    });
}

function shown({ key, place, edited }: DocumentEdit): string {
  if (!edited) return `${place}: ${parseObjectKey(key).name} is unchanged: it has that already`;
  const before = edited.before === undefined ? [] : [`- ${lineOf(edited.before)}`];
  return [`${place}:`, ...before, `+ ${lineOf(edited.after)}`].join('\n');
}

/** With its indentation. */
function lineOf(text: string): string {
  return `${/^ */.exec(text)?.[0] ?? ''}${oneLine(text)}`;
}

function inCluster(keys: readonly ObjectKey[], { field, value }: FieldValue, flags: PowerFlags): UserError {
  const patch = JSON.stringify({ spec: { [field]: value } });
  const { kubeconfig, context } = flags;
  const cluster = Object.entries({ kubeconfig, context }).flatMap(([name, given]) =>
    given === undefined ? [] : [`--${name}=${given}`],
  );
  const target = [`kubectl patch ${containerService.plural}.${group}`];
  const lines = keys.map((key) => {
    const { namespace, name } = parseObjectKey(key);
    const words = [
      ...target,
      name,
      `--namespace=${namespace}`,
      ...cluster,
      '--type=merge',
      `--patch='${patch}'`,
    ];
    return words.join(' ');
  });
  return new UserError('objects of a cluster are changed there', lines.join('\n  '));
}
