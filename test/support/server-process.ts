/** The reference control plane as a process of its own, killed and started again at will. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';

const main = path.resolve(import.meta.dirname, '../../dist/main.mjs');

export interface ServerOptions {
  /** The accounts file. */
  readonly accounts: string;
  readonly database: string;
  /** HOST:PORT; port 0 picks a free one. */
  readonly listen?: string;
  readonly flags?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

export class ServerProcess {
  readonly #child: ChildProcess;
  readonly #lines: string[] = [];
  #stderr = '';
  url = '';

  private constructor(options: ServerOptions) {
    const { accounts, database, listen = '127.0.0.1:0', flags = [], environment = {} } = options;
    const files = ['--accounts', accounts, '--database', database];
    this.#child = spawn(process.execPath, [main, 'control-plane', '--listen', listen, ...files, ...flags], {
      env: { PATH: process.env['PATH'] ?? '', ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child.stderr?.on('data', (part: Buffer) => (this.#stderr += part.toString()));
    if (this.#child.stdout) {
      createInterface({ input: this.#child.stdout }).on('line', (line) => {
        this.#lines.push(line);
        this.#child.emit('line');
      });
    }
  }

  /** Resolves when it answers. */
  static async start(options: ServerOptions): Promise<ServerProcess> {
    const server = new ServerProcess(options);
    server.url = (await server.line(/^listening on (.*)$/))[1] ?? '';
    return server;
  }

  get stderr(): string {
    return this.#stderr;
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** The first line of stdout that matches and was not given before. */
  async line(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      for (const [index, line] of this.#lines.entries()) {
        const match = pattern.exec(line);
        if (!match) continue;
        this.#lines.splice(index, 1);
        return match;
      }
      if (!this.isRunning) throw new Error(`the control plane ended\n${this.#stderr}`);
      await Promise.race([once(this.#child, 'line'), once(this.#child, 'close')]);
    }
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** Resolves when the process is gone. */
  async kill(name: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    if (!this.isRunning) return;
    const closed = once(this.#child, 'close');
    this.signal(name);
    await closed;
  }
}
