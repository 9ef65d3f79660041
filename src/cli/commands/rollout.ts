import { Argument, Option, type Command } from 'commander';
import { UserError, rfc3339, sleep } from '../../base/index.ts';
import { commandText } from '../../resources/index.ts';
import { isCluster, withHiddenShard } from '../cluster.ts';
import { exitCodes, print, type Context } from '../context.ts';
import { folderManager } from '../fleet-access.ts';
import { outputOption, parseDuration, stateFile, withFleetFlags } from '../options.ts';
import { structured } from '../output/output.ts';
import { renderTable } from '../output/render.ts';
import { age, oneLine } from '../output/terminal-text.ts';
import { isEdited } from '../replicas/edited.ts';
import { findFleet, type FoundFleet } from '../replicas/fleets.ts';
import { give, type CommandFlags } from '../replicas/give.ts';
import { openPlace } from '../replicas/place.ts';
import {
  revisionsIn,
  rolloutProgress,
  stepUnderWay,
  type RolloutProgress,
} from '../../shown/rollout-progress.ts';

interface RolloutFlags extends CommandFlags {
  readonly timeout?: number;
  readonly once?: boolean;
  readonly full?: boolean;
}

const actions = ['status', 'history', 'promote', 'abort', 'retry', 'freeze', 'thaw'] as const;
type Action = (typeof actions)[number];
type Verb = Exclude<Action, 'status' | 'history'>;

const everyMs = 1000;
/** A manager may be about to start. */
const startMs = 5000;
const codes = { Stable: exitCodes.ok, Failed: exitCodes.failed, Paused: 2, Waiting: exitCodes.failed };

/** `rollout`: how a changed template reaches the replicas, and what a person may do about it. */
export function defineRollout(command: Command, context: Context, exit: (code: number) => void): void {
  withHiddenShard(withFleetFlags(command, 'silent'))
    .addArgument(new Argument('<action>', 'what to do').choices(actions))
    .argument('<fleet>', 'name of the ServiceFleet')
    .option('-n, --namespace <name>', 'of the fleet', 'default')
    .addOption(outputOption())
    .addOption(
      new Option('--timeout <duration>', 'of status: how long to wait; default without end').argParser(
        parseDuration,
      ),
    )
    .option('--once', 'of status: show how far it is, and end; exit 0 while a manager has it under way')
    .option('--full', 'of promote: all steps, and not only the one that is under way')
    .action(async (action: Action, name: string, flags: RolloutFlags) => {
      if (action === 'status') return exit(await showStatus(context, name, flags));
      const place = await openPlace(context, flags);
      const fleet = findFleet(place.store, name, flags.namespace);
      if (action === 'history') return showHistory(context, fleet, flags);
      await give(context, flags, place, fleet, orders[action](fleet, flags));
    });
}

// ---- status ------------------------------------------------------------------------------------------

/** Blocks until the rollout has ended, as kubectl's does. Resolves with the exit code. */
async function showStatus(context: Context, name: string, flags: RolloutFlags): Promise<number> {
  const { clock, stopped } = context;
  const until = flags.timeout === undefined ? Infinity : clock.monotonicMs() + flags.timeout;
  let shown = '';
  let managedAtMs = clock.monotonicMs();
  for (;;) {
    const { store } = await openPlace(context, flags);
    const fleet = findFleet(store, name, flags.namespace);
    const progress = await progressOf(context, fleet, flags);
    const isLast = progress.result !== 'Waiting';
    if (!isLast && flags.once && !isManaged(context, flags)) throw unmanaged(context, progress);
    if (isLast || flags.once) return report(context, fleet, progress, flags);
    if (flags.output === 'text' && progress.message !== shown)
      print(context, `${fleet.name}: ${progress.message}`);
    shown = progress.message;
    if (isManaged(context, flags)) managedAtMs = clock.monotonicMs();
    if (clock.monotonicMs() - managedAtMs >= startMs) throw unmanaged(context, progress);
    if (clock.monotonicMs() >= until) throw new UserError(`${fleet.name} is not there yet: ${shown}`);
    await sleep(clock, everyMs, stopped);
    if (stopped.aborted) throw new UserError('stopped; the rollout continues');
  }
}

async function progressOf(
  context: Context,
  fleet: FoundFleet,
  flags: RolloutFlags,
): Promise<RolloutProgress> {
  const isNewer = !isCluster(flags.source) && (await isEdited(context, fleet, flags)) === 'edited';
  if (isNewer) return { result: 'Waiting', message: 'the manager has not taken in the document yet' };
  return rolloutProgress(fleet.record);
}

