/**
 * The operator: one of its replicas, which holds the Lease (of its shard), acts.
 *
 *     standby ── Lease taken ──> leading ── stopped ──> stopping ─> Lease given back ─> `stopped`
 *        │                       │  ^ └── not renewed ──> isolated ─┐
 *        │                       │  └── renewed, all is listed anew ┤
 *        └── stopped ──> `stopped`  └───── Lease lost ──────────────┴─> `lost`: the process is to end, so that a new start begins clean
 *
 * A leader that has lost its Lease sends nothing that changes anything from that moment on, whether it has noticed or not:
 * the door to the API asks for the Lease before each such request (`mayAct`). One that can't renew it (F58) stays: it keeps activities fresh for the
 * tasks that it knows, and nothing else. When it holds the Lease again, it first sees what people want by then.
 */
import type { EndpointProbe, Transport } from '../api/index.ts';
import type { Clock, Random } from '../base/index.ts';
import {
  createClusterSource,
  type ClusterDesiredSource,
  type DesiredSnapshot,
  type DesiredSource,
  type Shard,
} from '../desired/index.ts';
import { JobProtection } from '../jobs/index.ts';
import { Election, EventRecorder, type KubernetesApi } from '../kubernetes/index.ts';
import { defaultShortenedGrace } from '../engine/index.ts';
import { ClusterStore, openClusterIdentity, type ObjectRecord, type StateStore } from '../state/index.ts';
import type { Logger, Metrics } from '../telemetry/index.ts';
import type { EnvironmentAccount } from './account-keys.ts';
import { ClusterEvents } from './cluster-events.ts';
import { storedObject, watchedByStore, type WatchedSource } from './cluster-objects.ts';
import { collectFleetMetrics } from './fleet-metrics.ts';
import type { HealthCheck } from './health.ts';
import { Manager } from './manager.ts';
import { UnusableObjects } from './unusable-objects.ts';

export interface OperatorOptions {
  readonly api: KubernetesApi;
  /** Of this process among the replicas, and of no other that ever was. */
  readonly identity: string;
  readonly environment: EnvironmentAccount;
  /** The owner's name, when it was given. */
  readonly owner: string | undefined;
  /** The identity that a person has said to be right for whichever account shows it. */
  readonly acceptedIdentity?: string;
  /** Empty: all. */
  readonly namespaces: readonly string[];
  readonly shard: Shard | undefined;
  readonly leaseMs: number;
  /** How long a request with an unknown outcome may still take effect. */
  readonly settleMs: number;
  /** How this fleet is named on the command line, for messages that advise a command. */
  readonly commandFlags?: string;
  /** Aborted when the process is asked to stop. */
  readonly stopped: AbortSignal;
  readonly onSource?: (snapshot: DesiredSnapshot) => void;
  /** The network, of which a simulation has its own. */
  readonly createTransport?: (clock: Clock) => Transport;
  readonly createEndpointProbe?: (clock: Clock) => EndpointProbe;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Why it has ended. */
export type OperatorEnd = 'stopped' | 'lost';

/** Who deletes many objects does it one after the other: so long none of it is carried out, so that the brake sees them all. */
const goneAfterMs = 1000;
/** How long Events that are still to be written may hold up the end. */
const eventsMs = 2000;

/** What a leader has beside its manager. */
interface Leading {
  readonly store: ClusterStore;
  readonly events: ClusterEvents;
  readonly jobs: JobProtection;
  readonly unusable: UnusableObjects;
}

export class Operator {
  readonly #options: OperatorOptions;
  readonly #election: Election;
  readonly #elected = Promise.withResolvers<void>();
  readonly #lost = Promise.withResolvers<string>();
  #manager: Manager | undefined;
  #sources: { readonly cluster: ClusterDesiredSource; readonly watched: WatchedSource } | undefined;
  /** Since when nothing may be done: another object each time. */
  #isolation: { readonly reason: string } | undefined;

