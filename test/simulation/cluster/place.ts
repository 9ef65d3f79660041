/**
 * A cluster, and two replicas of the operator beside each other. A process whose operator has ended is started again after a while, as
 * kubelet does; one that is asked to stop and does not end in time is killed.
 *
 *     running ── killed, stopped, Lease lost ──> ended ── after up to 20 s ──> running, as another process
 */
import type { Logger } from 'pino';
import { Sensitive, digestKey } from '../../../src/base/index.ts';
import { Operator, type OperatorOptions } from '../../../src/manager/index.ts';
import { annotations, type ObjectKey } from '../../../src/resources/index.ts';
import {
  type ObjectRecord,
  identitySecretName,
  writeResolution,
  type Intent,
  type Resolution,
} from '../../../src/state/index.ts';
import { createMetrics, type Metrics } from '../../../src/telemetry/index.ts';
import type { Memory } from '../../support/full-count.ts';
import { settleMs } from '../faults.ts';
import { crashWithinMs, epochMs, measuringWith, searchedLog, type Place, type PlaceParts } from '../place.ts';
import { operatorsAddress, operatorsKey } from '../plane.ts';
import { randomPort, stream } from '../random-port.ts';
import { Life } from '../scheduler.ts';
import { hasOpenOutcome } from '../state.ts';
import type { Action, Deed } from '../script.ts';
import { ApiServer, typeOf, type Storing } from './api-server.ts';
import { Leadership, leaseStorage } from './leadership.ts';
import { Meddlers } from './meddlers.ts';
import { ReplicaApi } from './replica-api.ts';
import { ClusterDocuments } from './cluster-documents.ts';
import { ClusterState } from './state.ts';

/** What a test of the checker changes about a process of the operator; see mutants.ts. */
export type ReplicaSabotage = (options: OperatorOptions) => OperatorOptions;

interface Replica {
  /** Its place, of which there are two. */
  readonly seat: number;
  /** Counts the processes. */
  readonly number: number;
  readonly life: Life;
  readonly api: ReplicaApi;
  readonly metrics: Metrics;
  readonly stopping: AbortController;
}

const seats = [0, 1];
const leaseMs = 15_000;
/** Between two looks at the Lease, with the time that requests take. */
const longestRetryMs = 3500;
const longestRestartMs = 20_000;
/** terminationGracePeriodSeconds. */
const graceMs = 60_000;
const ownerName = 'simulation';
const key = Buffer.alloc(32, 7);

export class ClusterPlace implements Place {
  readonly keepsEveryStatus = false;
  readonly documentStore: ClusterDocuments;
  readonly state: ClusterState;
  readonly #parts: PlaceParts;
  readonly #sabotage: ReplicaSabotage | undefined;
  readonly #server: ApiServer;
  readonly #leadership: Leadership;
  readonly #meddlers: Meddlers;
  readonly #replicas = new Map<number, Replica>();
  /** By seat. */
  readonly #operators = new Map<number, Operator>();
  readonly #clockOffsetsMs = new Map<number, number>();
  readonly #logger: Logger;
  #processes = 0;
  #downUntilMs = 0;
  /** The leader has ended, and until the API server is back nobody can take its place. */
  #wasUnled = false;
  /** A process that alone can't reach the API server. */
  #cutOff: { readonly number: number; readonly untilMs: number } | undefined;
  /** The leader is killed so soon after its next intent was stored. */
  #diesAfterIntentMs: number | undefined;
  #writes = 0;
  #hasEnded = false;

