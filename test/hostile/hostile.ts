/**
 * One tenant attacks the reference control plane, and another one lives beside it. Whether the other's reads stay quick,
 * the server lives within its memory, starts again on what is left, and has lost nothing of the other.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile, readdir, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { ServerProcess, type ServerOptions } from '../support/server-process.ts';
import { attacks, phases } from './attacks.ts';
import type { Order } from './attacker.ts';
import { Victim, summary, type Latencies } from './victim.ts';

export interface HostileOptions {
  readonly quietMs: number;
  readonly attackMs: number;
  /** For the database; empty. */
  readonly folder: string;
  /** A quiet p99 that is shorter counts as this: what the machine itself does to a request. */
  readonly quietFloorMs: number;
}

export interface HostileReport {
  readonly quiet: Latencies;
  readonly attacked: Latencies;
  readonly byPhase: Readonly<Record<string, Latencies>>;
  /** How many requests of the attacker ended with each status; 0: cut. */
  readonly answers: Readonly<Record<string, number>>;
  readonly peakMb: number;
  readonly heapLimitMb: number;
  readonly databaseMb: number;
  readonly restartMs: number;
  readonly violations: readonly string[];
}

const heapLimitMb = 512;
/** With what is beside the heap: buffers of answers, the pages of the database. */
const memoryLimitMb = 1024;
const longestP99Ms = 250;
const longestSlowdown = 10;
const longestRestartMs = 5_000;
const keys = { attacker: 'key-of-the-attacker', victim: 'key-of-the-victim' };

export async function hostile(options: HostileOptions): Promise<HostileReport> {
  const { folder, quietMs, attackMs, quietFloorMs } = options;
  const accounts = path.join(folder, 'accounts.yaml');
  const database = path.join(folder, 'control-plane.db');
  await writeFile(accounts, `accounts: [${accountText('attacker')}, ${accountText('victim')}]`);
  const start: ServerOptions = {
    accounts,
    database,
    flags: ['--log-level', 'error'],
    environment: { NODE_OPTIONS: `--max-old-space-size=${heapLimitMb}` },
  };
  const server = await ServerProcess.start(start);
  const victim = new Victim(server.url, keys.victim);
  await victim.prepare();
  // The code is compiled by now, and the machine has settled.
  await victim.live(Math.min(quietMs, 2_000), false);
  const quiet = summary(await victim.live(quietMs, false));
  const attacker = await Attacker.start(server.url);
  const all: number[] = [];
  const byPhase: Record<string, Latencies> = {};
  for (const [phase, names] of Object.entries(phases)) {
    await attacker.attack(Object.keys(attacks).filter((name) => names.test(name)));
    const latencies = await victim.live(attackMs / Object.keys(phases).length, true);
    byPhase[phase] = summary(latencies);
    all.push(...latencies);
  }
  const attacked = summary(all);
  const answers = await attacker.end();
  const peakMb = await peakMbOf(server.pid);
  const isAlive = server.isRunning;
  await server.kill();
  const startedMs = performance.now();
  const restarted = await ServerProcess.start(start);
  victim.url = restarted.url;
  const missing = await victim.missing();
  const restartMs = performance.now() - startedMs;
  await restarted.kill();
  const files = await readdir(folder);
  const sizes = await Promise.all(files.map(async (file) => (await stat(path.join(folder, file))).size));
  const databaseMb = sizes.reduce((sum, size) => sum + size) / 1e6;
  const slowest = longestSlowdown * Math.max(quiet.p99Ms, quietFloorMs);
  const violations = [
    !isAlive && `the server has ended: ${server.stderr}`,
    attacked.failed > 0 && `${attacked.failed} reads of the victim failed`,
    attacked.p99Ms > longestP99Ms &&
      `p99 of the victim's reads: ${attacked.p99Ms} ms, over ${longestP99Ms} ms`,
    attacked.p99Ms > slowest && `p99 of the victim's reads: ${attacked.p99Ms} ms, over ${slowest} ms`,
    peakMb > memoryLimitMb && `the server took ${peakMb} MB, more than ${memoryLimitMb} MB`,
    restartMs > longestRestartMs && `the restart took ${restartMs} ms`,
    ...missing,
  ].filter((violation) => typeof violation === 'string');
  return { quiet, attacked, byPhase, answers, peakMb, heapLimitMb, databaseMb, restartMs, violations };
}

function accountText(name: keyof typeof keys): string {
  return `{name: ${name}, email: ${name}@hostile.example, balanceMicros: 1000000000000, apiKeys: [${keys[name]}]}`;
}

class Attacker {
  readonly #child: ChildProcess;
  readonly #target: Order['target'];

  static async start(url: string): Promise<Attacker> {
    const child = fork(path.join(import.meta.dirname, 'attacker.ts'), { execArgv: [] });
    await once(child, 'spawn');
    return new Attacker(child, url);
  }

  private constructor(child: ChildProcess, url: string) {
    const { hostname: host, port } = new URL(url);
    this.#child = child;
    this.#target = { host, port: Number(port), apiKey: keys.attacker };
  }

  /**
   * Instead of what it does now. Resolves when the attack is well under way: on a busy machine that takes seconds, since the
   * attacker leaves the processor to everybody else.
   */
  async attack(names: readonly string[]): Promise<void> {
    const underWay = once(this.#child, 'message');
    this.#order(names);
    await underWay;
  }

  async end(): Promise<Record<string, number>> {
    const answers = once(this.#child, 'message');
    this.#order([]);
    const [message] = (await answers) as [Record<string, number>];
    return message;
  }

  #order(names: readonly string[]): void {
    this.#child.send({ target: this.#target, names } satisfies Order);
  }
}

async function peakMbOf(pid: number | undefined): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/VmHWM:\s+(?<kb>\d+) kB/.exec(status)?.groups?.['kb'] ?? 0) / 1000;
}
