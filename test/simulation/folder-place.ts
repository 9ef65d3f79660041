/**
 * A folder, its state file, and the one manager that serves it.
 *
 * A crash of the manager ends its life between two events. Everything that it waits for is an event, and between two
 * events nothing of it can be seen from outside; so that is a crash between any two of its awaits.
 */
import pino from 'pino';
import { digestKey } from '../../src/base/index.ts';
import { Manager, type ManagerOptions } from '../../src/manager/index.ts';
import type { Intent } from '../../src/state/index.ts';
import { createMetrics } from '../../src/telemetry/index.ts';
import { Disk, SimulatedStore } from './disk.ts';
import { settleMs } from './faults.ts';
import { epochMs, type Place, type PlaceParts } from './place.ts';
import { hasOpenOutcome } from './state.ts';
import { randomPort, stream } from './random-port.ts';
import { Life } from './scheduler.ts';
import type { Action, Deed } from './script.ts';
import { SimulatedFolder } from './source.ts';

/** What a test of the checker changes about the manager; see mutants.ts. */
export type Sabotage = (options: ManagerOptions, disk: Disk) => ManagerOptions;

interface Running {
  readonly life: Life;
  readonly manager: Manager;
  readonly store: SimulatedStore;
}

const logger = pino({ level: 'silent' });

export class FolderPlace implements Place {
  readonly keepsEveryStatus = true;
  readonly shelf = new SimulatedFolder();
  readonly state = new Disk({
    digestKey: digestKey(Buffer.alloc(32, 7)),
    ownerName: 'simulation',
    ownerConfirmed: true,
  });
  /** The file may be written to at any time. */
  readonly writes = 0;
  readonly #parts: PlaceParts;
  readonly #sabotage: Sabotage | undefined;
  #running: Running | undefined;
  #lives = 0;
  #clockOffsetMs = 0;

  constructor(parts: PlaceParts, sabotage: Sabotage | undefined) {
    this.#parts = parts;
    this.#sabotage = sabotage;
    this.state.onDurable = (write) => parts.checker().durable(write);
  }

  /** There is no other. */
  leads(): boolean {
    return true;
  }

  isOusted(): boolean {
    return false;
  }

  isOpen(intent: Intent): boolean {
    return hasOpenOutcome(intent);
  }

  start(): void {
    const { script, scheduler, network, checker, violated } = this.#parts;
    const { seed } = script;
    this.#lives += 1;
    const number = this.#lives;
    const random = stream(seed, `manager ${number}`);
    const wallMs = () => epochMs + scheduler.nowMs + this.#clockOffsetMs;
    const life = new Life(scheduler, wallMs, random.between(0, 1_000_000));
    const store = new SimulatedStore({
      disk: this.state,
      life,
      random: stream(seed, `disk ${number}`),
      nowMs: () => scheduler.nowMs,
    });
    const plain: ManagerOptions = {
      source: this.shelf.source(() => life.isOver),
      store,
      environment: { url: undefined, apiKey: () => undefined },
      clock: life.clock,
      random: randomPort(random),
      createTransport: () => network.transport(life, number),
      logger,
      metrics: createMetrics(),
      settleMs,
      graceMs: 0,
      allowMassChange: false,
      mode: 'manage',
    };
    const manager = new Manager(this.#sabotage?.(plain, this.state) ?? plain);
    this.#running = { life, manager, store };
    scheduler.trace(`manager ${number} starts`);
    checker().started(number);
    void manager.start().catch((error: unknown) => violated('START', String(error)));
  }

  do({ do: deed, seed }: Action): void {
    const { scheduler } = this.#parts;
    const one = (count: number) => seed % count;
    const deeds: Partial<Record<Deed, () => void>> = {
      'crash-manager': () => this.#crash(one(20_000)),
      'stop-manager': () => this.#stop(one(20_000)),
      'stall-manager': () => this.#running?.life.stall(one(60_000)),
      'jump-clock': () => {
        this.#clockOffsetMs += one(7_200_000) - 3_600_000;
      },
      'fill-disk': () => {
        this.state.fullUntilMs = scheduler.nowMs + one(60_000);
      },
      'lose-source': () => {
        this.shelf.lose(one(2) === 0 ? 'empty' : 'half');
        scheduler.after(one(90_000), () => this.shelf.lose('none'));
      },
    };
    deeds[deed]?.();
  }

  heal(): void {
    this.state.fullUntilMs = 0;
  }

  copied(): void {
    // A document has no status.
  }

  handOver(): Promise<boolean> {
    return Promise.resolve(false);
  }

  end(): void {
    this.#running?.life.end();
  }

  #taken(): Running | undefined {
    const running = this.#running;
    this.#running = undefined;
    return running;
  }

  #crash(restartAfterMs: number): void {
    const { scheduler, network } = this.#parts;
    const running = this.#taken();
    if (!running) return;
    scheduler.trace('manager is killed');
    running.life.end();
    running.store.crash();
    network.cutOff();
    scheduler.after(restartAfterMs, () => this.start());
  }

  /** SIGTERM: requests under way are finished. */
  #stop(restartAfterMs: number): void {
    const { scheduler } = this.#parts;
    const running = this.#taken();
    if (!running) return;
    scheduler.trace('manager is stopped');
    const restart = () => {
      running.life.end();
      scheduler.after(restartAfterMs, () => this.start());
    };
    void running.manager.stop().then(restart);
  }
}