  constructor(parts: PlaceParts, sabotage: ReplicaSabotage | undefined) {
    const { script, scheduler, network, checker } = parts;
    this.#parts = parts;
    this.#sabotage = sabotage;
    this.#logger = searchedLog(parts);
    const random = stream(script.seed, 'api server');
    const wallMs = () => epochMs + scheduler.nowMs;
    this.#server = new ApiServer({ random, wallMs });
    this.documentStore = new ClusterDocuments(this.#server, scheduler);
    const owner = { digestKey: digestKey(key), ownerName, ownerConfirmed: true };
    this.state = new ClusterState(this.#server, owner);
    this.#leadership = new Leadership({
      leaseMs,
      nowMs: () => scheduler.nowMs,
      onTaken: (life) => {
        scheduler.trace(`manager ${life} leads`);
        if (this.#wasUnled) checker().unled();
        this.#wasUnled = false;
        // What the one before it has sent is as late as what a dead process has sent.
        network.cutOff();
        checker().started(life);
      },
    });
    this.#meddlers = new Meddlers({
      server: this.#server,
      documentStore: this.documentStore,
      state: this.state,
      scheduler,
      isUnmarked: parts.isUnmarked,
    });
    this.#server.onStoring = (storing) => this.#storing(storing);
    const text = (value: string) => Buffer.from(value).toString('base64');
    const data = { owner: text(ownerName), digestKey: text(key.toString('hex')) };
    const metadata = { name: identitySecretName, namespace: 'fleetkeeper' };
    this.#server.create(typeOf('Secret', 'secrets'), { metadata, data }, 'somebody');
    const clocks = stream(script.seed, 'clocks of the replicas');
    for (const seat of seats) this.#clockOffsetsMs.set(seat, clocks.between(-5000, 5000));
  }

  get writes(): number {
    return this.#writes;
  }

  get wallMs(): number {
    return this.#wallMsOf(this.#leader()?.seat);
  }

  leads(life: number): boolean {
    return this.#leadership.leads(life);
  }

  /** An outcome is known to the process before it is written down, with the next status. */
  isOpen(intent: Intent): boolean {
    return hasOpenOutcome(intent) && this.#parts.network.isUnderWay(intent.idempotencyKey);
  }

  isOusted(life: number): boolean {
    return this.#leadership.life !== life;
  }

  start(): void {
    for (const seat of seats) this.#start(seat);
  }

  do(action: Action): void {
    const { do: deed, seed } = action;
    const { scheduler } = this.#parts;
    const one = (count: number) => seed % count;
    const anyone = this.#replicas.get(one(seats.length));
    const leader = this.#leader();
    const breakWatches = () => {
      for (const { api } of this.#replicas.values()) api.breakWatches();
    };
    const deeds: Partial<Record<Deed, () => void>> = {
      'crash-manager': () => this.#kill(anyone),
      'kill-leader': () => this.#kill(leader),
      'crash-at-intent': () => {
        this.#diesAfterIntentMs = one(crashWithinMs);
      },
      'stop-manager': () => this.#stop(anyone),
      'stop-leader': () => this.#stop(leader),
      'stall-manager': () => anyone?.life.stall(one(60_000)),
      'stall-leader': () => leader?.life.stall(one(60_000)),
      'jump-clock': () => this.#jumpClock(one(seats.length), one(7_200_000) - 3_600_000),
      'api-outage': () => {
        this.#downUntilMs = scheduler.nowMs + one(60_000);
        breakWatches();
      },
      'isolate-leader': () => {
        const isWhole = one(2) === 0;
        // Longer than an activity's record lives.
        const untilMs = scheduler.nowMs + (isWhole ? 310_000 : 30_000) + one(300_000);
        if (isWhole) {
          this.#downUntilMs = Math.max(this.#downUntilMs, untilMs);
          this.#wasUnled ||= leader === undefined || leader.life.isOver;
        } else if (leader) this.#cutOff = { number: leader.number, untilMs };
        breakWatches();
      },
      'compact-history': () => {
        this.#server.store.compact();
        breakWatches();
      },
    };
    const meddle = () => this.#meddlers.act(action);
    (deeds[deed] ?? meddle)();
  }

  heal(): void {
    this.#downUntilMs = 0;
    this.#cutOff = undefined;
  }

  copied(from: ObjectKey, to: ObjectKey): void {
    this.#meddlers.copyStatus(from, to);
  }

  forge(victim: string, seed: number): void {
    if (this.#meddlers.forge(victim, seed)) this.#kill(this.#leader());
  }

  isWiped(object: ObjectKey): boolean {
    return this.#meddlers.isWiped(object);
  }

  loseState(): void {
    // Statuses are wiped one by one.
  }

  isUnfound(): boolean {
    // What is deleted waits for its cleanup.
    return false;
  }

  resolve(object: ObjectKey, resolution: Resolution): void {
    this.documentStore.annotate(object, { [annotations.resolve]: writeResolution(resolution) });
  }

  mend(): void {
    const reported = this.state.records().filter((record) => record.distrusted !== undefined);
    const distrusted = new Set([...reported.map((record) => record.key), ...this.#meddlers.forged()]);
    if (distrusted.size === 0) return;
    this.#kill(this.#leader());
    for (const each of distrusted) this.#meddlers.forget(each);
  }

  /** L9: when the leader dies, the other replica leads as soon as the Lease has run out. */
  async handOver(failed: () => boolean): Promise<void> {
    const { scheduler, violated } = this.#parts;
    const { life } = this.#leadership;
    this.#kill(this.#leader());
    const isOver = () => failed() || this.#leadership.life !== life;
    await scheduler.run(scheduler.nowMs + leaseMs + longestRetryMs, isOver);
    if (!isOver()) violated('L9', `nobody leads ${leaseMs + longestRetryMs} ms after the leader has died`);
  }

  inMemory(object: ObjectKey): ObjectRecord | undefined {
    const seat = this.#leader()?.seat;
    const operator = seat === undefined ? undefined : this.#operators.get(seat);
    return operator?.store?.record(object) ?? this.state.record(object);
  }

  memories(): readonly Memory[] {
    return [...this.#operators.values()].flatMap(({ store, snapshot }) => (store ? { store, snapshot } : []));
  }

  async metrics(): Promise<string> {
    const all = [...this.#replicas.values()].map(({ metrics }) => metrics.registry.metrics());
    return (await Promise.all(all)).join('\n');
  }

  end(): void {
    this.#hasEnded = true;
    for (const { life } of this.#replicas.values()) life.end();
  }

  #jumpClock(seat: number, byMs: number): void {
    this.#clockOffsetsMs.set(seat, (this.#clockOffsetsMs.get(seat) ?? 0) + byMs);
  }

  #leader(): Replica | undefined {
    return [...this.#replicas.values()].find(({ number }) => number === this.#leadership.life);
  }

  #start(seat: number): void {
    const { script, scheduler, network, onFault, violated } = this.#parts;
    const { seed, faults, healAtMs } = script;
    if (this.#hasEnded) return;
    this.#processes += 1;
    const number = this.#processes;
    const random = stream(seed, `replica ${number}`);
    const life = new Life(scheduler, () => this.#wallMsOf(seat), random.between(0, 1_000_000));
    const api = new ReplicaApi({
      server: this.#server,
      scheduler,
      random: stream(seed, `kubernetes ${number}`),
      life,
      lifeNumber: number,
      faults,
      healAtMs,
      onFault,
      touch: (target) => this.#meddlers.touch(target),
      isDown: () => {
        const cutOffUntilMs = this.#cutOff?.number === number ? this.#cutOff.untilMs : 0;
        return scheduler.nowMs < Math.max(this.#downUntilMs, cutOffUntilMs);
      },
    });
    const stopping = new AbortController();
    const metrics = createMetrics();
    const plain: OperatorOptions = {
      api,
      identity: `replica-${seat}_${number}`,
      environment: { url: operatorsAddress, apiKey: () => new Sensitive(operatorsKey) },
      owner: undefined,
      namespaces: [],
      shard: undefined,
      leaseMs,
      settleMs,
      stopped: stopping.signal,
      createTransport: () => network.transport(life, number),
      ...measuringWith(this.#parts),
      clock: life.clock,
      random: randomPort(random),
      logger: this.#logger,
      metrics,
    };
    const replica = { seat, number, life, api, metrics, stopping };
    this.#replicas.set(seat, replica);
    scheduler.trace(`manager ${number} starts as replica ${seat}`);
    const operator = new Operator(this.#sabotage?.(plain) ?? plain);
    this.#operators.set(seat, operator);
    operator.run().then(
      (end) => this.#ended(replica, end),
      (error: unknown) => {
        // The API server has to let it begin; what else there is to fail is a mistake.
        if ((error as Error).name !== 'KubernetesError') violated('START', String(error));
        this.#ended(replica, 'failed');
      },
    );
  }

  #wallMsOf(seat: number | undefined): number {
    return epochMs + this.#parts.scheduler.nowMs + (this.#clockOffsetsMs.get(seat ?? 0) ?? 0);
  }

  #kill(replica: Replica | undefined): void {
    if (!replica || replica.life.isOver) return;
    this.#parts.network.cutOff();
    this.#ended(replica, 'killed');
  }

  /** SIGTERM: it is heard when the process runs. */
  #stop(replica: Replica | undefined): void {
    if (!replica || replica.life.isOver) return;
    this.#parts.scheduler.trace(`manager ${replica.number} is stopped`);
    replica.life.after(0, () => replica.stopping.abort());
    this.#parts.scheduler.after(graceMs, () => this.#kill(replica));
  }

  #ended(replica: Replica, how: string): void {
    const { scheduler, script } = this.#parts;
    const { life, seat, number } = replica;
    if (life.isOver) return;
    life.end();
    this.#wasUnled ||= number === this.#leadership.life && scheduler.nowMs < this.#downUntilMs;
    scheduler.trace(`manager ${number} has ended: ${how}`);
    const restartMs = stream(script.seed, `restart ${number}`).between(0, longestRestartMs);
    scheduler.after(restartMs, () => this.#start(seat));
  }

  #storing(storing: Storing): void {
    const { checker, script, scheduler } = this.#parts;
    const { storage, author } = storing;
    const write = this.state.writeOf(storing);
    if (write) checker().durable(write);
    const delayMs = this.#diesAfterIntentMs;
    if (delayMs !== undefined && write?.kind === 'save' && write.intent?.outcome === 'pending') {
      this.#diesAfterIntentMs = undefined;
      scheduler.after(delayMs, () => this.#kill(this.#leader()));
    }
    this.state.take(storing);
    this.#leadership.take(storing);
    this.documentStore.gone(storing);
    const isQuiet = storage === leaseStorage || storage.startsWith('accounts.') || storage === 'events';
    if (author !== 'somebody' && !isQuiet) this.#writes += 1;
    if (author !== 'somebody' && script.place === 'cluster') scheduler.trace(`stored ${storage}`);
  }
}
