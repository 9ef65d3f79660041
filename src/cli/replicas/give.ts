/** Leaves an operator command for the manager, and reports what becomes of it. */
import { rfc3339 } from '../../base/index.ts';
import { annotations } from '../../resources/index.ts';
import { complain, print, type Context } from '../context.ts';
import { isCluster } from '../cluster.ts';
import { sameFleetFlags, type FleetFlags } from '../options.ts';
import { structured, type OutputFormat } from '../output/output.ts';
import type { FoundFleet } from './fleets.ts';
import type { Place } from './place.ts';

export interface CommandFlags extends FleetFlags {
  readonly namespace: string;
  readonly output: OutputFormat;
}

/** `what`: what it does, as a sentence. */
export async function give(
  context: Context,
  flags: CommandFlags,
  place: Place,
  fleet: FoundFleet,
  { text, what }: { readonly text: string; readonly what: string },
): Promise<void> {
  const { key, record } = fleet;
  const last = record.lastCommand;
  const isRepeated = last?.command === text;
  const waiting = place.store.command(key) ?? annotationOf(fleet);
  const replaced =
    waiting !== undefined && waiting !== text && waiting !== last?.command ? waiting : undefined;
  if (!isRepeated) await place.leaveCommand(key, text);
  if (flags.output !== 'text') {
    const answer = { object: key, command: text, given: !isRepeated, replaced: replaced ?? null };
    return print(context, structured(flags.output, answer));
  }
  if (isRepeated) {
    const decided = `${last.result === 'Done' ? 'carried out' : 'found outdated'} at ${rfc3339(last.at)}`;
    return print(context, `Unchanged: the same command was ${decided}: ${last.message}`);
  }
  if (replaced !== undefined)
    complain(context, `it replaces the command "${replaced}", which was not carried out yet`);
  if (record.manifest.annotations[annotations.paused] === 'true')
    complain(context, `${fleet.name} is paused: the command waits until ${annotations.paused} is removed`);
  const apply = isCluster(flags.source)
    ? ''
    : `; without one, \`${context.command} apply ${sameFleetFlags(flags)}\` does`;
  print(context, `Recorded: ${what}. A manager that runs does that within seconds${apply}.`);
}

function annotationOf({ record }: FoundFleet): string | undefined {
  const text = record.manifest.annotations[annotations.command];
  return text === record.lastCommand?.annotation ? undefined : text;
}
