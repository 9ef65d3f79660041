import type { Command } from 'commander';
import { EndpointFiles, Manager, impairmentTexts, type EndpointFilesOptions } from '../../manager/index.ts';
import { formatProblem, type DesiredSnapshot } from '../../desired/index.ts';
import { defaultShortenedGrace, type Grace } from '../../engine/index.ts';
import {
  giveSigns,
  lockState,
  openState,
  planFileOutcomes,
  type StateStore,
  type Unreadable,
} from '../../state/index.ts';
import { collectProcessMetrics, createMetrics, type Metrics } from '../../telemetry/index.ts';
import { clusterHeading, isCluster } from '../cluster.ts';
import { untilStopped, type Context } from '../context.ts';
import {
  acceptIdentityOption,
  acceptance,
  durationOption,
  parseAddress,
  sameFleetFlags,
  sameFleetFlagsAnywhere,
  settleOption,
  stateFile,
  withFleetFlags,
  type FleetFlags,
} from '../options.ts';
import { analysisPrometheus, analysisPrometheusOption, type AnalysisFlags } from '../analysis-prometheus.ts';
import { withFolderArgument } from '../flags/source-option.ts';
import { withLocal } from '../local/with-local.ts';
import { createManagerServer } from '../manager-server.ts';
import { refusePageFlags, withPageFlags, type PageFlags } from '../page.ts';
import { fleetIdentity } from '../digest-key.ts';
import { serve } from '../health.ts';
import { isTextLog, openLog } from '../log.ts';
import { boundHeap } from '../heap-policy.ts';
import { SummaryLine } from '../progress/summary-line.ts';
import { noticeTerms, withNotifyFlags, type NotifyFlags } from '../notify.ts';
import { policyOption, watchPolicy, type PolicyFlags } from '../policy.ts';
import { ServiceManager } from '../service-manager.ts';
import { environmentAccount, openSource } from '../source.ts';
import { openTimeline, timelineOption, type TimelineFlags } from '../timeline.ts';
import { version } from '../version.ts';
import { logProblems } from '../watch-problems.ts';

export interface RunFlags
  extends FleetFlags, AnalysisFlags, PolicyFlags, PageFlags, TimelineFlags, NotifyFlags {
  readonly listen?: { host: string; port: number };
  readonly settle: number;
  readonly lease: number;
  readonly fileGrace: number;
  readonly endpointsDir?: string;
  readonly fleetMetrics?: boolean;
}

/** `run`: the manager, until it is stopped. */
export function defineRun(command: Command, context: Context, exit: (code: number) => void): void {
  withNotifyFlags(withPageFlags(withFleetFlags(withFolderArgument(command), 'info')))
    .option('--listen <address>', 'HOST:PORT for /healthz, /readyz, /metrics and the read API', parseAddress)
    .option('--fleet-metrics', 'metrics of replicas by fleet, for at most 500 fleets')
    .option(
      '--endpoints-dir <dir>',
      'keep NAMESPACE/NAME.json there, with the endpoints of each ServiceFleet; of folders only',
    )
    .addOption(analysisPrometheusOption())
    .addOption(acceptIdentityOption())
    .addOption(settleOption())
    .addOption(policyOption())
    .addOption(timelineOption())
    .addOption(
      durationOption(
        '--lease <duration>',
        'how long after the last sign of life of its leader another replica takes over',
        '15s',
      ).helpGroup(clusterHeading),
    )
    .addOption(
      durationOption(
        '--file-grace <duration>',
        'how long a file that has lost documents must stay as it is, or a folder stay away, before these are taken as deleted; five times as long for an empty file or folder',
        `${defaultShortenedGrace.partlyMs / 1000}s`,
      ),
    )
    .action(async (_folder: string | undefined, flags: RunFlags) => {
      if (isCluster(flags.source)) {
        refusePageFlags(flags);
        const { runOperator } = await import('./run-operator.ts');
        return exit(await runOperator(context, flags));
      }
      const file = stateFile(flags);
      const lock = (context.ports?.stateFiles?.lockState ?? lockState)(
        file,
        `process ${context.pid} on ${context.hostname} (fleetkeeper run --source ${flags.source})`,
      );
      try {
        await withLocal(context, flags.source, (local) => runManager(local, flags, file));
      } finally {
        lock.release();
      }
    });
}

