import { Option, type Command } from 'commander';
import { isCluster } from '../cluster.ts';
import { exitCodes, type Context } from '../context.ts';
import { withFleetFlags, type FleetFlags } from '../options.ts';
import { selectorOption } from '../selection.ts';
import { planFileInProgress, selectedEntries, type EntryFlags } from '../status/entries.ts';
import { isMissing } from '../../shown/manager-state.ts';
import { printEntries, statusOutputOption, type StatusOutput } from '../status/output.ts';
import { readEntries, type EntriesNow } from '../status/read.ts';

interface StatusFlags extends FleetFlags, EntryFlags {
  readonly output: StatusOutput;
  readonly watch?: boolean;
}

/** `status`: what the manager last wrote down; works beside a running one and without the API. */
export function defineStatus(command: Command, context: Context, exit: (code: number) => void): void {
  withFleetFlags(command, 'silent')
    .argument('[name...]', 'only these: NAME, or KIND/NAME such as csvc/web; default all')
    .addOption(statusOutputOption())
    .addOption(selectorOption())
    .option(
      '-n, --namespace <name>',
      "only objects of this namespace; of a name: default, or that of the kubeconfig's context",
    )
    .addOption(kindOption())
    .option('--reason <reason>', 'only objects with this reason in a condition, for example InvalidSpec')
    .option('-w, --watch', 'continue with what changes, until stopped')
    .action(async (names: string[], flags: StatusFlags) => {
      const now = await readEntries(context, flags);
      const entries = selectedEntries(now.entries, names, flags);
      if (flags.watch) return watch(context, flags, names, { ...now, entries });
      const { manager, store } = now;
      printEntries(context, flags.output, entries, manager, planFileInProgress(store.planFiles()));
      if (isMissing(manager)) exit(exitCodes.noManager);
    });
}

/** A cluster lists all of its objects for each read. */
const readEveryMs = { folder: 1000, cluster: 5000 };

async function watch(
  context: Context,
  flags: StatusFlags,
  names: readonly string[],
  first: EntriesNow,
): Promise<void> {
  const { watchStatus } = await import('../status/watch.ts');
  const everyMs = isCluster(flags.source) ? readEveryMs.cluster : readEveryMs.folder;
  let now = first;
  const read = async () => {
    now = await readEntries(context, flags, now);
    return { entries: selectedEntries(now.entries, names, flags, true), manager: now.manager };
  };
  await watchStatus(context, { output: flags.output, everyMs, first, read });
}

function kindOption(): Option {
  return new Option(
    '--kind <kind>',
    'only objects of this kind, by any of its names; can be repeated',
  ).argParser((text, before: readonly string[] | undefined) => [...(before ?? []), ...text.split(',')]);
}
