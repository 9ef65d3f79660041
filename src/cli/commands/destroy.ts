import type { Command } from 'commander';
import { UserError } from '../../base/index.ts';
import type { DesiredSnapshot } from '../../desired/index.ts';
import { Admission, oneShotGrace } from '../../engine/index.ts';
import type { FleetPlan } from '../../manager/index.ts';
import { accountKind, accountNamed, group, managedKinds, resourceTypes } from '../../resources/index.ts';
import { giveSigns, lockState, openState, readState, type StateStore } from '../../state/index.ts';
import { isCluster } from '../cluster.ts';
import { complain, exitCodes, print, type Context } from '../context.ts';
import { removalOf, withRunning } from '../removal.ts';
import { fleetIdentity } from '../digest-key.ts';
import { withLocalCode } from '../local/with-local.ts';
import { withFolderArgument } from '../flags/source-option.ts';
import { observeFleet, problemLines } from '../fleet-plan.ts';
import {
  acceptIdentityOption,
  durationOption,
  outputOption,
  sameFleetFlags,
  settleOption,
  stateFile,
  withFolderFlags,
} from '../options.ts';
import { palette, renderPlan } from '../output/render.ts';
import { partText, partToRemove, recordsIn, type PartOfFleet } from '../part-of-fleet.ts';
import { withSelectionFlags } from '../selection.ts';
import { openSource } from '../source.ts';
import { consented, converge, type ConvergeFlags } from './apply.ts';
import { printStatus } from './status.ts';

type DestroyFlags = Omit<ConvergeFlags, 'allowMassChange' | 'removes'>;

/** `destroy`: plan, consent, delete, report; exit 0 only when every selected object is gone. */
export function defineDestroy(command: Command, context: Context, exit: (code: number) => void): void {
  withSelectionFlags(withFolderFlags(withFolderArgument(command), 'silent'))
    .addOption(outputOption())
    .option('--yes', 'do not ask')
    .addOption(durationOption('--timeout <duration>', 'how long to wait until all is gone', '10m'))
    .addOption(settleOption())
    .addOption(acceptIdentityOption())
    .action(async (_folder: string | undefined, flags: DestroyFlags) => {
      if (isCluster(flags.source)) throw inCluster();
      const file = stateFile(flags);
      const lock = (context.ports?.stateFiles?.lockState ?? lockState)(
        file,
        `process ${context.pid} on ${context.hostname} (fleetkeeper destroy --source ${flags.source})`,
      );
      try {
        exit(await withLocalCode(context, flags.source, (local) => destroy(local, flags, file)));
      } finally {
        lock.release();
      }
    });
}

async function destroy(context: Context, flags: DestroyFlags, file: string): Promise<number> {
  const folder = openSource(flags, context, false);
  const snapshot = await folder.start(() => undefined);
  const owner = await fleetIdentity(context, flags, file);
  const preview = readState(file, context.random, owner);
  const part = partToRemove(flags, snapshot, preview);
  const removal = removalOf(snapshot, part, preview, context.clock.wallMs());
  const source = {
    description: folder.description,
    start: async () => removal.snapshot,
    stop: async () => undefined,
  };
  await takeIn(context, preview, snapshot, part);
  const timeout = Math.min(flags.timeout, 60_000);
  const observed = await observeFleet(context, { ...flags, timeout }, { source, store: preview }, part);
  for (const line of problemLines(observed.snapshot)) complain(context, line);
  if (observed.unreadable.length > 0) {
    throw new UserError(observed.unreadable.join('\n'), 'nothing was destroyed: correct that first');
  }
  const plan = withRunning(observed.plan, removal);
  if (flags.output === 'text') {
    if (plan.partial) print(context, partText(plan.partial));
    print(context, renderPlan(plan, palette(context.stdout, context.environment)));
  }
  if (!(await consented(context, flags, plan, 'Destroy all of this'))) return exitCodes.failed;
  const open = context.ports?.stateFiles?.openState ?? openState;
  const state = open(file, context.random, owner);
  const { pid, hostname: host } = context;
  const signs = context.ports?.stateFiles?.giveSigns ?? giveSigns;
  const stopSigns = signs(file, { command: 'destroy', pid, host }, context.clock);
  try {
    // What the documents show now counts: a confirmation of data loss, a deletionPolicy.
    await takeIn(context, state.store, snapshot, part);
    const how = { ...flags, removes: true };
    const outcome = await converge(context, how, source, state.store, part);
    const isGone = report(context, flags, plan, recordsIn(part, state.store));
    if (outcome !== 'ready') complain(context, outcome);
    return isGone && observed.snapshot.problems.length === 0 ? exitCodes.ok : exitCodes.failed;
  } finally {
    state.close();
    stopSigns();
  }
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
  flags: DestroyFlags,
  { changes }: FleetPlan,
  records: ReturnType<typeof recordsIn>,
): boolean {
  const left = [...records.records()].filter(({ key }) => accountNamed(key) === undefined);
  if (left.length > 0 || flags.output !== 'text') printStatus(context, flags.output, left);
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
