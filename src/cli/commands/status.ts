import { existsSync } from 'node:fs';
import { Option, type Command } from 'commander';
import { UserError } from '../../base/index.ts';
import { readState, stateFacts, type ObjectRecord } from '../../state/index.ts';
import { isCluster } from '../cluster.ts';
import { exitCodes, type Context } from '../context.ts';
import { ownerChoice, stateFile, withFleetFlags, type FleetFlags } from '../options.ts';
import type { OutputFormat } from '../output/output.ts';
import { selectorOption } from '../selection.ts';
import { selectedEntries, statusEntries, type EntryFlags, type StatusEntry } from '../status/entries.ts';
import { isMissing, managerOfFolder, type ManagerState } from '../status/manager-state.ts';
import { printEntries, statusOutputOption, type StatusOutput } from '../status/output.ts';

interface StatusFlags extends FleetFlags, EntryFlags {
  readonly output: StatusOutput;
}

/** `status`: what the manager last wrote down; works beside a running one and without the API. */
export function defineStatus(command: Command, context: Context, exit: (code: number) => void): void {
  withFleetFlags(command, 'silent')
    .argument('[name...]', 'only these: NAME, or KIND/NAME such as csvc/web; default all')
    .addOption(statusOutputOption())
    .addOption(selectorOption())
    .option('-n, --namespace <name>', 'only objects of this namespace; of a name: default')
    .addOption(kindOption())
    .option('--reason <reason>', 'only objects with this reason in a condition, for example InvalidSpec')
    .action(async (names: string[], flags: StatusFlags) => {
      const { entries, manager } = await readEntries(context, flags);
      printEntries(context, flags.output, selectedEntries(entries, names, flags), manager);
      if (isMissing(manager)) exit(exitCodes.noManager);
    });
}

function kindOption(): Option {
  return new Option(
    '--kind <kind>',
    'only objects of this kind, by any of its names; can be repeated',
  ).argParser((text, before: readonly string[] | undefined) => [...(before ?? []), ...text.split(',')]);
}

interface EntriesNow {
  readonly entries: readonly StatusEntry[];
  readonly manager: ManagerState;
}

async function readEntries(context: Context, flags: FleetFlags): Promise<EntriesNow> {
  if (isCluster(flags.source)) {
    const { observeOnce } = await import('../fleet-access.ts');
    const { store, snapshot, manager } = await observeOnce(context, flags);
    const createdAt = (key: ObjectRecord['key']) => snapshot.cluster?.get(key)?.createdAt;
    return { entries: statusEntries(store.records(), createdAt), manager };
  }
  const file = stateFile(flags);
  if (!existsSync(file)) {
    throw new UserError(
      `there is no state file ${file}`,
      '`fleetkeeper run` or `fleetkeeper apply` creates it; if it is kept elsewhere, name it with --state',
    );
  }
  // The sign first: a manager that stops meanwhile has written all that is read then.
  const manager = managerOfFolder(stateFacts(file), context.hostname, context.clock.wallMs());
  const { random } = context;
  return { entries: statusEntries(readState(file, random, ownerChoice(flags)).records()), manager };
}

/** For a command that keeps the state itself. */
export function printStatus(context: Context, format: OutputFormat, records: Iterable<ObjectRecord>): void {
  printEntries(context, { format }, statusEntries(records));
}
