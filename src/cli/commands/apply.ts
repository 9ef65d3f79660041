import { createInterface } from 'node:readline/promises';
import type { Command } from 'commander';
import { UserError } from '../../base/index.ts';
import type { DesiredSource } from '../../desired/index.ts';
import { Manager, type FleetPlan } from '../../manager/index.ts';
import { oneShotGrace } from '../../engine/index.ts';
import { giveSigns, lockState, openState, readState, type StateStore } from '../../state/index.ts';
import { createMetrics } from '../../telemetry/index.ts';
import { isCluster } from '../cluster.ts';
import { complain, exitCodes, print, type Context } from '../context.ts';
import { withFolderArgument } from '../flags/source-option.ts';
import { withLocalCode } from '../local/with-local.ts';
import { fleetIdentity } from '../digest-key.ts';
import { observeFleet, problemLines } from '../fleet-plan.ts';
import {
  acceptIdentityOption,
  acceptance,
  durationOption,
  outputOption,
  sameFleetFlags,
  settleOption,
  stateFile,
  withFolderFlags,
  type FleetFlags,
} from '../options.ts';
import { partText, recordsIn, type PartOfFleet, type Records } from '../part-of-fleet.ts';
import { withSelectionFlags, type SelectionFlags } from '../selection.ts';
import { environmentAccount, openSource } from '../source.ts';
import type { OutputFormat } from '../output/output.ts';
import { openLog } from '../log.ts';
import { palette, renderPlan } from '../output/render.ts';
import { isSettled, needsPerson, readyReasonOf } from '../output/settled.ts';
import { Convergence } from '../progress/convergence.ts';
import { openProgress } from '../progress/screen.ts';
import { identity } from '../progress/view.ts';
import { printStatus } from './status.ts';

export interface ConvergeFlags extends FleetFlags, SelectionFlags {
  readonly output: OutputFormat;
  readonly timeout: number;
  readonly settle: number;
  readonly stable?: number;
  readonly yes?: boolean;
  readonly allowMassChange?: boolean;
  /** What the source lacks is deleted, and no limit applies to that. */
  readonly removes?: boolean;
}

/** `apply`: plan, consent, converge, report; exit 0 only when every object is Ready. */
export function defineApply(command: Command, context: Context, exit: (code: number) => void): void {
  withSelectionFlags(withFolderFlags(withFolderArgument(command), 'silent'))
    .addOption(outputOption())
    .option('--yes', 'do not ask')
    .addOption(durationOption('--timeout <duration>', 'how long to wait for the fleet', '10m'))
    .addOption(
      durationOption(
        '--stable <duration>',
        'how long what was started must stay Ready, before it is read once more and reported; 0s: not at all',
        '10s',
      ),
    )
    .addOption(settleOption())
    .addOption(acceptIdentityOption())
    .option('--allow-mass-change', 'allow the many creations, deletions and corrections in the plan')
    .action(async (_folder: string | undefined, flags: ConvergeFlags) => {
      if (isCluster(flags.source)) {
        throw new UserError(
          'the manager that runs in a cluster applies its objects',
          'write documents with `kubectl apply`, check with `fleetkeeper plan`, and wait with `kubectl wait --for=condition=Ready`',
        );
      }
      const file = stateFile(flags);
      const lock = (context.ports?.stateFiles?.lockState ?? lockState)(
        file,
        `process ${context.pid} on ${context.hostname} (fleetkeeper apply --source ${flags.source})`,
      );
      try {
        exit(await withLocalCode(context, flags.source, (local) => apply(local, flags, file)));
      } finally {
        lock.release();
      }
    });
}

async function apply(context: Context, flags: ConvergeFlags, file: string): Promise<number> {
  // What was planned and consented to is what is applied, whatever happens to the files meanwhile.
  const folder = openSource(flags, context, false);
  const snapshot = await folder.start(() => undefined);
  const source: DesiredSource = {
    description: folder.description,
    start: async () => snapshot,
    stop: async () => undefined,
  };
  const owner = await fleetIdentity(context, flags, file);
  const store = readState(file, context.random, owner);
  const timeout = Math.min(flags.timeout, 60_000);
  const observed = await observeFleet(context, { ...flags, timeout }, { source, store });
  for (const line of problemLines(observed.snapshot)) complain(context, line);
  if (observed.unreadable.length > 0) {
    throw new UserError(
      observed.unreadable.join('\n'),
      'nothing was applied: correct that first; `fleetkeeper run` works on the accounts that can be read',
    );
  }
  const { partial } = observed.plan;
  if (flags.output === 'text' && partial) print(context, partText(partial));
  if (flags.output === 'text')
    print(context, renderPlan(observed.plan, palette(context.stdout, context.environment)));
  if (!(await consented(context, flags, observed.plan, 'Apply these changes'))) return exitCodes.failed;
  const open = context.ports?.stateFiles?.openState ?? openState;
  const state = open(file, context.random, owner);
  const { pid, hostname: host } = context;
  const signs = context.ports?.stateFiles?.giveSigns ?? giveSigns;
  const stopSigns = signs(file, { command: 'apply', pid, host }, context.clock);
  try {
    const converged = await converge(context, flags, source, state.store, observed.part);
    const records = recordsIn(observed.part, state.store);
    const outcome = converged === 'ready' ? stillReady(records) : converged;
    report(context, flags, records);
    if (outcome !== 'ready') complain(context, outcome);
    return outcome === 'ready' && observed.snapshot.problems.length === 0 ? exitCodes.ok : exitCodes.failed;
  } finally {
    state.close();
    stopSigns();
  }
}

