/**
 * The operator. Of its replicas, the one that holds the Lease (of its shard) acts.
 *
 *     standby ── Lease acquired ──> leading ── stopped ──> stopping ─> Lease released ─> `stopped`
 *        │                       │  ^ └── not renewed ──> isolated ─┐
 *        │                       │  └── renewed, all is listed again ┤
 *        └── stopped ──> `stopped`  └───── Lease lost ──────────────┴─> `lost`: the process ends, and a new one starts clean
 *
 * A leader that has lost its Lease sends no change from that moment on, even before it notices: the limiter checks the Lease
 * before each such request (`mayAct`). A leader that can't renew its Lease (F58) is isolated. It sends heartbeats for the tasks
 * that it knows, and nothing else. When it holds the Lease again, it lists everything before it acts.
 */
import type { EndpointProbe, PrometheusAddress, Transport, TransportLimits } from '../api/index.ts';
import { messageOf, type Clock, type Random } from '../base/index.ts';
import {
  createClusterSource,
  type ClusterDesiredSource,
  type DesiredSnapshot,
  type DesiredSource,
  type Shard,
} from '../desired/index.ts';
import { JobProtection } from '../jobs/index.ts';
import {
  Election,
  EventRecorder,
  setWatchSilence,
  type KubernetesApi,
  type Reflector,
} from '../kubernetes/index.ts';
import { defaultShortenedGrace, type PassResult, type StepPolicy } from '../engine/index.ts';
import type { ObjectKey } from '../resources/index.ts';
import {
  ClusterStore,
  controllerRevisionType,
  hasRevisions,
  openClusterIdentity,
  type ObjectRecord,
  type StateStore,
} from '../state/index.ts';
import type { Logger, Metrics } from '../telemetry/index.ts';
import type { EnvironmentAccount } from './account-keys.ts';
import { ClusterEvents } from './cluster-events.ts';
import { storedObject, watchedByStore, type WatchedSource } from './cluster-objects.ts';
import { EndpointMaps } from './endpoint-maps.ts';
import { collectFleetMetrics } from './fleet-metrics.ts';
import type { HealthCheck } from './health.ts';
import { leaseName, leaseNames, refuseOtherDivision, tasksOf } from './divisions.ts';
import { Manager } from './manager.ts';
import type { NoticeTerms } from './notices/announcer.ts';
import { OwnedResources } from './owned-resources.ts';
import { StandbyCheck } from './standby-check.ts';
import { UnusableObjects } from './unusable-objects.ts';

export interface OperatorOptions {
  readonly api: KubernetesApi;
  /** Unique among all replicas, past and present. */
  readonly identity: string;
  readonly environment: EnvironmentAccount;
  /** From `--owner`. */
  readonly owner: string | undefined;
  /** The identity that the operator has confirmed, for any account. */
  readonly acceptedIdentity?: string;
  /** Empty: all. */
  readonly namespaces: readonly string[];
  readonly shard: Shard | undefined;
  readonly leaseMs: number;
  /** Somebody asks whether it is ready. While it waits for the Lease, it examines whether it could lead. */
  readonly isProbed?: boolean;
  /** Each ServiceFleet has metrics of its own. */
  readonly fleetMetrics?: boolean | undefined;
  /** How long a request with an unknown outcome may still take effect. */
  readonly settleMs: number;
  /** The flags that name this fleet on the command line, for messages that suggest a command. */
  readonly commandFlags?: string;
  /** Aborted when the process is asked to stop. */
  readonly stopped: AbortSignal;
  readonly onSource?: (snapshot: DesiredSnapshot) => void;
  readonly onPass?: (key: ObjectKey, result: PassResult, durationMs: number) => void;
  /** A simulation provides its own network. */
  readonly createTransport?: (clock: Clock, limits?: TransportLimits) => Transport;
  readonly createEndpointProbe?: (clock: Clock) => EndpointProbe;
  readonly analysisPrometheus?: PrometheusAddress | undefined;
  /** Problems are announced, and counted. Undefined: they are not. */
  readonly notices?: NoticeTerms | undefined;
  /** The rules of `--policy` about what may be sent. */
  readonly policy?: StepPolicy | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

const divisionUnknown = 'it is not known yet whether operators of another division are at work';

/** Why it has ended. */
export type OperatorEnd = 'stopped' | 'lost';

/**
 * Deletions of many objects arrive one by one. None is carried out before this time, so the brake sees all of
 * them.
 */
const goneAfterMs = 1000;
/** How long pending Events may delay the end of the process. */
const eventsMs = 2000;

/** What a leader has in addition to its manager. */
interface Leading {
  readonly store: ClusterStore;
  readonly recorder: EventRecorder;
  readonly maps: EndpointMaps;
  readonly events: ClusterEvents;
  readonly jobs: JobProtection;
  readonly unusable: UnusableObjects;
}

export class Operator {
  readonly #options: OperatorOptions;
  readonly #election: Election;
  readonly #standby: StandbyCheck | undefined;
  readonly #elected = Promise.withResolvers<void>();
  readonly #lost = Promise.withResolvers<string>();
  #manager: Manager | undefined;
  /** No other division was at work when it was examined last. */
  #isAlone = false;
  #sources: { readonly cluster: ClusterDesiredSource; readonly watched: WatchedSource } | undefined;
  /** Of a leader: all that it watches. */
  #reflectors: readonly Reflector[] = [];
  /** Set while the Lease can't be renewed. Each isolation is a new object. */
  #isolation: { readonly reason: string } | undefined;

