/**
 * The reference control plane in this process: its real domain and its real HTTP application, without a socket. A crash
 * rolls back what is not committed and forgets the process; the next start opens the same database.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pino from 'pino';
import { defaultConfig, openControlPlane } from '../../src/control-plane/main.ts';
import type { SeededRandom } from '../support/seeded-random.ts';
import { randomPort } from './random-port.ts';
import { Life, type Scheduler } from './scheduler.ts';

export interface PlaneRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

export interface PlaneReply {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly body: string;
}

export interface PlaneOptions {
  readonly scheduler: Scheduler;
  readonly random: SeededRandom;
  readonly wallMs: () => number;
  /** Its own request limit. */
  readonly rateLimitPerSecond: number | undefined;
  /** It has to survive crashes, so its database is a file. */
  readonly crashes: boolean;
  /** More than one: there are fleets, which may move. */
  readonly regions: readonly string[];
}

type Open = Awaited<ReturnType<typeof openControlPlane>>;

const logger = pino({ level: 'silent' });
/** In memory, where there is such a folder: what a crash keeps has to survive a process that is only simulated. */
const place = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
export const ourKey = 'key-of-acme';
export const ourAddress = 'https://control.example';
/** In the environment of every process: what it is for is not part of the run, and answers 401. */
export const operatorsKey = 'key-of-the-operator';
export const operatorsAddress = 'https://operator.example';
export const foreignKey = 'key-of-a-stranger';
const wealth = 1_000_000_000_000;
/** What it charges for an hour, in micro-USD: of a GPU, a CPU, and a GB of memory or storage. */
export const providerPrices = {
  gpuHourMicros: 900_000,
  cpuHourMicros: 12_000,
  memoryGbHourMicros: 1500,
  storageGbHourMicros: 140,
};

export class Plane {
  readonly #options: PlaneOptions;
  readonly #folder: string | undefined;
  #open: { readonly parts: Open; readonly life: Life } | undefined;
  /** Requests that a crash leaves without an answer. */
  readonly #waiting = new Set<() => void>();
  readonly #regions;
  /** The next commit does not come about: the process is killed before it. */
  #diesAtCommit = false;
  onCrash: () => void = () => {};

  constructor(options: PlaneOptions) {
    this.#options = options;
    this.#regions = options.regions.map((name, index) => {
      const [first] = defaultConfig.regions;
      const region = defaultConfig.regions[index] ?? first;
      if (!region) throw new Error('the control plane has no regions');
      return { ...region, name, prices: { ...providerPrices } };
    });
    this.#folder = options.crashes ? mkdtempSync(path.join(place, 'fleetkeeper-simulation-')) : undefined;
  }

  get isUp(): boolean {
    return this.#open !== undefined;
  }

  /** What it holds; as nobody sees it from outside. */
  get store() {
    return this.#open?.parts.store;
  }

  async start(): Promise<void> {
    const { scheduler, random, wallMs, rateLimitPerSecond } = this.#options;
    const config = { ...defaultConfig, regions: this.#regions };
    const life = new Life(scheduler, wallMs, random.between(0, 1_000_000));
    const parts = await openControlPlane({
      listen: { host: 'nowhere', port: 0 },
      database: this.#folder === undefined ? ':memory:' : path.join(this.#folder, 'plane.db'),
      accounts: {
        accounts: [
          {
            name: 'acme',
            email: 'ops@acme.example',
            emailVerified: true,
            balanceMicros: wealth,
            apiKeys: [ourKey],
          },
          {
            name: 'stranger',
            email: 's@other.example',
            emailVerified: true,
            balanceMicros: wealth,
            apiKeys: [foreignKey],
          },
        ],
      },
      config,
      ...(rateLimitPerSecond === undefined ? {} : { rateLimitPerSecond }),
      clock: life.clock,
      random: randomPort(random),
      eventLoop: {
        endOfTurn: (run) => void setImmediate(() => this.#commit(life, run)),
        crash: () => this.crash(),
      },
      logger,
    });
    await parts.api.ready();
    this.#open = { parts, life };
  }

  /** Undefined when it was not up, or was killed before it answered. */
  async request({ method, path: url, headers, body }: PlaneRequest): Promise<PlaneReply | undefined> {
    const open = this.#open;
    if (!open) return undefined;
    const killed = Promise.withResolvers<undefined>();
    const onKill = () => killed.resolve(undefined);
    this.#waiting.add(onKill);
    const answered = open.parts.api.inject({
      method: method as 'GET',
      url,
      headers: { ...headers, host: 'control.example' },
      ...(body === undefined ? {} : { payload: body }),
    });
    const reply = await Promise.race([answered, killed.promise]);
    this.#waiting.delete(onKill);
    if (!reply || open.life.isOver) return undefined;
    const retryAfter = reply.headers['retry-after'];
    return {
      status: reply.statusCode,
      retryAfter: retryAfter?.toString(),
      body: reply.body,
    };
  }

  crash(): void {
    const open = this.#open;
    if (!open || this.#folder === undefined) return;
    this.#open = undefined;
    this.#diesAtCommit = false;
    open.life.end();
    open.parts.store.database.rollback();
    open.parts.store.close();
    for (const onKill of this.#waiting) onKill();
    this.#waiting.clear();
    this.onCrash();
  }

  /** What is made in this region from now on costs so many per cent of what it did at first. */
  reprice(region: string, percent: number): void {
    const { prices } = this.#regions.find(({ name }) => name === region) ?? {};
    if (!prices) return;
    for (const [name, micros] of Object.entries(providerPrices) as [keyof typeof prices, number][])
      prices[name] = (micros * percent) / 100;
  }

  /** Everything that there is costs so many per cent of what it does now. Nothing if it is not up. */
  raisePrices(percent: number): void {
    const { store } = this;
    if (!store) return;
    store.unit.run(() => {
      for (const service of Array.from(store.services.all()))
        store.services.put({ ...service, hourlyMicros: Math.ceil((service.hourlyMicros * percent) / 100) });
    });
  }

  /** In the middle of the next request that changes something. */
  crashAtCommit(): void {
    this.#diesAtCommit = true;
  }

  /** It does not, after all. */
  spare(): void {
    this.#diesAtCommit = false;
  }

  async stop(): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    await open?.parts.close();
    open?.life.end();
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true });
  }

  #commit(life: Life, run: () => void): void {
    if (life.isOver) return;
    if (this.#diesAtCommit && this.#folder !== undefined) this.crash();
    else run();
  }
}
