import type { Command } from 'commander';
import { UserError } from '../../base/index.ts';
import { readJournal, stateFacts } from '../../state/index.ts';
import { isCluster } from '../cluster.ts';
import { print, type Context } from '../context.ts';
import { outputOption, stateFile, withFleetFlags, type FleetFlags } from '../options.ts';
import { structured, type OutputFormat } from '../output/output.ts';
import { palette } from '../output/render.ts';
import { oneLine } from '../output/terminal-text.ts';
import { selectorOption } from '../selection.ts';
import { describe, describedItem } from '../../shown/description.ts';
import type { StatusEntry } from '../../shown/entries.ts';
import { isAbsent, managerItem, managerLine } from '../../shown/manager-state.ts';
import { describedText } from '../status/description-text.ts';
import { selectedEntries, type EntryFlags } from '../status/entries.ts';
import { readEntries, type EntriesNow } from '../status/read.ts';

interface DescribeFlags extends FleetFlags, Omit<EntryFlags, 'kind' | 'reason'> {
  readonly output: OutputFormat;
}

/** `describe`: all that is recorded of some objects; as `status`, beside a running manager and without the API. */
export function defineDescribe(command: Command, context: Context): void {
  withFleetFlags(command, 'silent')
    .argument('[name...]', 'the objects: NAME, or KIND/NAME such as csvc/web')
    .addOption(outputOption())
    .addOption(selectorOption())
    .option(
      '-n, --namespace <name>',
      "only objects of this namespace; of a name: default, or that of the kubeconfig's context",
    )
    .action(async (names: string[], flags: DescribeFlags) => {
      if (names.length === 0 && flags.selector === undefined) {
        throw new UserError(
          'nothing is named',
          'pass a NAME, KIND/NAME, or -l; `fleetkeeper status` shows all objects',
        );
      }
      const now = await readEntries(context, flags);
      printDescriptions(context, flags, now, selectedEntries(now.entries, names, flags));
    });
}

function printDescriptions(
  context: Context,
  flags: DescribeFlags,
  { entries, store, manager }: EntriesNow,
  selected: readonly StatusEntry[],
): void {
  const file = isCluster(flags.source) ? undefined : stateFile(flags);
  const sign = file === undefined ? undefined : stateFacts(file).sign;
  // In a cluster, an object stores its newest mutation only.
  const journal = ({ record: { key } }: StatusEntry) => {
    const last = store.lastIntent(key);
    return file === undefined ? (last ? [last] : []) : readJournal(file, key);
  };
  const described = selected.map((entry) => describe(entry, entries, journal(entry), sign));
  if (flags.output !== 'text') {
    const value = { manager: managerItem(manager), items: described.map(describedItem) };
    return print(context, structured(flags.output, value));
  }
  const nowMs = context.clock.wallMs();
  const colours = palette(context.stdout, context.environment);
  const texts = described.map((one) =>
    describedText(one, { colours, nowMs, isUnmanaged: isAbsent(manager) }),
  );
  print(context, [colours.dim(oneLine(managerLine(manager, nowMs))), ...texts].join('\n\n'));
}
