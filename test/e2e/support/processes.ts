/** Real processes over real sockets and real folders. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { onTestFinished } from 'vitest';

/** Hundreds of processes start: each would compile the same files anew. */
const compileCache = path.join(tmpdir(), 'fleetkeeper-compile-cache');
const main = path.resolve(import.meta.dirname, '../../../dist/main.mjs');

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A folder that is gone after the test. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'fleetkeeper-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

export class Program {
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

  /** The first line of stdout that matches. */
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

  /** By us, so that it could leave nothing in order. */
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

/** Runs one command to its end. */
export function fleetkeeper(
  args: readonly string[],
  environment?: Record<string, string>,
): Promise<Finished> {
  return new Program(args, environment).finished();
}

/**
 * Asks again until the answer is given; another process can't be awaited otherwise. With `progress` it is given up only when that has been
 * the same for `timeoutMs`: how long much work takes depends on what else the machine does.
 */
export async function eventually<Value>(
  what: string,
  ask: () => Promise<Value | undefined | false>,
  timeoutMs = 30_000,
  progress: () => unknown = () => undefined,
): Promise<Value> {
  let untilMs = Date.now() + timeoutMs;
  let reached = progress();
  for (;;) {
    const askedAtMs = Date.now();
    const answer = await ask();
    if (answer !== undefined && answer !== false) return answer;
    if (progress() !== reached) untilMs = Date.now() + timeoutMs;
    reached = progress();
    if (Date.now() > untilMs) throw new Error(`not within ${timeoutMs / 1000} s: ${what}`);
    // Asking is not to take most of the time of whoever answers.
    await delay(Math.max(50, 2 * (Date.now() - askedAtMs)));
  }
}