async function runManager(context: Context, flags: RunFlags, file: string): Promise<void> {
  const { clock, random } = context;
  const summary = new SummaryLine(context, isTextLog(context, flags));
  const logger = openLog(context, flags, (text) => summary.write(text));
  const metrics = metricsOfProcess();
  const watchedPolicy = await watchPolicy(context, flags, logger);
  const timeline = await openTimeline(context, flags, { logger, metrics });
  const source = openSource(flags, context, true, (note) => logger.warn({ note }, 'secrets directory'));
  const open = context.ports?.stateFiles?.openState ?? openState;
  const state = open(file, random, await fleetIdentity(context, flags, file));
  countPlanFiles(metrics, state.store);
  const endpointFiles = openEndpointFiles(flags, { store: state.store, clock, logger });
  const manager: Manager = new Manager({
    ...context.ports?.network,
    source,
    store: state.store,
    environment: environmentAccount(context),
    clock,
    random,
    logger,
    metrics,
    settleMs: flags.settle,
    grace: graceOf(flags.fileGrace),
    allowMassChange: false,
    ...acceptance(flags),
    ...analysisPrometheus(context, flags),
    policy: watchedPolicy?.policy,
    mode: 'manage',
    commandFlags: sameFleetFlags(flags),
    notices: noticeTerms(context, flags),
    onPass: (key, result, durationMs) => {
      timeline?.passed(key, result, durationMs, state.store);
      summary.onPass(key, state.store, result);
      endpointFiles?.passed(key);
      served.passed(key);
    },
    onSource: logProblems(logger),
  });
  const commandFlags = sameFleetFlagsAnywhere(flags);
  const parts = { manager, metrics, logger, file, commandFlags, command: 'run' } as const;
  const served = createManagerServer(context, flags, flags.listen, parts);
  const { environment, pid } = context;
  const stopSigns = startSigns(context, file, manager);
  const problem = () => manager.liveness.find((check) => check.problem !== undefined)?.problem;
  const serviceManager = new ServiceManager({ environment, pid, clock, logger, problem });
  const heapPolicy = boundHeap(context, logger);
  try {
    if (flags.listen) await serve(context, served.server, flags.listen, served.hasPage);
    await manager.start();
    await summary.open(state.store);
    logger.info({ source: source.description, state: file, owner: state.store.ownerName }, 'manager started');
    await serviceManager.started(`managing ${source.description}`);
    await untilStopped(context);
    logger.info('manager stopping');
  } finally {
    summary.close();
    heapPolicy?.stop();
    await serviceManager.stopping();
    await manager.stop();
    watchedPolicy?.stop();
    await timeline?.stop();
    await served.server.close();
    state.close();
    stopSigns();
  }
  logger.info('manager stopped');
}

/** The returned function records a clean stop. */
function startSigns(
  { ports, pid, hostname: host, clock }: Context,
  file: string,
  manager: Manager,
): () => void {
  return (ports?.stateFiles?.giveSigns ?? giveSigns)(
    file,
    { command: 'run', pid, host },
    clock,
    () => manager.heartbeatTimes(),
    () => impairmentTexts(manager.impairments),
    () => unreadableIn(manager.snapshot),
  );
}

function unreadableIn(
  { problems }: Pick<DesiredSnapshot, 'problems'> = { problems: [] },
): Unreadable | undefined {
  const [first] = problems;
  return first && { count: problems.length, first: formatProblem(first) };
}

function metricsOfProcess(): Metrics {
  const metrics = createMetrics();
  metrics.buildInfo.set({ version }, 1);
  collectProcessMetrics(metrics.registry);
  return metrics;
}

/** Those that `apply` has carried out on this state: it ends before anybody could read a metric of it. */
function countPlanFiles({ planFiles }: Metrics, store: StateStore): void {
  for (const outcome of planFileOutcomes) {
    planFiles.inc({ outcome }, store.planFiles().filter((each) => each.outcome === outcome).length);
  }
}

function openEndpointFiles(
  { endpointsDir: folder }: RunFlags,
  parts: Omit<EndpointFilesOptions, 'folder'>,
): EndpointFiles | undefined {
  return folder === undefined ? undefined : new EndpointFiles({ folder, ...parts });
}

/** A file that is moved or replaced is missing for a moment; what stays away this long is gone. */
const goneAfterMs = 2000;
/** An empty file is rarely what somebody wanted. */
const emptiedFactor = 5;

function graceOf(fileGraceMs: number): Grace {
  const lostMs = emptiedFactor * fileGraceMs;
  return { goneMs: goneAfterMs, partlyMs: fileGraceMs, whollyMs: lostMs, lostMs };
}
