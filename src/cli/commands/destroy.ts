import type { Command } from 'commander';
import { UserError } from '../../base/index.ts';
import type { DesiredSnapshot } from '../../desired/index.ts';
import { Admission, oneShotGrace } from '../../engine/index.ts';
import type { FleetPlan } from '../../manager/index.ts';
import { accountKind, accountNamed, managedKinds, group, resourceTypes } from '../../resources/index.ts';
import type { StateStore } from '../../state/index.ts';
import { converge } from '../change/converge.ts';
import {
  agreed,
  inLockedFolder,
  planned,
  withOpenState,
  type LockedFolder,
  type OneShotFlags,
} from '../change/one-shot.ts';
import { partToRemove, recordsIn, type PartOfFleet } from '../change/part-of-fleet.ts';
import { removalOf, withRunning } from '../change/removal.ts';
import { isCluster } from '../cluster.ts';
import { complain, exitCodes, print, type Context } from '../context.ts';
import { withFolderArgument } from '../flags/source-option.ts';
import {
  acceptIdentityOption,
  durationOption,
  outputOption,
  sameFleetFlags,
  settleOption,
  withFolderFlags,
} from '../options.ts';
import { withSelectionFlags } from '../selection.ts';
import { printRecords } from '../status/output.ts';

/** `destroy`: plan, consent, delete, report; exit 0 only when every selected object is gone. */
export function defineDestroy(command: Command, context: Context, exit: (code: number) => void): void {
  withSelectionFlags(withFolderFlags(withFolderArgument(command), 'silent'))
    .addOption(outputOption())
    .option('--yes', 'do not ask')
    // Longer than the default of `visibilitySeconds`, for which a creation without an answer is looked for.
    .addOption(durationOption('--timeout <duration>', 'how long to wait until all is gone', '15m'))
    .addOption(settleOption())
    .addOption(acceptIdentityOption())
    .option('--allow-mass-change', 'forget the many objects that the account does not show any more')
    .action(async (_folder: string | undefined, flags: OneShotFlags) => {
      if (isCluster(flags.source)) throw inCluster();
      exit(await inLockedFolder(context, flags, 'destroy', (folder) => destroy(folder, flags)));
    });
}

async function destroy(folder: LockedFolder, flags: OneShotFlags): Promise<number> {
  const { context, snapshot, preview } = folder;
  const part = partToRemove(flags, snapshot, preview);
  const removal = removalOf(snapshot, part, preview, context.clock.wallMs());
  const source = folder.source(removal.snapshot);
  await takeIn(context, preview, snapshot, part);
  const observed = await planned(folder, flags, 'destroy', source, part);
  const plan = withRunning(observed.plan, removal);
  if (!(await agreed(context, flags, 'destroy', plan))) return exitCodes.failed;
  return withOpenState(folder, 'destroy', async (store) => {
    // What the documents show now counts: a confirmation of data loss, a deletionPolicy.
    await takeIn(context, store, snapshot, part);
    const missing = await converge(context, flags, { command: 'destroy', source, store, part });
    const isGone = report(context, flags, plan, recordsIn(part, store));
    if (missing !== undefined) complain(context, missing);
    return isGone && observed.snapshot.problems.length === 0 ? exitCodes.ok : exitCodes.failed;
  });
}

/** Makes the records of the part as its documents are, before these count as gone. */
async function takeIn(
  { clock }: Context,
  store: StateStore,
  snapshot: DesiredSnapshot,
  { has }: PartOfFleet,
): Promise<void> {
  const options = { store, clock, grace: oneShotGrace, massChangeAllowed: () => true, isSelected: has };
  await new Admission(options).admit(snapshot).durable;
}

/** Whether all is gone. */
function report(
  context: Context,
  flags: OneShotFlags,
  { changes }: FleetPlan,
  records: ReturnType<typeof recordsIn>,
): boolean {
  const left = [...records.records()].filter(({ key }) => accountNamed(key) === undefined);
  if (left.length > 0 || flags.output !== 'text') printRecords(context, flags.output, left);
  if (flags.output !== 'text') return left.length === 0;
  const kept = changes.filter(({ action }) => action === 'leave').map(({ kind, name }) => `${kind}/${name}`);
  if (kept.length > 0) {
    print(
      context,
      `At the provider, and no longer managed (\`deletionPolicy: Retain\`): ${kept.join(', ')}.`,
    );
  }
  if (left.length === 0) print(context, 'All is gone that was to be destroyed.');
  print(
    context,
    `The documents are still in ${flags.source}: \`${context.command} apply ${sameFleetFlags(flags)}\` makes anew what they declare.`,
  );
  return left.length === 0;
}

function inCluster(): UserError {
  const kinds = managedKinds
    .filter((kind) => kind !== accountKind)
    .map((kind) => `${resourceTypes[kind].plural}.${group}`);
  return new UserError(
    'objects of a cluster are deleted there, and the operator deletes what they stand for',
    `kubectl delete ${kinds.join(',')} --all --namespace NAMESPACE`,
  );
}