function report(
  context: Context,
  { key, name }: FoundFleet,
  { result, message }: RolloutProgress,
  { output }: RolloutFlags,
): number {
  if (output === 'text') print(context, `${name}: ${message}`);
  else print(context, structured(output, { object: key, result, message }));
  return result === 'Waiting' ? exitCodes.ok : codes[result];
}

function isManaged(context: Context, flags: RolloutFlags): boolean {
  if (isCluster(flags.source)) return true;
  const { phase } = folderManager(context, stateFile(flags));
  return phase === 'Running' || phase === 'Silent';
}

/** Nothing would ever change. */
function unmanaged({ command }: Context, { message }: RolloutProgress): UserError {
  return new UserError(
    `no manager is running, and the rollout has not ended: ${message}`,
    `\`${command} apply\` or \`${command} run\` continues it`,
  );
}

// ---- history -----------------------------------------------------------------------------------------

function showHistory(context: Context, { key, record }: FoundFleet, { output }: RolloutFlags): void {
  const revisions = revisionsIn(record.status);
  if (output !== 'text') return print(context, structured(output, { object: key, revisions }));
  if (revisions.length === 0) return print(context, 'No revisions yet.');
  const nowMs = context.clock.wallMs();
  const rows = revisions.map(({ name, outcome, at, image = '-', reason = '' }) => [
    name,
    outcome,
    age(Date.parse(at), nowMs),
    oneLine(image),
    oneLine(reason),
  ]);
  print(context, renderTable(['REVISION', 'OUTCOME', 'AGE', 'IMAGE', 'REASON'], rows));
}

// ---- orders ------------------------------------------------------------------------------------------

interface Order {
  readonly text: string;
  readonly what: string;
}

const underWay: ReadonlySet<string> = new Set(['Progressing', 'Paused', 'Analysing']);

/** Each names the revision that its author sees. */
const orders: Readonly<Record<Verb, (fleet: FoundFleet, flags: RolloutFlags) => Order>> = {
  promote: (fleet, { full = false }) => {
    const revision = rolloutUnderWay(fleet);
    const number = stepUnderWay(fleet.record);
    if (number === undefined) throw nothingToDo(fleet, 'has no step that is under way');
    const target = `${revision}#${number}`;
    const what = full ? 'all steps' : `step ${number}`;
    return {
      text: commandText(full ? 'promote-full' : 'promote', undefined, target),
      what: `${what} of the rollout of ${fleet.name} to ${revision} ${full ? 'are' : 'is'} over`,
    };
  },
  abort: (fleet) => {
    const revision = rolloutUnderWay(fleet);
    return {
      text: commandText('abort', undefined, revision),
      what: `the rollout of ${fleet.name} to ${revision} fails, and the replicas return to the newest Healthy revision`,
    };
  },
  freeze: (fleet) => {
    const revision = rolloutUnderWay(fleet);
    return {
      text: commandText('freeze', undefined, revision),
      what: `no more replicas of ${fleet.name} get ${revision} until it is thawed`,
    };
  },
  thaw: (fleet) => {
    const { rollout } = fleet.record.kind;
    if (rollout?.phase !== 'Frozen') throw nothingToDo(fleet, 'is not frozen');
    const revision = `r${rollout.revision}`;
    return {
      text: commandText('thaw', undefined, revision),
      what: `the rollout of ${fleet.name} to ${revision} continues`,
    };
  },
  retry: (fleet) => {
    const { rollout, update } = fleet.record.kind;
    const failed = revisionsIn(fleet.record.status).find(({ name }) => name === `r${update}`);
    if (!rollout || failed?.outcome !== 'Failed') throw nothingToDo(fleet, 'has not failed');
    return {
      text: commandText('retry', undefined, `${failed.name}#${rollout.attempt}`),
      what: `${failed.name} of ${fleet.name} is tried again`,
    };
  },
};

function rolloutUnderWay(fleet: FoundFleet): string {
  const { rollout } = fleet.record.kind;
  if (rollout && underWay.has(rollout.phase)) return `r${rollout.revision}`;
  throw nothingToDo(fleet, 'is not under way');
}

function nothingToDo({ name, record }: FoundFleet, what: string): UserError {
  const { rollout, update } = record.kind;
  const phase = rollout ? `${rollout.phase} since ${rfc3339(rollout.since)}` : 'Stable';
  return new UserError(
    `the rollout of ${name} ${what}: it is ${phase}, at r${rollout?.revision ?? update ?? 0}`,
    '`fleetkeeper rollout history` shows what became of each revision',
  );
}
