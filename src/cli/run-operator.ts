/**
 * `run --source kubernetes`: the operator. Any number of replicas may run; one of them, which holds the Lease (of its shard),
 * acts.
 *
 *     connect ─> standby ── Lease taken ──> leading ── SIGTERM ──> stopping ─> Lease given back ─> exit 0
 *                   └── SIGTERM ──> exit 0     └── Lease lost ──> exit 1: whoever starts it anew starts clean
 *
 * A leader that has lost its Lease sends nothing that changes anything from that moment on, whether it has noticed or not:
 * the door to the API asks for the Lease before each such request (`mayAct`).
 */
import { createClusterSource, type DesiredSource } from '../desired/index.ts';
import { createHealthServer } from '../http/index.ts';
import { JobProtection } from '../jobs/index.ts';
import { Election, EventRecorder, type KubernetesApi } from '../kubernetes/index.ts';
import {
  ClusterEvents,
  Manager,
  UnusableObjects,
  collectFleetMetrics,
  storedObject,
  watchedByStore,
  type HealthCheck,
} from '../manager/index.ts';
import { ClusterStore, openClusterIdentity, type ObjectRecord } from '../state/index.ts';
import {
  collectProcessMetrics,
  createLogger,
  createMetrics,
  type Logger,
  type Metrics,
} from '../telemetry/index.ts';
import { connectCluster } from './cluster.ts';
import { exitCodes, print, untilStopped, type Context } from './context.ts';
import { acceptance, sameFleetFlags } from './options.ts';
import type { RunFlags } from './run-command.ts';
import { environmentAccount } from './source.ts';
import { version } from './version.ts';
import { watchProblems } from './watch-problems.ts';

/** Who deletes many objects does it one after the other: so long none of it is carried out, so that the brake sees them all. */
const goneAfterMs = 1000;
/** How long Events that are still to be written may hold up the end. */
const eventsMs = 2000;

/** Resolves with the exit code. */
export async function runOperator(context: Context, flags: RunFlags): Promise<number> {
  const logger = createLogger(flags.logLevel);
  const metrics = createMetrics();
  metrics.buildInfo.set({ version }, 1);
  collectProcessMetrics(metrics.registry);
  const api = await connectCluster(context, flags, metrics);
  const operator = new Operator(context, flags, { api, logger, metrics });
  const health = createHealthServer({
    live: () => operator.liveness,
    ready: () => operator.readiness,
    metrics: () => operator.metrics(),
  });
  try {
    if (flags.listen) print(context, `listening on ${await health.listen(flags.listen)}`);
    return await operator.run();
  } finally {
    await health.close();
    await api.close();
  }
}

interface Parts {
  readonly api: KubernetesApi;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** What a leader has beside its manager. */
interface Leading {
  readonly store: ClusterStore;
  readonly events: ClusterEvents;
  readonly jobs: JobProtection;
  readonly unusable: UnusableObjects;
}

class Operator {
  readonly #context: Context;
  readonly #flags: RunFlags;
  readonly #parts: Parts;
  readonly #election: Election;
  /** Of this process among the replicas. */
  readonly #identity: string;
  readonly #elected = Promise.withResolvers<void>();
  readonly #lost = Promise.withResolvers<string>();
  #manager: Manager | undefined;