  constructor(options: OperatorOptions) {
    this.#options = options;
    this.#election = new Election({
      ...options,
      namespace: options.api.namespace,
      name: leaseName(options.shard),
      reads: () => this.#reads,
      onLeading: () => this.#elected.resolve(),
      onIsolated: (reason) => {
        this.#isolation = { reason };
      },
      onRegained: () => void this.#catchUp(),
      onLost: (reason) => this.#lost.resolve(reason),
    });
    this.#standby = options.isProbed ? new StandbyCheck(options) : undefined;
    for (const name of leaseNames(options.shard)) options.metrics.leaseExpected.set({ name }, 1);
  }

  /** A standby replica is as alive as the leader. */
  get liveness(): readonly HealthCheck[] {
    return this.#manager?.liveness ?? [{ name: 'standby', problem: undefined }];
  }

  get readiness(): readonly HealthCheck[] {
    if (!this.#isAlone) return [{ name: 'division', problem: divisionUnknown }];
    if (!this.#manager) return [{ name: 'standby', problem: this.#standby?.problem }];
    return [...this.#manager.sourceReadiness, { name: 'lease', problem: this.#isolation?.reason }];
  }

  /** The leader's store. Undefined on a standby. */
  get store(): StateStore | undefined {
    return this.#manager?.store;
  }

  /** The leader's snapshot of the cluster. Undefined on a standby. */
  get snapshot(): DesiredSnapshot | undefined {
    return this.#manager?.snapshot;
  }

  metricsText(): Promise<string> {
    const { metrics, clock, fleetMetrics, shard } = this.#options;
    if (this.#manager) collectFleetMetrics(metrics, this.#manager, clock, fleetMetrics);
    const isIdle = this.#election.mayAct() && !this.#hasRead;
    metrics.leaseIdle.set({ name: leaseName(shard) }, isIdle ? 1 : 0);
    setWatchSilence(metrics, this.#reflectors);
    return metrics.registry.metrics();
  }

  /** Rejects if the cluster denies access at the start. */
  async run(): Promise<OperatorEnd> {
    const { logger, api, stopped: signal, shard } = this.#options;
    const stopped = untilAborted(signal);
    try {
      await Promise.race([this.#examineDivision(), stopped]);
      // One that could not lead leaves the Lease to others.
      await Promise.race([this.#standby?.run(), stopped]);
      if (signal.aborted) return 'stopped';
      this.#election.start();
      logger.info({ cluster: api.description, lease: leaseName(shard) }, 'waiting for the Lease');
      await Promise.race([this.#elected.promise, stopped]);
      // Another division may have come since.
      await Promise.race([this.#examineDivision(), stopped]);
      if (signal.aborted) return 'stopped';
      return await this.#lead(stopped);
    } finally {
      this.#standby?.stop();
      await this.#election.stop();
    }
  }

  async #examineDivision(): Promise<void> {
    await refuseOtherDivision({ ...this.#options, signal: this.#options.stopped });
    this.#isAlone = true;
  }

  async #lead(stopped: Promise<void>): Promise<OperatorEnd> {
    const { api, logger, clock, random, owner, identity: instance, namespaces, shard } = this.#options;
    const identity = await openClusterIdentity({ api, random, owner });
    const recorder = new EventRecorder({ ...this.#options, instance });
    const mayAct = () => this.#mayAct();
    const jobs = new JobProtection({ ...this.#options, namespaces, mayAct, protects: tasksOf(shard) });
    const store = new ClusterStore({ api, identity, mayAct, clock, random });
    const unusable = new UnusableObjects({ api, store, recorder, mayAct, clock, logger });
    const events = new ClusterEvents({ recorder, store, clock });
    const maps = new EndpointMaps({ api, store, recorder, mayAct, clock, random, logger });
    const manager = this.#createManager({ store, recorder, maps, events, jobs, unusable });
    this.#manager = manager;
    this.#standby?.stop();
    this.#reflectors = [...jobs.reflectors, ...(this.#sources?.cluster.reflectors ?? [])];
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
        'the Lease is lost; this process ends, and a new one starts from the current state',
      );
      return 'lost';
    } finally {
      await jobs.stop();
      await manager.stop();
      await Promise.all([unusable.stop(), maps.stop()]);
      await recorder.stop(eventsMs);
    }
  }

  /** Everything was listed since it has had the Lease without a break. Before that, it does nothing. */
  get #hasRead(): boolean {
    return this.snapshot !== undefined && this.#isolation === undefined;
  }

  /** The namespaces of which it knows what is declared now, or `*` for all: of objects elsewhere, it keeps no status up to date. */
  get #reads(): readonly string[] {
    const { snapshot } = this;
    const { namespaces } = this.#options;
    if (!this.#hasRead || !snapshot) return [];
    return namespaces.length === 0 ? ['*'] : namespaces.filter((each) => !snapshot.unread?.has(each));
  }

  #mayAct(): boolean {
    return this.#isolation === undefined && this.#election.mayAct();
  }

  /** Takes in all edits and deletions of the meantime before anything is sent. */
  async #catchUp(): Promise<void> {
    const isolation = this.#isolation;
    try {
      await this.#examineDivision();
    } catch (error) {
      this.#lost.resolve(messageOf(error));
      return;
    }
    await this.#sources?.cluster.readAnew();
    await this.#sources?.watched.passedOn();
    // Isolated again meanwhile: the next renewal catches up.
    if (this.#isolation !== isolation) return;
    this.#isolation = undefined;
    this.#manager?.resume();
  }

  #createManager({ store, recorder, maps, events, jobs, unusable }: Leading): Manager {
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
      ownedResources: (derived) =>
        new OwnedResources({ ...options, store, derived, recorder, mayAct: () => this.#mayAct() }),
      mode: 'manage',
      notices: options.notices && { ...options.notices, operatorNamespace: options.api.namespace },
      onPass: (key, result, durationMs) => {
        options.onPass?.(key, result, durationMs);
        events.passed(key, result);
        maps.passed(key);
      },
      onAccountNews: (account, news) => events.ofAccount(account, news),
      onSource: (snapshot) => {
        options.onSource?.(snapshot);
        unusable.report(snapshot);
      },
    });
  }

  #createSource(store: ClusterStore, unusable: UnusableObjects): DesiredSource {
    const { clock, random, logger } = this.#options;
    const source = createClusterSource({
      ...this.#options,
      // The store reads them with the fleets that have some.
      alsoListed: [{ type: controllerRevisionType, isNeededWith: hasRevisions }],
      onStatus: (key, facts) => {
        unusable.statusMoved(key);
        if (store.notice(storedObject(key, facts))) this.#manager?.recheck(key);
      },
    });
    const watched = watchedByStore({
      source,
      store,
      onNoticed: ({ tampered, vanished, left }) => {
        for (const [namespace, reason] of left) source.leaveAlone(namespace, reason);
        for (const record of vanished) this.#logOrphan(record);
        for (const key of [...tampered, ...vanished.map((record) => record.key)]) this.#manager?.recheck(key);
      },
      onFailure: (error) =>
        logger.warn({ error: error.message }, 'the objects of the cluster wait for the API server'),
      clock,
      random,
    });
    this.#sources = { cluster: source, watched };
    return watched;
  }

  /** Somebody removed its finalizer, or it moved to another shard. */
  #logOrphan({ key, externalId }: ObjectRecord): void {
    if (externalId === undefined) return;
    this.#options.logger.warn(
      { object: key, id: externalId },
      'the object is gone without a cleanup: what it managed stays as it is',
    );
  }
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
