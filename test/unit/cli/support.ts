/** The command line in this process, against a real server. */
import { PassThrough } from 'node:stream';
import { systemClock, systemRandom, type Clock } from '../../../src/base/index.ts';
import type { Desktop } from '../../../src/cli/browser.ts';
import type { Context } from '../../../src/cli/context.ts';
import { runCommandLine } from '../../../src/cli/program.ts';

export interface RunOptions {
  readonly environment?: Readonly<Record<string, string>>;
  /** Stdout and stderr are a terminal. */
  readonly terminal?: boolean;
  /** Of the terminal. */
  readonly columns?: number;
  readonly clock?: Clock;
  readonly currentFolder?: string;
  readonly desktop?: Desktop;
}

/** What a command is given of this process. */
export function contextOf(
  {
    environment = {},
    terminal = false,
    columns,
    clock = systemClock,
    currentFolder = '',
    desktop,
  }: RunOptions,
  written: Readonly<Record<'stdout' | 'stderr', (text: string) => void>>,
  stopped: AbortSignal,
  typed?: PassThrough,
  unread = new AbortController().signal,
): Context {
  const stdin = typed ?? new PassThrough();
  const stream = (take: (text: string) => void) => {
    const output = new PassThrough().setEncoding('utf8').on('data', take);
    return Object.assign(output, { isTTY: terminal, columns }) as unknown as NodeJS.WriteStream;
  };
  return {
    environment,
    stdin: Object.assign(stdin, { isTTY: terminal }) as unknown as NodeJS.ReadStream,
    stdout: stream(written.stdout),
    stderr: stream(written.stderr),
    clock,
    random: systemRandom,
    currentFolder,
    pid: 1,
    command: 'fleetkeeper',
    hostname: 'here',
    user: process.getuid?.(),
    stopped,
    unread,
    takeSignals: () => () => undefined,
    ...(desktop && { desktop }),
  };
}

/** What is collected as it comes; `ended` resolves with the exit code. */
export class CommandLine {
  readonly #stop = new AbortController();
  readonly #typed = new PassThrough();
  readonly #unread = new AbortController();
  readonly #waiters = new Set<() => void>();
  readonly ended: Promise<number>;
  stdout = '';
  stderr = '';

  constructor(args: readonly string[], options: RunOptions) {
    const take = (stream: 'stdout' | 'stderr') => (text: string) => {
      this[stream] += text;
      for (const check of this.#waiters) check();
    };
    const written = { stdout: take('stdout'), stderr: take('stderr') };
    const context = contextOf(options, written, this.#stop.signal, this.#typed, this.#unread.signal);
    this.ended = runCommandLine(args, context);
  }

  /** Resolves when the text is there; rejects when the command has ended without it. */
  async shows(text: string, stream: 'stdout' | 'stderr' = 'stdout'): Promise<void> {
    let check: () => void = () => undefined;
    const shown = new Promise<void>((resolve) => {
      check = () => this[stream].includes(text) && resolve();
      this.#waiters.add(check);
      check();
    });
    const ended = this.#endedWith(text, stream);
    await Promise.race([shown, ended]);
    this.#waiters.delete(check);
  }

  async #endedWith(text: string, stream: 'stdout' | 'stderr'): Promise<void> {
    const code = await this.ended;
    if (this[stream].includes(text)) return;
    throw new Error(`ended with ${code}, without: ${text}\n${this.stderr}`);
  }

  /** On the terminal. */
  type(text: string): void {
    this.#typed.write(text);
  }

  /** All of stdin, as from a pipe. */
  pipe(text: string): this {
    this.#typed.end(text);
    return this;
  }

  /** Nobody reads stdout any more, as behind `| head`. */
  hangUp(): void {
    this.#unread.abort();
  }

  /** As SIGINT does. */
  stop(): void {
    this.#stop.abort();
  }
}

export async function run(args: readonly string[], options: RunOptions & { readonly stdin?: string } = {}) {
  const line = new CommandLine(args, options);
  if (options.stdin !== undefined) line.pipe(options.stdin);
  const code = await line.ended;
  // What was written last is delivered in the next turn.
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  return { code, stdout: line.stdout, stderr: line.stderr };
}