export async function consented(
  context: Context,
  flags: ConvergeFlags,
  plan: FleetPlan,
  question: string,
): Promise<boolean> {
  // What is held now may be carried out as soon as nothing holds it any more.
  const asksForNothing = plan.changes.length === 0 && plan.held.every(({ actions }) => actions.length === 0);
  if (flags.yes || asksForNothing) return true;
  if (!context.stdin.isTTY || !context.stdout.isTTY) {
    complain(context, 'there are changes, and no terminal to ask: pass --yes to apply them');
    return false;
  }
  const questions = createInterface({ input: context.stdin, output: context.stdout });
  try {
    const answer = await questions.question(`${question}? Only "yes" is accepted: `, {
      signal: context.stopped,
    });
    if (answer.trim() === 'yes') return true;
  } catch (error) {
    // Ctrl-C and Ctrl-D are a no.
    if ((error as Error).name !== 'AbortError') throw error;
  } finally {
    questions.close();
  }
  complain(context, 'not applied');
  return false;
}

/** Runs the manager until every object is Ready, or nothing more can be done without a person, or time is up. */
export async function converge(
  context: Context,
  flags: ConvergeFlags,
  source: DesiredSource,
  store: StateStore,
  part: PartOfFleet | undefined,
): Promise<string> {
  const { clock, random } = context;
  const { promise: finished, resolve: finish } = Promise.withResolvers<string>();
  const records = recordsIn(part, store);
  const screen = await openProgress(context, store, records);
  const convergence: Convergence = new Convergence({
    clock,
    store,
    records,
    stableMs: flags.stable ?? 0,
    screen,
    passed: () => manager.passed,
    readAgain: () => manager.readAgain(),
    onFinished: () => finish(verdict(records)),
  });
  const manager: Manager = new Manager({
    ...context.ports?.network,
    source,
    store,
    environment: environmentAccount(context),
    clock,
    random,
    logger: openLog(context, flags, (text) => screen.log(text)),
    metrics: createMetrics(),
    settleMs: flags.settle,
    grace: oneShotGrace,
    allowMassChange: flags.allowMassChange ?? false,
    ...acceptance(flags),
    mode: 'manage',
    ...(part ? { isSelected: part.has } : {}),
    ...(flags.removes ? { allowRemovals: true } : {}),
    commandFlags: sameFleetFlags(flags),
    onPass: (key, result) => convergence.onPass(key, result),
  });
  // What has not been Ready for the whole of --stable has at least been Ready until now.
  const late = `not all objects are ${flags.removes ? 'gone' : 'Ready'} after ${flags.timeout / 1000} s; requests under way continue at the provider, and the next run of the command continues from there`;
  const deadline = clock.after(flags.timeout, () => finish(convergence.isSettled ? verdict(records) : late));
  context.stopped.addEventListener('abort', () => finish('stopped; the next apply continues with the rest'), {
    once: true,
  });
  try {
    await manager.start();
    screen.started();
    if ([...records.records()].length === 0) finish('ready');
    return await finished;
  } finally {
    deadline.cancel();
    convergence.stop();
    await manager.stop();
    screen.close();
  }
}

/** What was under way when the last object became Ready may have changed another one: what is reported is what counts. */
function stillReady(store: Records): string {
  const unsettled = [...store.records()].filter((record) => !isSettled(record));
  if (unsettled.length === 0) return verdict(store);
  const names = unsettled.map(({ key }) => identity(key)).join(', ');
  return `${unsettled.length} object(s) are not Ready any more: ${names}; the next apply continues with them`;
}

/** Of settled objects: `ready`, or who is needed. */
function verdict(store: Records): string {
  const stalled = [...store.records()].filter(needsPerson);
  if (stalled.length === 0) return 'ready';
  const names = stalled.map((record) => `${identity(record.key)} (${readyReasonOf(record)})`);
  return `${stalled.length} object(s) need a person: ${names.join(', ')}`;
}

function report(context: Context, flags: ConvergeFlags, store: Records): void {
  const records = [...store.records()].sort((left, right) => (left.key < right.key ? -1 : 1));
  printStatus(context, flags.output, records);
}
