/**
 * One run: the whole manager, unmodified, and the whole control plane behind its HTTP application, on one simulated clock.
 * The manager gets a clock, randomness, a network, a disk and a folder that are all made from the seed.
 *
 *     turmoil ── healAtMs ──> healing: no faults, nobody wants anything new ── all as wanted ──> quiet: nothing is sent
 *
 * A crash of the manager ends its life between two events. Everything that it waits for is an event, and between two
 * events nothing of it can be seen from outside; so that is a crash between any two of its awaits.
 */
import pino from 'pino';
import type { HttpRequest } from '../../src/api/index.ts';
import { digestKey, rfc3339 } from '../../src/base/index.ts';
import { Manager, type ManagerOptions } from '../../src/manager/index.ts';
import { annotations, type ObjectKey } from '../../src/resources/index.ts';
import type { SeededRandom } from '../support/seeded-random.ts';
import { createMetrics } from '../../src/telemetry/index.ts';
import { Checker } from './checker.ts';
import { Disk, SimulatedStore } from './disk.ts';
import { settleMs } from './faults.ts';
import { Disguise } from './disguise.ts';
import { ForeignHands } from './foreign.ts';
import { mended } from './healing.ts';
import { unsettled } from './liveness.ts';
import { Network } from './network.ts';
import { Plane, ourKey } from './plane.ts';
import { randomPort, stream } from './random-port.ts';
import { Life, Scheduler } from './scheduler.ts';
import type { Action, Script } from './script.ts';
import { SimulatedFolder } from './source.ts';
import { Users } from './users.ts';
import { isActivity, type Exchange, type Json, type Verdict } from './watch.ts';

export interface Result {
  readonly violation:
    | { readonly invariant: string; readonly message: string; readonly atMs: number }
    | undefined;
  readonly traceHash: string;
  readonly lives: number;
  readonly simulatedMs: number;
  readonly mutations: number;
  /** Kinds of faults, each with the request that it hit. */
  readonly coverage: ReadonlySet<string>;
}

/** What a test of the checker changes about the manager; see mutants.ts. */
export type Sabotage = (options: ManagerOptions, disk: Disk) => ManagerOptions;

export interface RunOptions {
  readonly sabotage?: Sabotage;
  readonly onTrace?: (line: string) => void;
}

const requests = { perSecond: 20, burst: 20, concurrency: 8 };
const minimumBalanceMicros = 5_000_000;
const logger = pino({ level: 'silent' });
/** Until all is as wanted: the longest pauses are ten minutes. */
const longestHealingMs = 45 * 60_000;
const quietMs = 60_000;
const epochMs = Date.UTC(2026, 0, 1);

export async function run(script: Script, options: RunOptions = {}): Promise<Result> {
  const world = new World(script, options);
  try {
    return await world.run();
  } finally {
    await world.close();
  }
}

interface Running {
  readonly life: Life;
  readonly manager: Manager;
  readonly store: SimulatedStore;
}