  constructor(options: OperatorOptions) {
    this.#options = options;
    this.#election = new Election({
      ...options,
      namespace: options.api.namespace,
      name: leaseName(options.shard),
      onLeading: () => this.#elected.resolve(),
      onIsolated: (reason) => {
        this.#isolation = { reason };
      },
      onRegained: () => void this.#catchUp(),
      onLost: (reason) => this.#lost.resolve(reason),
    });
  }

  /** A replica that waits for its turn is as alive as one that acts. */
  get liveness(): readonly HealthCheck[] {
    return this.#manager?.liveness ?? [{ name: 'standby', problem: undefined }];
  }

  get readiness(): readonly HealthCheck[] {
    if (!this.#manager) return [{ name: 'standby', problem: undefined }];
    return [...this.#manager.sourceReadiness, { name: 'lease', problem: this.#isolation?.reason }];
  }

  /** What the leader keeps; undefined while another one leads. */
  get store(): StateStore | undefined {
    return this.#manager?.store;
  }

  /** What the leader has taken in of the cluster; undefined while another one leads. */
  get snapshot(): DesiredSnapshot | undefined {
    return this.#manager?.snapshot;
  }

  metricsText(): Promise<string> {
    const { metrics, clock } = this.#options;
    if (this.#manager) collectFleetMetrics(metrics, this.#manager, clock);
    return metrics.registry.metrics();
  }

  /** Rejects when the cluster does not let it begin. */
  async run(): Promise<OperatorEnd> {
    const { logger, api, stopped: signal, shard } = this.#options;
    const stopped = untilAborted(signal);
    this.#election.start();
    logger.info({ cluster: api.description, lease: leaseName(shard) }, 'waiting for the Lease');
    try {
      await Promise.race([this.#elected.promise, stopped]);
      if (signal.aborted) return 'stopped';
      return await this.#lead(stopped);
    } finally {
      await this.#election.stop();
    }
  }

  async #lead(stopped: Promise<void>): Promise<OperatorEnd> {
    const { api, logger, clock, random, owner, identity: instance, namespaces, shard } = this.#options;
    const identity = await openClusterIdentity({ api, random, owner });
    const recorder = new EventRecorder({ ...this.#options, instance });
    const mayAct = () => this.#mayAct();
    const protect = (shard?.index ?? 0) === 0;
    const jobs = new JobProtection({ ...this.#options, namespaces, mayAct, protect });
    const store = new ClusterStore({ api, identity, mayAct, clock, random });
    const unusable = new UnusableObjects({ api, store, recorder, mayAct, clock, logger });
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
        return 'stopped';
      }
      logger.fatal(
        { note: reason },
        'the Lease is lost; ending, so that a new start begins with what is then true',
      );
      return 'lost';
    } finally {
      await jobs.stop();
      await manager.stop();
      await unusable.stop();
      await recorder.stop(eventsMs);
    }
  }

  #mayAct(): boolean {
    return this.#isolation === undefined && this.#election.mayAct();
  }

  /** What was edited and deleted meanwhile comes before anything is done. */
  async #catchUp(): Promise<void> {
    const isolation = this.#isolation;
    await this.#sources?.cluster.readAnew();
    await this.#sources?.watched.passedOn();
    // Isolated once more meanwhile: the next time tells.
    if (this.#isolation !== isolation) return;
    this.#isolation = undefined;
    this.#manager?.resume();
  }

  #createManager({ store, events, jobs, unusable }: Leading): Manager {
    const options = this.#options;
    return new Manager({
      ...options,
      source: this.#createSource(store, unusable),
      store,
      grace: { goneMs: goneAfterMs, ...defaultShortenedGrace },
      allowMassChange: false,
      mayAct: () => this.#mayAct(),
      maySendHeartbeats: () => this.#election.isInOffice,
      isSuspended: () => this.#isolation !== undefined,
      jobs,
      mode: 'manage',
      onPass: (key, result) => events.passed(key, result),
      onAccountNews: (account, news) => events.ofAccount(account, news),
      onSource: (snapshot) => {
        options.onSource?.(snapshot);
        unusable.tell(snapshot);
      },
    });
  }

  #createSource(store: ClusterStore, unusable: UnusableObjects): DesiredSource {
    const source = createClusterSource({
      ...this.#options,
      onStatus: (key, facts) => {
        unusable.statusMoved(key);
        if (store.notice(storedObject(key, facts))) this.#manager?.lookAt(key);
      },
    });
    const watched = watchedByStore({
      source,
      store,
      onNoticed: ({ tampered, vanished }) => {
        for (const record of vanished) this.#tellOrphan(record);
        for (const key of [...tampered, ...vanished.map((record) => record.key)]) this.#manager?.lookAt(key);
      },
    });
    this.#sources = { cluster: source, watched };
    return watched;
  }

  /** Its finalizer was taken off by hand, or it is another shard's from now on. */
  #tellOrphan({ key, externalId }: ObjectRecord): void {
    if (externalId === undefined) return;
    this.#options.logger.warn(
      { object: key, id: externalId },
      'the object went without its cleanup: what it stands for stays as it is',
    );
  }
}

function leaseName(shard: Shard | undefined): string {
  return shard ? `fleetkeeper-${shard.index}-of-${shard.count}` : 'fleetkeeper';
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
