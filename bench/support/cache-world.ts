/** An API with many objects and a cache of it, each a process of its own. */
import { fork, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Question, Stream, Synced, Watched } from './cache-protocol.ts';
import { operatorFlags } from './operator-flags.ts';
import { answerOf, end } from './processes.ts';
import { peakBytesOf } from './program.ts';

/** Of the same API. */
export interface CacheKind {
  readonly name: string;
  /** Relative to this folder. */
  readonly file: string;
  readonly nodeFlags: readonly string[];
}

export const cacheKinds = {
  ours: { name: 'reflector', file: 'reflector-cache.ts', nodeFlags: operatorFlags },
  oursSmall: {
    name: 'reflector, small young generation',
    file: 'reflector-cache.ts',
    nodeFlags: ['--max-old-space-size=384', '--max-semi-space-size=4'],
  },
  oursByDefault: { name: 'reflector, Node as it is', file: 'reflector-cache.ts', nodeFlags: [] },
  bare: { name: 'pages and parsing alone', file: '../peers/bare-parse.ts', nodeFlags: operatorFlags },
  stock: { name: 'stock informer', file: '../peers/stock-informer.ts', nodeFlags: [] },
} as const satisfies Readonly<Record<string, CacheKind>>;

export class ObjectServer {
  readonly #child: ChildProcess;
  readonly url: string;
  readonly #compiled: string;

  static async start(objects: number): Promise<ObjectServer> {
    const child = fork(path.join(import.meta.dirname, 'object-server.ts'), [String(objects)]);
    const url = (await answerOf(child)) as string;
    return new ObjectServer(child, url, await mkdtemp(path.join(tmpdir(), 'fleetkeeper-compiled-')));
  }

  private constructor(child: ChildProcess, url: string, compiled: string) {
    this.#child = child;
    this.url = url;
    this.#compiled = compiled;
  }

  async write(stream: Stream): Promise<void> {
    this.#child.send(stream);
    await answerOf(this.#child);
  }

  /** Compiled code is kept between caches, as the image has it: without it, what strips types stays in memory. */
  startCache(kind: CacheKind): Promise<CacheProcess> {
    return CacheProcess.start(kind, this.url, this.#compiled);
  }

  async end(): Promise<void> {
    await end(this.#child);
    await rm(this.#compiled, { recursive: true });
  }
}

export class CacheProcess {
  readonly #child: ChildProcess;

  static async start({ file, nodeFlags }: CacheKind, url: string, compiled: string): Promise<CacheProcess> {
    const child = fork(path.join(import.meta.dirname, file), [url], {
      execArgv: [...nodeFlags],
      env: { ...process.env, NODE_COMPILE_CACHE: compiled },
    });
    await answerOf(child);
    return new CacheProcess(child);
  }

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  async sync(): Promise<Synced> {
    return (await this.#ask({ ask: 'sync' })) as Synced;
  }

  /** Resolves when so many events, which `write` causes, have been handled. */
  async watch(events: number, write: () => Promise<void>): Promise<Watched> {
    await this.#ask({ ask: 'watch', events });
    const [watched] = await Promise.all([answerOf(this.#child), write()]);
    return watched as Watched;
  }

  /** The most memory that it ever had. */
  peakBytes(): Promise<number> {
    return peakBytesOf(this.#child);
  }

  end(): Promise<void> {
    return end(this.#child);
  }

  #ask(question: Question): Promise<unknown> {
    this.#child.send(question);
    return answerOf(this.#child);
  }
}
