/**
 * `run --source kubernetes`: one replica of the operator (`manager/operator.ts`). Exit code 0 when it was stopped, 1 when it has
 * lost its Lease: whoever starts it anew starts clean.
 */
import { createHealthServer } from '../../http/index.ts';
import { Operator, shownEndpoints } from '../../manager/index.ts';
import { collectProcessMetrics, createMetrics } from '../../telemetry/index.ts';
import { connectCluster, shardOfFlags } from '../cluster.ts';
import { exitCodes, type Context } from '../context.ts';
import { analysisPrometheus } from '../analysis-prometheus.ts';
import { serve } from '../health.ts';
import { openLog } from '../log.ts';
import { boundHeap } from '../heap-policy.ts';
import { noticeTerms } from '../notify.ts';
import { acceptance, sameFleetFlags } from '../options.ts';
import { watchPolicy } from '../policy.ts';
import type { RunFlags } from './run.ts';
import { environmentAccount } from '../source.ts';
import { openTimeline } from '../timeline.ts';
import { version } from '../version.ts';
import { logProblems } from '../watch-problems.ts';

/** Resolves with the exit code. */
export async function runOperator(context: Context, flags: RunFlags): Promise<number> {
  const { clock, random, hostname, pid, stopped } = context;
  const logger = openLog(context, flags);
  const metrics = createMetrics();
  metrics.buildInfo.set({ version }, 1);
  collectProcessMetrics(metrics.registry);
  const watchedPolicy = await watchPolicy(context, flags, logger);
  const timeline = await openTimeline(context, flags, { logger, metrics });
  const api = await connectCluster(context, flags, metrics);
  const operator = new Operator({
    ...context.ports?.network,
    api,
    identity: `${hostname}_${pid}_${random.uuid()}`,
    environment: environmentAccount(context),
    owner: flags.owner,
    ...acceptance(flags),
    ...analysisPrometheus(context, flags),
    namespaces: flags.watchNamespaces ?? [],
    shard: shardOfFlags(flags),
    leaseMs: flags.lease,
    isProbed: flags.listen !== undefined,
    fleetMetrics: flags.fleetMetrics,
    settleMs: flags.settle,
    commandFlags: sameFleetFlags(flags),
    notices: noticeTerms(context, flags),
    stopped,
    policy: watchedPolicy?.policy,
    onSource: logProblems(logger),
    onPass: (key, result, durationMs) => timeline?.passed(key, result, durationMs, operator.store),
    clock,
    random,
    logger,
    metrics,
  });
  const health = createHealthServer(
    {
      live: () => operator.liveness,
      ready: () => operator.readiness,
      metrics: () => operator.metricsText(),
      endpoints: (...asked) => shownEndpoints(operator.store, clock, asked),
    },
    context.clock,
  );
  const heapPolicy = boundHeap(context, logger);
  try {
    if (flags.listen) await serve(context, health, flags.listen);
    return (await operator.run()) === 'stopped' ? exitCodes.ok : exitCodes.failed;
  } finally {
    heapPolicy?.stop();
    watchedPolicy?.stop();
    await timeline?.stop();
    await health.close();
    await api.close();
  }
}