class World {
  readonly #script: Script;
  readonly #options: RunOptions;
  readonly #scheduler: Scheduler;
  readonly #disk = new Disk({
    digestKey: digestKey(Buffer.alloc(32, 7)),
    ownerName: 'simulation',
    ownerConfirmed: true,
  });
  readonly #folder = new SimulatedFolder();
  readonly #users: Users;
  readonly #plane: Plane;
  readonly #network: Network;
  readonly #foreign: ForeignHands;
  readonly #checker: Checker;
  readonly #disguise: Disguise;
  readonly #planeRandom: SeededRandom;
  readonly #coverage = new Set<string>();
  #running: Running | undefined;
  #lives = 0;
  #exchanges = 0;
  #mutations = 0;
  #lastMutation: { method: string; path: string; key: string; body: Json } | undefined;
  #clockOffsetMs = 0;
  #massChangeAllowed = false;
  #violation: Result['violation'];

  constructor(script: Script, options: RunOptions) {
    const { seed, slots, faults, pollSeconds, rateLimitPerSecond } = script;
    this.#script = script;
    this.#options = options;
    this.#scheduler = new Scheduler(stream(seed, 'scheduler'), options.onTrace);
    this.#planeRandom = stream(seed, 'restarts of the plane');
    const scheduler = this.#scheduler;
    this.#disguise = new Disguise(() => scheduler.nowMs, minimumBalanceMicros - 1);
    const accountSpec = {
      url: 'https://control.example',
      credentialsSecretRef: { name: 'compute', key: 'apiKey' },
      requests,
      pollSeconds,
      minimumBalanceMicros,
      apiKey: ourKey,
    };
    this.#users = new Users({ folder: this.#folder, slots, accountSpec, nowMs: () => scheduler.nowMs });
    const crashes = faults.has('crash-plane');
    const wallMs = () => epochMs + scheduler.nowMs;
    this.#plane = new Plane({
      scheduler,
      random: stream(seed, 'plane'),
      wallMs,
      rateLimitPerSecond,
      crashes,
    });
    this.#network = new Network({
      scheduler,
      random: stream(seed, 'network'),
      plane: this.#plane,
      faults,
      healAtMs: script.healAtMs,
      onSent: (request, life) => this.#sent(request, life),
      onReceived: (exchange, answer) => {
        if (
          answer.verdict === ('done' satisfies Verdict) &&
          exchange.key !== undefined &&
          !isActivity(exchange)
        ) {
          const { method, path, key, body } = exchange;
          this.#lastMutation = { method, path, key, body };
        }
        this.#checker.received(exchange, answer);
      },
      watcher: () => this.#checker,
      onFault: (kind, { method, path }) =>
        this.#coverage.add(`${kind} ${method} ${path.replaceAll(/[0-9a-f-]{36}/g, 'id')}`),
      disguise: this.#disguise,
    });
    this.#checker = new Checker(this.#view());
    this.#disk.onDurable = (write) => this.#checker.durable(write);
    this.#plane.onCrash = () => this.#restartPlane();
    this.#foreign = new ForeignHands({
      network: this.#network,
      plane: this.#plane,
      watcher: () => this.#checker,
      after: (delayMs, then) => void scheduler.after(delayMs, then),
      violated: (invariant, message) => this.#violated(invariant, message),
      lastMutation: () => this.#lastMutation,
    });
  }

  async run(): Promise<Result> {
    const { actions, healAtMs } = this.#script;
    const scheduler = this.#scheduler;
    const failed = () => this.#violation !== undefined;
    await this.#plane.start();
    this.#start();
    for (const action of actions) scheduler.after(action.atMs, () => void scheduler.busy(this.#do(action)));
    await scheduler.run(healAtMs, failed);
    if (!failed()) {
      await this.#heal();
      await this.#watchRecovery(failed);
    }
    if (!failed()) this.#checker.finished();
    return {
      violation: this.#violation,
      traceHash: scheduler.traceHash(),
      lives: this.#users.lives,
      simulatedMs: scheduler.nowMs,
      mutations: this.#mutations,
      coverage: this.#coverage,
    };
  }

  async close(): Promise<void> {
    this.#running?.life.end();
    await this.#plane.stop();
  }

  /** All is as wanted within a bounded time (L1 to L3, L6), and stays so, with nothing sent for a while (L8). */
  async #watchRecovery(failed: () => boolean): Promise<void> {
    const scheduler = this.#scheduler;
    const view = this.#view();
    const left = () => unsettled(view, this.#users);
    const untilMs = scheduler.nowMs + longestHealingMs;
    let isQuiet = false;
    while (!failed() && !isQuiet && scheduler.nowMs < untilMs) {
      const before = this.#mutations;
      const isAsWanted = left() === undefined;
      await scheduler.run(scheduler.nowMs + (isAsWanted ? quietMs : 5000), failed);
      isQuiet = isAsWanted && left() === undefined && this.#mutations === before;
    }
    if (failed() || isQuiet) return;
    const { method, path } = this.#lastMutation ?? {};
    const { invariant, message } = left() ?? {
      invariant: 'L8',
      message: `still at work; the last change: ${method} ${path}`,
    };
    this.#violated(invariant, message);
  }

  #start(): void {
    const { seed } = this.#script;
    this.#lives += 1;
    const number = this.#lives;
    const scheduler = this.#scheduler;
    const random = stream(seed, `manager ${number}`);
    const wallMs = () => epochMs + scheduler.nowMs + this.#clockOffsetMs;
    const life = new Life(scheduler, wallMs, random.between(0, 1_000_000));
    const store = new SimulatedStore({
      disk: this.#disk,
      life,
      random: stream(seed, `disk ${number}`),
      nowMs: () => scheduler.nowMs,
    });
    const plain: ManagerOptions = {
      source: this.#folder.source(() => life.isOver),
      store,
      environment: { url: undefined, apiKey: () => undefined },
      clock: life.clock,
      random: randomPort(random),
      createTransport: () => this.#network.transport(life, number),
      logger,
      metrics: createMetrics(),
      settleMs,
      graceMs: 0,
      allowMassChange: false,
      mode: 'manage',
    };
    const manager = new Manager(this.#options.sabotage?.(plain, this.#disk) ?? plain);
    this.#running = { life, manager, store };
    scheduler.trace(`manager ${number} starts`);
    this.#checker.started(number);
    void manager.start().catch((error: unknown) => this.#violated('START', String(error)));
  }

  #taken(): Running | undefined {
    const running = this.#running;
    this.#running = undefined;
    return running;
  }

  #crash(restartAfterMs: number): void {
    const running = this.#taken();
    if (!running) return;
    this.#scheduler.trace('manager is killed');
    running.life.end();
    running.store.crash();
    this.#network.cutOff();
    this.#scheduler.after(restartAfterMs, () => this.#start());
  }

  /** SIGTERM: requests under way are finished. */
  #stop(restartAfterMs: number): void {
    const running = this.#taken();
    if (!running) return;
    this.#scheduler.trace('manager is stopped');
    const restart = () => {
      running.life.end();
      this.#scheduler.after(restartAfterMs, () => this.#start());
    };
    void running.manager.stop().then(restart);
  }

  #restartPlane(): void {
    const scheduler = this.#scheduler;
    scheduler.trace('control plane is killed');
    const restarted = () => this.#plane.start().then(() => this.#checker.recovered());
    scheduler.after(this.#planeRandom.between(500, 20_000), () => void scheduler.busy(restarted()));
  }

  async #do(action: Action): Promise<unknown> {
    const { seed } = action;
    const scheduler = this.#scheduler;
    scheduler.trace(`action ${action.do} ${action.slot}`);
    const one = (count: number) => seed % count;
    switch (action.do) {
      case 'write':
        return this.#users.write(action);
      case 'remove':
        return this.#users.remove(action);
      case 'crash-manager':
        return this.#crash(one(20_000));
      case 'stop-manager':
        return this.#stop(one(20_000));
      case 'stall-manager':
        return this.#running?.life.stall(one(60_000));
      case 'crash-plane':
        return this.#plane.crashAtCommit();
      case 'jump-clock':
        this.#clockOffsetMs += one(7_200_000) - 3_600_000;
        return;
      case 'fill-disk':
        this.#disk.fullUntilMs = scheduler.nowMs + one(60_000);
        return;
      case 'lose-source':
        this.#folder.lose(one(2) === 0 ? 'empty' : 'half');
        scheduler.after(one(90_000), () => this.#folder.lose('none'));
        return;
      case 'odd-state': {
        const services = [...(this.#plane.store?.services.all() ?? [])];
        return this.#disguise.odd(services[one(Math.max(1, services.length))]?.id ?? '', one(120_000));
      }
      case 'poor':
        return this.#disguise.poor(one(180_000));
      case 'foreign-change':
      case 'foreign-delete':
      case 'foreign-create':
      case 'foreign-activity':
      case 'foreign-probe':
        return this.#foreign.act(action.do, seed);
    }
  }

  async #heal(): Promise<void> {
    const scheduler = this.#scheduler;
    scheduler.trace('healing');
    this.#disguise.end();
    this.#disk.fullUntilMs = 0;
    this.#plane.spare();
    while (!this.#plane.isUp) await scheduler.run(scheduler.nowMs + 1000, () => false);
    this.#massChangeAllowed = true;
    const until = {
      [annotations.allowMassChangeUntil]: rfc3339(epochMs + scheduler.nowMs + 10 * 86_400_000),
    };
    this.#users.writeAccount(until);
    this.#users.tidyUp((document) => mended(document, this.#disk, this.#plane));
    this.#folder.lose('none');
    await this.#foreign.releaseAll();
  }

  #sent(request: HttpRequest, life: number): Exchange {
    this.#exchanges += 1;
    const { method, url, headers, body: text } = request;
    const path = new URL(url).pathname;
    const key = headers['idempotency-key'];
    const object = this.#disk.intents().find(({ idempotencyKey }) => idempotencyKey === key)?.object;
    const body: Json = text === undefined ? undefined : JSON.parse(text);
    const exchange = {
      number: this.#exchanges,
      life,
      method,
      path,
      key,
      text,
      body,
      sentAtMs: this.#scheduler.nowMs,
      object,
    };
    if (method !== 'GET' && !isActivity(exchange)) this.#mutations += 1;
    this.#checker.sent(exchange);
    return exchange;
  }

  #violated(invariant: string, message: string): void {
    if (this.#violation) return;
    this.#violation = { invariant, message, atMs: this.#scheduler.nowMs };
    this.#scheduler.trace(`violated ${invariant}: ${message}`);
  }

  #view() {
    const scheduler = this.#scheduler;
    const users = this.#users;
    const massChangeAllowed = () => this.#massChangeAllowed;
    return {
      disk: this.#disk,
      plane: this.#plane,
      settleMs,
      requests,
      minimumBalanceMicros,
      wanted: users.wanted,
      get nowMs() {
        return scheduler.nowMs;
      },
      get massChangeAllowed() {
        return massChangeAllowed();
      },
      epochMs,
      history: (key: ObjectKey) => users.history(key),
      wasRemoved: (key: ObjectKey) => users.wasRemoved(key),
      violated: (invariant: string, message: string) => this.#violated(invariant, message),
    };
  }
}
