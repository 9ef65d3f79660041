/**
 * A folder, its state file, and the one manager that serves it.
 *
 * A crash of the manager ends its life between two events. Everything that it waits for is an event, and between two
 * events nothing of it can be seen from outside; so that is a crash between any two of its awaits.
 */
import type { Logger } from 'pino';
import { Sensitive, digestKey } from '../../src/base/index.ts';
import { Manager, type ManagerOptions } from '../../src/manager/index.ts';
import { defaultShortenedGrace } from '../../src/engine/index.ts';
import { parseObjectKey, type ObjectKey } from '../../src/resources/index.ts';
import type { ObjectRecord, Intent, Resolution } from '../../src/state/index.ts';
import type { Memory } from '../support/full-count.ts';
import { createMetrics } from '../../src/telemetry/index.ts';
import { Disk, SimulatedStore } from './disk.ts';
import { settleMs } from './faults.ts';
import { crashWithinMs, epochMs, measuringWith, searchedLog, type Place, type PlaceParts } from './place.ts';
import { hasOpenOutcome } from './state.ts';
import { operatorsAddress, operatorsKey } from './plane.ts';
import { randomPort, stream } from './random-port.ts';
import { Life } from './scheduler.ts';
import type { Action, Deed } from './script.ts';
import { SimulatedFolder } from './source.ts';

/** Shorter than the time after which it is taken for what people want. */
const longestCutMs = { wholly: 200_000, partly: 55_000 } as const;

/** What a test of the checker changes about the manager; see mutants/. */
export type Sabotage = (options: ManagerOptions, disk: Disk) => ManagerOptions;

interface Running {
  readonly life: Life;
  readonly manager: Manager;
  readonly store: SimulatedStore;
}

export class FolderPlace implements Place {
  readonly keepsEveryStatus = true;
  readonly documentStore = new SimulatedFolder();
  readonly state: Disk;
  #writes = 0;
  readonly #parts: PlaceParts;
  readonly #sabotage: Sabotage | undefined;
  readonly #logger: Logger;
  #metrics = createMetrics();
  #running: Running | undefined;
  #lives = 0;
  #clockOffsetMs = 0;
  /** Whatever was in a state that was lost, and has not been found since: with an id, if it had one. */
  readonly #unfound = new Map<ObjectKey, { readonly hadId: boolean }>();

  constructor(parts: PlaceParts, sabotage: Sabotage | undefined, isKeyShared: boolean) {
    this.state = new Disk({
      digestKey: digestKey(Buffer.alloc(32, 7)),
      ownerName: 'simulation',
      ownerConfirmed: true,
      isKeyShared,
    });
    this.#parts = parts;
    this.#sabotage = sabotage;
    this.#logger = searchedLog(parts);
    this.state.onDurable = (write) => {
      parts.checker().durable(write);
      for (const { key, externalId } of write.kind === 'save' ? write.records : [])
        if (externalId !== undefined || this.#unfound.get(key)?.hadId === false) this.#unfound.delete(key);
      const isOfAccount =
        write.kind === 'save' && write.records.every(({ key }) => parseObjectKey(key).kind === 'Account');
      if (!isOfAccount) this.#writes += 1;
    };
  }

  get writes(): number {
    return this.#writes;
  }

  get wallMs(): number {
    return epochMs + this.#parts.scheduler.nowMs + this.#clockOffsetMs;
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
    const life = new Life(scheduler, () => this.wallMs, random.between(0, 1_000_000));
    const store = new SimulatedStore({
      disk: this.state,
      life,
      random: stream(seed, `disk ${number}`),
      nowMs: () => scheduler.nowMs,
    });
    this.#metrics = createMetrics();
    const plain: ManagerOptions = {
      source: this.documentStore.source(() => life.isOver),
      store,
      environment: { url: operatorsAddress, apiKey: () => new Sensitive(operatorsKey) },
      clock: life.clock,
      random: randomPort(random),
      createTransport: () => network.transport(life, number),
      ...measuringWith(this.#parts),
      logger: this.#logger,
      metrics: this.#metrics,
      settleMs,
      grace: { goneMs: 0, ...defaultShortenedGrace },
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
      'crash-at-intent': () => this.#crashAtIntent(one(crashWithinMs), one(20_000)),
      'stop-manager': () => this.#stop(one(20_000)),
      'stall-manager': () => this.#running?.life.stall(one(60_000)),
      'jump-clock': () => {
        this.#clockOffsetMs += one(7_200_000) - 3_600_000;
      },
      'fill-disk': () => {
        this.state.fullUntilMs = scheduler.nowMs + one(60_000);
      },
      'lose-source': () => {
        this.documentStore.lose(one(2) === 0 ? 'empty' : 'half');
        scheduler.after(one(90_000), () => this.documentStore.lose('none'));
      },
      'truncate-file': () => {
        const cut = one(2) === 0 ? 'wholly' : 'partly';
        const mend = this.documentStore.truncate(one(1000), cut);
        scheduler.after(1 + one(longestCutMs[cut]), mend);
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

  forge(): void {
    // There is nothing that others could write into.
  }

  isWiped(): boolean {
    return false;
  }

  loseState(mayBeLost: () => boolean): void {
    if (!this.#running || !mayBeLost()) return;
    this.#crash(1000);
    // What was on its way is on the disk now, or lost.
    if (!mayBeLost()) return;
    this.#parts.scheduler.trace('the state is lost');
    for (const { key, externalId } of this.state.records())
      this.#unfound.set(key, { hadId: externalId !== undefined });
    this.state.lose();
    this.#parts.checker().lost();
  }

  isUnfound(key: ObjectKey): boolean {
    return this.#unfound.has(key);
  }

  resolve(key: ObjectKey, resolution: Resolution): void {
    this.state.resolutions.set(key, resolution);
  }

  mend(): void {
    // Nor anything of theirs to put right.
  }

  /** The process is killed, and started again. */
  async handOver(): Promise<void> {
    const { scheduler } = this.#parts;
    this.#crash(0);
    await scheduler.run(scheduler.nowMs + 1, () => false);
  }

  /** Nothing is in memory before it is on the disk. */
  inMemory(key: ObjectKey): ObjectRecord | undefined {
    return this.state.record(key);
  }

  memories(): readonly Memory[] {
    return this.#running ? [this.#running.manager] : [];
  }

  metrics(): Promise<string> {
    return this.#metrics.registry.metrics();
  }

  end(): void {
    this.#running?.life.end();
  }

  #taken(): Running | undefined {
    const running = this.#running;
    this.#running = undefined;
    return running;
  }

  /** When the next intent is being written down, or its request has just been sent. */
  #crashAtIntent(delayMs: number, restartAfterMs: number): void {
    const running = this.#running;
    if (!running) return;
    running.store.onIntent = () => {
      running.store.onIntent = () => {};
      const crash = () => running === this.#running && this.#crash(restartAfterMs);
      this.#parts.scheduler.after(delayMs, () => void crash());
    };
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
