import { Option, type Command } from 'commander';
import { UserError, rfc3339 } from '../../base/index.ts';
import { accountsIn, type DesiredSnapshot } from '../../desired/index.ts';
import type { PassResult } from '../../engine/index.ts';
import { Manager } from '../../manager/index.ts';
import type { ObjectKey } from '../../resources/index.ts';
import { giveSigns, lockState, openState, type StateStore } from '../../state/index.ts';
import { createMetrics } from '../../telemetry/index.ts';
import { openPage, withOpenFlags, type OpenFlags } from '../browser.ts';
import { isCluster } from '../cluster.ts';
import { complain, print, untilStopped, type Context } from '../context.ts';
import { fleetIdentity } from '../digest-key.ts';
import { withFolderArgument } from '../flags/source-option.ts';
import { ensureLocal } from '../local/create.ts';
import { pageLine } from '../health.ts';
import { localPlaceOf, readSettings, writeSettings, type LocalRuntime } from '../local/place.ts';
import { withLocal } from '../local/with-local.ts';
import { openLog } from '../log.ts';
import { serveLocalPage, type LocalPage, type ServedManager } from '../manager-server.ts';
import {
  sameFleetFlags,
  sameFleetFlagsAnywhere,
  settleOption,
  shellWord,
  stateFile,
  withFolderFlags,
  type FleetFlags,
} from '../options.ts';
import { oneLine } from '../output/terminal-text.ts';
import { complainOfSecrets } from '../secrets-dir.ts';
import { environmentAccount, openSource } from '../source.ts';
import { watchProblems } from '../watch-problems.ts';

interface DevFlags extends FleetFlags, OpenFlags {
  readonly runtime?: LocalRuntime;
  readonly settle: number;
}

/** `dev`: a control plane for this folder and the manager on it, until stopped. Containers stay. */
export function defineDev(command: Command, context: Context): void {
  // What becomes of an object is printed anyway.
  withOpenFlags(withFolderFlags(withFolderArgument(command), 'error'))
    .addOption(
      new Option(
        '--runtime <name>',
        'containers are simulated, or real ones of Docker or podman; default real if an engine answers',
      ).choices(['docker', 'simulated']),
    )
    .addOption(settleOption())
    .action(async (_dir: string | undefined, flags: DevFlags) => {
      if (isCluster(flags.source)) {
        throw new UserError('`dev` works on a folder', 'name one: `fleetkeeper dev DIR`');
      }
      const simulating = `${context.command} dev ${shellWord(flags.source)} --runtime simulated`;
      await ensureLocal(context, flags.source, flags.runtime, simulating);
      await withLocal(context, flags.source, async (local, plane) => {
        if (plane) announce(context, flags.source, plane);
        await manage(local, flags);
      });
      print(context, stayText(context, flags));
    });
}

function announce(
  context: Context,
  source: string,
  {
    url,
    settings: { runtime, engine },
  }: { url: string; settings: { runtime: LocalRuntime; engine?: string } },
): void {
  const containers = runtime === 'docker' ? `containers of ${engine}` : 'simulated containers';
  print(context, `control plane of ${source}: ${url}, ${containers}`);
  print(context, `edit the documents in ${source}; Ctrl-C stops this, and deletes nothing`);
}

function stayText({ command }: Context, { source }: DevFlags): string {
  const folder = shellWord(source);
  return `stopped; what was started stays. \`${command} dev ${folder}\` continues, and \`${command} destroy ${folder}\` deletes it`;
}

async function manage(context: Context, flags: DevFlags): Promise<void> {
  const file = stateFile(flags);
  const { pid, hostname: host, clock, random } = context;
  const lock = lockState(file, `process ${pid} on ${host} (fleetkeeper dev ${flags.source})`);
  const stopSigns = giveSigns(file, { command: 'dev', pid, host }, clock);
  try {
    const state = openState(file, random, await fleetIdentity(context, flags, file));
    try {
      await runUntilStopped(context, flags, { store: state.store, file });
    } finally {
      state.close();
    }
  } finally {
    stopSigns();
    lock.release();
  }
}

interface OpenedState {
  readonly store: StateStore;
  readonly file: string;
}

async function runUntilStopped(
  context: Context,
  flags: DevFlags,
  { store, file }: OpenedState,
): Promise<void> {
  const { clock, random } = context;
  const problems = watchProblems(
    (problem) => complain(context, oneLine(problem)),
    () => complain(context, 'all problems in the documents are solved'),
  );
  const accounts = watchAccounts(context);
  const logger = openLog(context, flags);
  const metrics = createMetrics();
  const printState = stateLines(context, store);
  let page: LocalPage | undefined;
  const manager = new Manager({
    source: openSource(flags, context, true, complainOfSecrets(context)),
    store,
    environment: environmentAccount(context),
    clock,
    random,
    logger,
    metrics,
    settleMs: flags.settle,
    grace: { goneMs: 2000, partlyMs: 5000, whollyMs: 25_000, lostMs: 25_000 },
    allowMassChange: false,
    mode: 'manage',
    commandFlags: sameFleetFlags(flags),
    onPass: (key, result) => {
      printState(key, result);
      page?.passed(key);
    },
    onSource: (snapshot) => {
      problems(snapshot);
      accounts(snapshot);
    },
  });
  try {
    const commandFlags = sameFleetFlagsAnywhere(flags);
    const served = { manager, metrics, logger, file, commandFlags, command: 'dev' } as const;
    page = await servePage(context, flags, served);
    await manager.start();
    await untilStopped(context);
  } finally {
    await manager.stop();
    await page?.close();
  }
}

/** At the port that it had before, so that a page which is still open continues. */
async function servePage(context: Context, flags: DevFlags, served: ServedManager): Promise<LocalPage> {
  const place = localPlaceOf(context, flags.source);
  const { pagePort = 0 } = place ? readSettings(place) : {};
  const page = await serveLocalPage(context, served, pagePort);
  if (place && page.port !== pagePort) writeSettings(place, { ...readSettings(place), pagePort: page.port });
  print(context, pageLine(page.url));
  openPage(context, page.url, flags);
  return page;
}

/** Those that were there at the start are refused (`refuseOthers`). */
function watchAccounts(context: Context): (snapshot: DesiredSnapshot) => void {
  const known = new Set<string>();
  return ({ objects }) => {
    for (const { key, location } of accountsIn(objects)) {
      if (known.has(key)) continue;
      known.add(key);
      complain(
        context,
        `${location.file}:${location.line}: an Account is not used by \`dev\`: nothing is sent to it`,
      );
    }
  };
}

/** A line whenever the state of an object changes. */
function stateLines(context: Context, store: StateStore): (key: ObjectKey, result: PassResult) => void {
  const last = new Map<ObjectKey, string>();
  return (key, { plan, removed }) => {
    const ready = store.record(key)?.status?.conditions.find(({ type }) => type === 'Ready');
    const detail = ready && `${ready.reason}${ready.message ? `: ${ready.message}` : ''}`;
    const now = removed ? 'deleted' : plan.kind === 'act' ? plan.step.action.do : (detail ?? plan.kind);
    if (last.get(key) === now || ready?.reason === 'AwaitingObservation') return;
    if (removed && !last.has(key)) return;
    last.set(key, now);
    const time = rfc3339(context.clock.wallMs()).slice(11, 19);
    print(context, `${time} ${key}: ${oneLine(now)}`);
  };
}