  constructor(context: Context, flags: RunFlags, parts: Parts) {
    this.#context = context;
    this.#flags = flags;
    this.#parts = parts;
    const { clock, random, hostname, pid } = context;
    this.#identity = `${hostname}_${pid}_${random.uuid()}`;
    this.#election = new Election({
      ...parts,
      clock,
      random,
      namespace: parts.api.namespace,
      name: leaseName(flags),
      identity: this.#identity,
      leaseMs: flags.lease,
      onLeading: () => this.#elected.resolve(),
      onLost: (reason) => this.#lost.resolve(reason),
    });
  }

  /** A replica that waits for its turn is as alive as one that acts. */
  get liveness(): readonly HealthCheck[] {
    return this.#manager?.liveness ?? [{ name: 'standby', problem: undefined }];
  }

  get readiness(): readonly HealthCheck[] {
    return this.#manager?.sourceReadiness ?? [{ name: 'standby', problem: undefined }];
  }

  metrics(): Promise<string> {
    const { metrics } = this.#parts;
    if (this.#manager) collectFleetMetrics(metrics, this.#manager, this.#context.clock);
    return metrics.registry.metrics();
  }

  async run(): Promise<number> {
    const { logger, api } = this.#parts;
    const stopped = untilStopped(this.#context);
    this.#election.start();
    logger.info({ cluster: api.description, lease: leaseName(this.#flags) }, 'waiting for the Lease');
    try {
      await Promise.race([this.#elected.promise, stopped]);
      if (this.#context.stopped.aborted) return exitCodes.ok;
      return await this.#lead(stopped);
    } finally {
      await this.#election.stop();
    }
  }

  async #lead(stopped: Promise<void>): Promise<number> {
    const { api, logger } = this.#parts;
    const { clock, random } = this.#context;
    const identity = await openClusterIdentity({ api, random, owner: this.#flags.owner });
    const store = new ClusterStore({ api, identity, clock, random });
    const recorder = new EventRecorder({ ...this.#parts, instance: this.#identity, clock, random });
    const jobs = new JobProtection({
      ...this.#parts,
      clock,
      random,
      namespaces: this.#namespaces(),
      protect: (this.#flags.shard?.index ?? 0) === 0,
    });
    const unusable = new UnusableObjects({
      api,
      store,
      mayAct: () => this.#election.mayAct(),
      clock,
      logger,
    });
    const events = new ClusterEvents({ recorder, store, clock });
    const manager = this.#createManager({ store, events, jobs, unusable });
    this.#manager = manager;
    try {
      jobs.start();
      await Promise.race([manager.start(), stopped, this.#lost.promise]);
      logger.info({ owner: identity.ownerName }, 'leading');
      const reason = await Promise.race([stopped, this.#lost.promise]);
      if (reason === undefined) {
        logger.info('operator stopping');
        return exitCodes.ok;
      }
      logger.fatal(
        { note: reason },
        'the Lease is lost; ending, so that a new start begins with what is then true',
      );
      return exitCodes.failed;
    } finally {
      await jobs.stop();
      await manager.stop();
      await unusable.stop();
      await recorder.stop(eventsMs);
    }
  }

  #createManager({ store, events, jobs, unusable }: Leading): Manager {
    const { clock, random } = this.#context;
    const { logger } = this.#parts;
    const flags = this.#flags;
    const problems = watchProblems(
      (problem) => logger.error({ problem }, 'problem in the source'),
      () => logger.info('all problems in the source are mended'),
    );
    return new Manager({
      source: this.#createSource(store),
      store,
      environment: environmentAccount(this.#context),
      clock,
      random,
      logger,
      metrics: this.#parts.metrics,
      settleMs: flags.settle,
      graceMs: goneAfterMs,
      allowMassChange: false,
      ...acceptance(flags),
      mayAct: () => this.#election.mayAct(),
      jobs,
      mode: 'manage',
      commandFlags: sameFleetFlags(flags),
      onPass: (key, result) => events.passed(key, result),
      onSource: (snapshot) => {
        problems(snapshot);
        unusable.tell(snapshot);
      },
    });
  }

  #createSource(store: ClusterStore): DesiredSource {
    const { clock, random } = this.#context;
    const source = createClusterSource({
      ...this.#parts,
      namespaces: this.#namespaces(),
      shard: this.#flags.shard,
      onStatus: (key) => {
        const facts = this.#manager?.snapshot?.objects.get(key)?.cluster;
        if (facts && store.notice(storedObject(key, facts))) this.#manager?.lookAt(key);
      },
      clock,
      random,
    });
    return watchedByStore({
      source,
      store,
      onNoticed: ({ tampered, vanished }) => {
        for (const key of tampered) this.#manager?.lookAt(key);
        for (const record of vanished) this.#tellOrphan(record);
      },
    });
  }

  /** Its finalizer was taken off by hand, or it is another shard's from now on. */
  #tellOrphan({ key, externalId }: ObjectRecord): void {
    if (externalId === undefined) return;
    this.#parts.logger.warn(
      { object: key, id: externalId },
      'the object went without its cleanup: what it stands for stays as it is',
    );
  }

  #namespaces(): readonly string[] {
    return this.#flags.watchNamespaces ?? [];
  }
}

function leaseName({ shard }: RunFlags): string {
  return shard ? `fleetkeeper-${shard.index}-of-${shard.count}` : 'fleetkeeper';
}
