/** Real processes over real sockets, real folders and real clocks. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import pino from 'pino';
import { onTestFinished } from 'vitest';
import { systemClock, systemRandom } from '../../../src/base/index.ts';
import { parseAccounts, parseConfig, startControlPlane } from '../../../src/control-plane/main.ts';
import { connect } from '../../../src/kubernetes/connect.ts';
import { createMetrics } from '../../../src/telemetry/index.ts';
import type { Finished, PlaneSettings, Program, RunningPlane, World } from '../world.ts';

/** Hundreds of processes start: each would compile the same files anew. */
const compileCache = path.join(tmpdir(), 'fleetkeeper-compile-cache');
const main = path.resolve(import.meta.dirname, '../../../dist/main.mjs');

class RealProgram implements Program {
  readonly #child: ChildProcess;
  readonly #lines: string[] = [];
  readonly #waiters = new Set<() => void>();
  stdout = '';
  stderr = '';

  constructor(args: readonly string[], environment: Readonly<Record<string, string>> = {}) {
    this.#child = spawn(process.execPath, [main, ...args], {
      env: { PATH: process.env['PATH'] ?? '', NODE_COMPILE_CACHE: compileCache, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child.stdout?.on('data', (part: Buffer) => {
      this.stdout += part.toString();
    });
    this.#child.stderr?.on('data', (part: Buffer) => {
      this.stderr += part.toString();
    });
    if (this.#child.stdout) {
      createInterface({ input: this.#child.stdout }).on('line', (line) => {
        this.#lines.push(line);
        for (const waiter of this.#waiters) waiter();
      });
    }
    onTestFinished(async () => {
      await this.kill('SIGKILL');
    });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  get running(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  async line(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      for (const line of this.#lines) {
        const match = pattern.exec(line);
        if (match) return match;
      }
      if (!this.running) throw new Error(`ended without printing ${pattern}\n${this.stdout}\n${this.stderr}`);
      await Promise.race([
        new Promise<void>((resolve) => {
          this.#waiters.add(resolve);
        }),
        once(this.#child, 'close'),
      ]);
    }
  }

  get killed(): boolean {
    return this.#child.signalCode === 'SIGKILL';
  }

  async finished(): Promise<Finished> {
    if (this.running || this.#child.stdout?.readableEnded === false) await once(this.#child, 'close');
    return { code: this.#child.exitCode, stdout: this.stdout, stderr: this.stderr };
  }

  async kill(signal: NodeJS.Signals): Promise<Finished> {
    if (this.running) {
      // What a killed process had started may live on, and keep its streams open.
      const ended = once(this.#child, signal === 'SIGKILL' ? 'exit' : 'close');
      this.#child.kill(signal);
      await ended;
    }
    return { code: this.#child.exitCode, stdout: this.stdout, stderr: this.stderr };
  }
}

/** In this process. */
async function startPlane({
  port,
  database,
  accounts,
  config,
  timeScale,
}: PlaneSettings): Promise<RunningPlane> {
  const plane = await startControlPlane({
    listen: { host: '127.0.0.1', port },
    adminListen: { host: '127.0.0.1', port: 0 },
    database,
    accounts: parseAccounts(accounts, 'accounts.yaml'),
    ...(config === undefined ? {} : { config: parseConfig(config, 'config.yaml') }),
    timeScale,
    clock: systemClock,
    random: systemRandom,
    logger: pino({ level: 'silent' }),
  });
  return { url: plane.url, adminUrl: plane.adminUrl ?? '', close: () => plane.close() };
}

export const realWorld: World = {
  nowMs: () => Date.now(),
  sleep: (ms) => delay(ms),
  pause: (ms) => delay(ms),
  fetch: (url, init) => fetch(url, init),
  temporary: tmpdir(),
  launch: (args, environment) => new RealProgram(args, environment),
  startPlane,
  connectCluster: (kubeconfig) =>
    connect({ kubeconfig, environment: {}, clock: systemClock, metrics: createMetrics() }),
};
