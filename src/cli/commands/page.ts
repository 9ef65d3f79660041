/**
 * `page`: the page and the read API of a cluster, in a process of its own. It reads objects and Events, and writes nothing. It has no API key,
 * and asks no provider.
 *
 *     starting ── a flag is wrong, or the address is taken ──> 1
 *         └── listening (API: 503 until everything was listed once) ── SIGTERM ──> 0
 */
import { InvalidArgumentError, Option, type Command } from 'commander';
import { UserError } from '../../base/index.ts';
import { createHealthServer } from '../../http/index.ts';
import {
  eventType,
  reviewList,
  reviewToken,
  type KubernetesApi,
  type KubernetesUser,
  type ResourceType,
} from '../../kubernetes/index.ts';
import { ShownCluster } from '../../manager/index.ts';
import type { ShardBy } from '../../desired/index.ts';
import { ClusterSource, KubernetesAccess } from '../../read-api/index.ts';
import { managedKinds, resourceTypes } from '../../resources/index.ts';
import { collectProcessMetrics, createMetrics } from '../../telemetry/index.ts';
import {
  clusterSource,
  connectCluster,
  isCluster,
  mostShards,
  shardByOption,
  withUnsharedClusterFlags,
  type ClusterFlags,
} from '../cluster.ts';
import { exitCodes, untilStopped, type Context } from '../context.ts';
import { serve } from '../health.ts';
import { openLog, type LogFlags } from '../log.ts';
import { logFormatOption, logLevelOption, needed, parseAddress, sameFleetFlagsAnywhere } from '../options.ts';
import { createReadApi, withKubernetesPageFlags, type PageFlags } from '../page.ts';
import type { ListenAddress } from '../ports.ts';
import { version } from '../version.ts';

interface ServedFlags extends ClusterFlags, LogFlags, PageFlags {
  readonly source: string;
  readonly listen: ListenAddress;
  readonly shards: number;
  readonly shardBy?: ShardBy;
}

export function definePage(command: Command, context: Context, exit: (code: number) => void): void {
  const source = new Option('-f, --source <source>', 'where the objects are').default(clusterSource);
  const listen = new Option('--listen <address>', 'HOST:PORT for the page, the read API and /healthz');
  const shards = new Option('--shards <n>', 'how many operators share the accounts (--shard of theirs)');
  needed(
    withUnsharedClusterFlags(command.addOption(source.argParser(parseSource))),
    listen.argParser(parseAddress),
  )
    .addOption(shards.argParser(parseShards).default(1))
    .addOption(shardByOption());
  withKubernetesPageFlags(command)
    .addOption(logLevelOption('info'))
    .addOption(logFormatOption())
    .action(async (flags: ServedFlags) => exit(await servePage(context, flags)));
}

function parseSource(text: string): string {
  if (isCluster(text)) return text;
  throw new InvalidArgumentError(
    'expected kubernetes; the page of a folder is served by its manager: fleetkeeper run --listen ADDRESS',
  );
}

function parseShards(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= mostShards) return count;
  throw new InvalidArgumentError(`expected a number from 1 to ${mostShards}`);
}

/** Resolves with the exit code. */
async function servePage(context: Context, flags: ServedFlags): Promise<number> {
  const { clock, random } = context;
  const { watchNamespaces: namespaces = [], shards, shardBy = 'account', listen } = flags;
  const logger = openLog(context, flags);
  const metrics = createMetrics();
  metrics.buildInfo.set({ version }, 1);
  collectProcessMetrics(metrics.registry);
  const api = await connectCluster(context, flags, metrics);
  try {
    const cluster = new ShownCluster({ api, namespaces, shards, shardBy, clock, random, logger, metrics });
    const source = new ClusterSource({
      cluster,
      clock,
      version,
      commandFlags: sameFleetFlagsAnywhere(flags),
    });
    const kubernetes = () => accessBy(api, cluster, context);
    const readApi = createReadApi(context, flags, listen, { source, logger, metrics, kubernetes });
    if (!readApi) throw unprotected(listen);
    const server = createHealthServer(viewOf(cluster, metrics), clock, { readApi });
    server.addHook('preClose', async () => readApi.stop());
    try {
      await serve(context, server, listen);
      cluster.start();
      logger.info({ cluster: api.description }, 'page started');
      await untilStopped(context);
      logger.info('page stopping');
    } finally {
      await server.close();
      await cluster.stop();
    }
    return exitCodes.ok;
  } finally {
    await api.close();
  }
}

function unprotected({ host }: ListenAddress): UserError {
  return new UserError(
    `--listen ${host} is reached by other machines, and nothing is asked of who reads`,
    'give --page-kubernetes-auth, --page-token-file or --page-oidc-issuer, or listen on 127.0.0.1',
  );
}

function viewOf(
  cluster: ShownCluster,
  { registry }: ReturnType<typeof createMetrics>,
): Parameters<typeof createHealthServer>[0] {
  return {
    live: () => [{ name: 'event-loop', problem: undefined }],
    ready: () => [{ name: 'cluster', problem: cluster.unread }],
    metrics: () => {
      cluster.updateMetrics();
      return registry.metrics();
    },
    // The read API answers that.
    endpoints: () => 'unknown',
  };
}

function accessBy(
  api: KubernetesApi,
  cluster: ShownCluster,
  { clock }: Context,
): KubernetesAccess<KubernetesUser, ResourceType> {
  return new KubernetesAccess<KubernetesUser, ResourceType>({
    reviews: {
      userOf: (token) => reviewToken(api, token),
      mayList: (user, type, namespace) => reviewList(api, user, type, namespace),
    },
    kinds: managedKinds.map((kind) => resourceTypes[kind]),
    events: eventType,
    namespaces: () => cluster.namespaces,
    clock,
  });
}
