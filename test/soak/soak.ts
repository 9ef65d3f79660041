/**
 * A soak of the reference control plane: random clients of several accounts against the real process on a file,
 * with its time going faster, which is killed with SIGKILL at random moments and started again on the same file.
 * An oracle judges every answer. The first violation ends it.
 */
import { EventEmitter, once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { SeededRandom } from '../support/seeded-random.ts';
import { ServerProcess, type ServerOptions } from '../support/server-process.ts';
import { almostFull } from './actions.ts';
import { Client, type Line } from './client.ts';
import { checkBalances } from './database.ts';
import { Oracle } from './oracle.ts';
import { canary, requireThat, type Json, type SoakRequest } from './requests.ts';

export interface SoakOptions {
  readonly seed: number;
  /** Of the platform's time. */
  readonly minutes: number;
  readonly timeScale: number;
  readonly kills: number;
  readonly clientsPerAccount: number;
  /** For the database; empty. */
  readonly folder: string;
  readonly tell?: (line: string) => void;
}

export interface SoakReport {
  readonly requests: number;
  /** Different mutations that were answered 2xx. */
  readonly accepted: number;
  /** Of those, whose answer was lost first and came when they were sent again. */
  readonly recovered: number;
}

/** Money of `poor` runs out; `newcomer` has no verified email. */
const accounts = [
  { name: 'rich', balanceMicros: 1_000_000_000_000, emailVerified: true },
  { name: 'other', balanceMicros: 1_000_000_000_000, emailVerified: true },
  { name: 'poor', balanceMicros: 60_000, emailVerified: true },
  { name: 'newcomer', balanceMicros: 1_000_000, emailVerified: false },
];

const logEntries = 60;
/** At least. */
const acceptedBetweenKills = 60;
const burstMs = 150;
const settleTimeoutMs = 20_000;

const reads: readonly SoakRequest[] = [
  { method: 'GET', path: '/api/account', answers: 'account' },
  { method: 'GET', path: '/api/templates', answers: 'templates' },
  { method: 'GET', path: '/api/registries', answers: 'registries' },
];

/** Throws what was violated, with the seed and the last requests. */
export async function soak(options: SoakOptions): Promise<SoakReport> {
  const run = new Soak(options);
  try {
    return await run.run();
  } catch (error) {
    throw new Error(`${String(error)}\nseed ${options.seed}; the last requests:\n${run.log.join('\n')}`, {
      cause: error,
    });
  } finally {
    await run.end();
  }
}

class Soak implements Line {
  readonly log: string[] = [];
  readonly #options: SoakOptions;
  readonly #random: SeededRandom;
  readonly #oracle = new Oracle();
  readonly #clients: Client[];
  readonly #ending = new AbortController();
  #server: ServerProcess | undefined;
  #killing: Promise<void> | undefined;
  readonly #progress = new EventEmitter();
  #gate = Promise.withResolvers<void>();
  #count = 0;
  #requests = 0;
  isDying = false;
  isBurst = false;

  constructor(options: SoakOptions) {
    this.#options = options;
    this.#random = new SeededRandom(options.seed);
    this.#clients = accounts.flatMap(({ name }) =>
      Array.from({ length: options.clientsPerAccount }, () => this.#clientOf(name, this)),
    );
  }

  get url(): string {
    return this.#server?.url ?? '';
  }

  up(): Promise<void> {
    return this.#gate.promise;
  }

  async run(): Promise<SoakReport> {
    await this.#start();
    await this.#fill();
    const clients = Promise.all(this.#clients.map((client) => client.run(this.#ending.signal)));
    this.#killing = this.#killAgainAndAgain();
    await Promise.race([clients, this.#killing]);
    this.#ending.abort();
    await clients;
    await this.#settled();
    await this.#server?.kill();
    checkBalances(this.#serverOptions().database);
    return {
      requests: this.#requests,
      accepted: this.#oracle.countOfAccepted,
      recovered: this.#oracle.countOfRecovered,
    };
  }

  async end(): Promise<void> {
    this.#ending.abort();
    this.isDying = true;
    await this.#killing?.catch(() => undefined);
    // For clients that still wait for an answer: nobody will give it.
    this.#gate = Promise.withResolvers();
    this.#gate.promise.catch(() => undefined);
    this.#gate.reject(new Error('the soak has ended'));
    await this.#server?.kill();
  }

  /** Brings one account close to its limits. */
  async #fill(): Promise<void> {
    const client = this.#clientOf('other', this);
    for (const request of almostFull()) await client.perform(request);
  }

  #clientOf(account: string, line: Line): Client {
    return new Client({
      account,
      apiKey: keyOf(account),
      random: new SeededRandom(this.#random.between(0, 2 ** 31)),
      oracle: this.#oracle,
      line,
      count: () => (this.#count += 1),
      log: (entry) => this.#remember(entry),
    });
  }

  #remember(entry: string): void {
    this.#requests += 1;
    this.#progress.emit('answer');
    this.log.push(entry);
    if (this.log.length > logEntries) this.log.shift();
  }

  #serverOptions(): ServerOptions & { readonly database: string } {
    const { folder, timeScale } = this.#options;
    return {
      accounts: path.join(folder, 'accounts.yaml'),
      database: path.join(folder, 'control-plane.db'),
      listen: this.url === '' ? '127.0.0.1:0' : new URL(this.url).host,
      flags: ['--time-scale', String(timeScale)],
    };
  }

  /** Only the time during which the server is up counts. */
  async #killAgainAndAgain(): Promise<void> {
    const { minutes, timeScale, kills, tell } = this.#options;
    const averageMs = (minutes * 60_000) / timeScale / (kills + 1);
    for (let kill = 1; kill <= kills; kill += 1) {
      await this.#work(averageMs * (0.5 + this.#random.fraction()));
      await this.#killNow();
      tell?.(`killed ${kill} of ${kills} times, ${this.#oracle.countOfAccepted} mutations accepted so far`);
    }
    await this.#work(averageMs);
  }

  /** Lets the clients go on for this time, and longer on a slow machine. */
  async #work(durationMs: number): Promise<void> {
    const enough = this.#oracle.countOfAccepted + acceptedBetweenKills;
    const { signal } = this.#ending;
    await delay(durationMs, undefined, { signal });
    while (this.#oracle.countOfAccepted < enough) await once(this.#progress, 'answer', { signal });
  }

  async #killNow(): Promise<void> {
    if (this.#random.chance(0.5)) {
      this.isBurst = true;
      await delay(this.#random.between(0, burstMs));
    }
    this.isDying = true;
    this.#gate = Promise.withResolvers<void>();
    await this.#server?.kill();
    this.#remember('--- killed ---');
    const { database } = this.#serverOptions();
    checkBalances(database);
    this.isBurst = false;
    await this.#start();
  }

  /** Before anybody writes again, everything that was accepted is looked for. */
  async #start(): Promise<void> {
    const options = this.#serverOptions();
    await writeFile(options.accounts, `accounts: ${JSON.stringify(accounts.map(withKey))}`);
    this.#server = await ServerProcess.start(options);
    this.isDying = false;
    await this.#readAll({ up: () => Promise.resolve(), url: this.url, isDying: false, isBurst: true });
    this.#gate.resolve();
  }

  async #readAll(line: Line): Promise<void> {
    for (const { name } of accounts) {
      const client = this.#clientOf(name, line);
      for (const read of reads) await client.perform(read);
    }
  }

  /** In the end everything that is under way comes to its end. */
  async #settled(): Promise<void> {
    await this.#readAll(this);
    const untilMs = performance.now() + settleTimeoutMs;
    for (const { name } of accounts) {
      const client = this.#clientOf(name, this);
      for (;;) {
        const restless = restlessIn((await client.perform({ method: 'GET', path: '/api/account' })).body);
        if (restless.length === 0) break;
        requireThat(performance.now() < untilMs, () => `it never ends: ${JSON.stringify(restless)}`);
        await delay(50);
      }
    }
  }
}

function restlessIn({ services, volumes }: Json): Json[] {
  const atRest = new Set(['running', 'sleeping', 'paused', 'error', 'ready']);
  return [...services, ...volumes].filter((item) => !atRest.has(item.state ?? item.status) || item.operation);
}

function keyOf(account: string): string {
  return `${canary}-key-of-${account}`;
}

function withKey(account: (typeof accounts)[number]): object {
  return { ...account, email: `${account.name}@soak.example`, apiKeys: [keyOf(account.name)] };
}
