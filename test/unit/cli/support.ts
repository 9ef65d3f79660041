/** The command line in this process, against a real server. */
import { PassThrough } from 'node:stream';
import { systemClock, systemRandom, type Clock } from '../../../src/base/index.ts';
import { runCommandLine } from '../../../src/cli/program.ts';

export interface RunOptions {
  readonly environment?: Readonly<Record<string, string>>;
  /** Stdout and stderr are a terminal. */
  readonly terminal?: boolean;
  readonly clock?: Clock;
}

/** What is collected as it comes; `ended` resolves with the exit code. */
export class CommandLine {
  readonly #stop = new AbortController();
  readonly ended: Promise<number>;
  stdout = '';
  stderr = '';

  constructor(
    args: readonly string[],
    { environment = {}, terminal = false, clock = systemClock }: RunOptions,
  ) {
    const stream = (take: (text: string) => void) => {
      const output = new PassThrough().setEncoding('utf8').on('data', take);
      return Object.assign(output, { isTTY: terminal }) as unknown as NodeJS.WriteStream;
    };
    this.ended = runCommandLine(args, {
      environment,
      stdin: Object.assign(new PassThrough(), { isTTY: terminal }) as unknown as NodeJS.ReadStream,
      stdout: stream((text) => (this.stdout += text)),
      stderr: stream((text) => (this.stderr += text)),
      clock,
      random: systemRandom,
      pid: 1,
      hostname: 'here',
      stopped: this.#stop.signal,
      takeSignals: () => () => undefined,
    });
  }

  /** As SIGINT does. */
  stop(): void {
    this.#stop.abort();
  }
}

export async function run(args: readonly string[], options: RunOptions = {}) {
  const line = new CommandLine(args, options);
  const code = await line.ended;
  // What was written last is delivered in the next turn.
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  return { code, stdout: line.stdout, stderr: line.stderr };
}
