/** The processes of a benchmark, so that none takes the other's time: for B10 the server and the load. */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import type { Load, LoadResult, ServerSettings, Usage } from './world.ts';

/**
 * How the server is run. Node's compile cache stands for the compiled code of the image: without it, the code that
 * strips types stays in memory (about 20 MB). The others keep what V8 and the allocator hold in reserve small.
 */
export const serverNodeFlags = ['--max-semi-space-size=2'];
export const serverEnvironment = { MALLOC_TRIM_THRESHOLD_: '131072', MALLOC_MMAP_THRESHOLD_: '32768' };

export class ServerProcess {
  readonly #child: ChildProcess;
  readonly url: string;

  static async start(settings: ServerSettings, cacheDirectory: string): Promise<ServerProcess> {
    const child = fork(path.join(import.meta.dirname, 'server.ts'), [JSON.stringify(settings)], {
      execArgv: serverNodeFlags,
      env: { ...process.env, ...serverEnvironment, NODE_COMPILE_CACHE: cacheDirectory },
    });
    return new ServerProcess(child, (await answerOf(child)) as string);
  }

  private constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.url = url;
  }

  usage(): Promise<Usage> {
    return this.#ask('usage');
  }

  /** After all garbage has been collected. */
  alive(): Promise<Usage> {
    return this.#ask('alive');
  }

  async #ask(wanted: 'usage' | 'alive'): Promise<Usage> {
    this.#child.send(wanted);
    return (await answerOf(this.#child)) as Usage;
  }

  kill(): Promise<void> {
    return end(this.#child);
  }
}

export class LoadProcess {
  readonly #child = fork(path.join(import.meta.dirname, 'load.ts'));

  async run(load: Load): Promise<LoadResult> {
    this.#child.send(load);
    return (await answerOf(this.#child)) as LoadResult;
  }

  end(): void {
    this.#child.kill();
  }
}

/** The next message of the process. */
export async function answerOf(child: ChildProcess): Promise<unknown> {
  const waiting = new AbortController();
  const { signal } = waiting;
  const ended = once(child, 'exit', { signal }).then(() => {
    throw new Error('a process of the benchmark ended before it answered');
  });
  try {
    const [message] = (await Promise.race([once(child, 'message', { signal }), ended])) as unknown[];
    return message;
  } finally {
    ended.catch(() => undefined);
    waiting.abort();
  }
}

/** With `kill -9`. */
export async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}
