/** What `control-plane` runs services on. Each runtime is loaded only if it is asked for. */
import type { ControlPlaneConfig } from '../control-plane/domain/config.ts';
import type { RuntimeFactory } from '../control-plane/domain/runtime.ts';
import type { EgressMode } from '../control-plane/runtimes/docker/config.ts';
import { UserError } from '../base/index.ts';
import { createMetrics } from '../telemetry/index.ts';
import type { Context } from './context.ts';
import { openLog, type LogFlags } from './log.ts';

export interface RuntimeFlags extends LogFlags {
  readonly runtime: 'simulated' | 'docker' | 'kubernetes';
  readonly dockerSocket?: string;
  readonly publishHost: string;
  readonly egress: EgressMode;
  readonly kubeconfig?: string;
  readonly context?: string;
}

interface ChosenRuntime {
  /** Absent: simulated. */
  readonly runtime?: RuntimeFactory;
  readonly config: ControlPlaneConfig;
  /** Resolves when this process must not continue. */
  readonly ended?: Promise<UserError>;
}

/** Throws a `UserError` when there is no engine or cluster, or it can't be used as it was asked for. */
export async function runtimeOf(
  flags: RuntimeFlags,
  given: ControlPlaneConfig,
  context: Context,
): Promise<ChosenRuntime> {
  refuseForeignFlags(flags);
  switch (flags.runtime) {
    case 'simulated':
      return { config: given };
    case 'docker':
      return onEngine(flags, given, context);
    case 'kubernetes':
      return inCluster(flags, given, context);
  }
}

function refuseForeignFlags({ runtime, dockerSocket, kubeconfig, context }: RuntimeFlags): void {
  if (runtime !== 'kubernetes' && (kubeconfig ?? context) !== undefined) {
    throw new UserError(
      '--kubeconfig and --context are for --runtime kubernetes',
      'leave them out, or pass --runtime kubernetes',
    );
  }
  if (runtime === 'kubernetes' && dockerSocket !== undefined) {
    throw new UserError('--docker-socket is for --runtime docker', 'leave it out, or pass --runtime docker');
  }
}

async function onEngine(
  flags: RuntimeFlags,
  given: ControlPlaneConfig,
  context: Context,
): Promise<ChosenRuntime> {
  const docker = await import('../control-plane/runtimes/docker/engine/connect.ts');
  const { connectEngine, dockerOptions, dockerRuntime, engineAddress, withMachineOf } = docker;
  const address = engineAddress(flags.dockerSocket, context.environment['DOCKER_HOST']);
  const engine = await connectEngine(address);
  const offered = docker.withoutMadeUpGpus(given);
  const config = await withMachineOf(engine, address, offered, openLog(context, flags));
  return { config, runtime: dockerRuntime(engine, await dockerOptions(config, { ...flags, address })) };
}

async function inCluster(
  flags: RuntimeFlags,
  given: ControlPlaneConfig,
  context: Context,
): Promise<ChosenRuntime> {
  const { connectWithPods } = await import('../kubernetes/connect.ts');
  const kubernetes = await import('../control-plane/runtimes/kubernetes/open.ts');
  const metrics = createMetrics();
  const { environment, clock, ports } = context;
  const connected = await connectWithPods({
    kubeconfig: flags.kubeconfig,
    context: flags.context,
    environment,
    clock,
    metrics,
    dispatcher: ports?.network?.dispatcher,
  });
  await kubernetes.requireCluster(connected.api);
  const config = kubernetes.withoutMadeUpGpus(given);
  const { promise: ended, resolve } = Promise.withResolvers<UserError>();
  const onDeposed = (reason: string) =>
    resolve(
      new UserError(
        `another control plane acts with this database's installation: ${reason}`,
        'run one control plane per database; a copy of a database is not another one',
      ),
    );
  const bounds = await kubernetes.firstBounds(connected.api, config);
  const runtime = kubernetes.kubernetesRuntime({ ...connected, metrics, onDeposed, bounds }, config);
  return { config, runtime, ended };
}
