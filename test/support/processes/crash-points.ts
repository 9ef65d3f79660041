/**
 * Kills a process with -9 at named moments of its work, and starts it again. The moments are requests of its own, to the provider or to
 * the API server: a gate before the server sees each of them arrive.
 *
 *     request ─> gate ─┬─ no crash point ──────────────────────> server ─> answer ─> process
 *                      ├─ 'before': killed, and what it sent is lost
 *                      └─ 'after' ─────────────────────────────> server ─> killed: the answer reaches nobody
 *
 * Each point is met once. Of what is written down before a request, everything is on the disk by then; of what follows it, nothing.
 */
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import type { Program } from './processes.ts';

export interface CrashPoint {
  /** Its number in docs/internals/fault-matrix.md, and what the request is. */
  readonly name: string;
  readonly method: string;
  readonly path: RegExp;
  readonly body?: RegExp;
}

export type Moment = 'before' | 'after';

export class Crashes {
  /** Names of the points that were met, in this order. */
  readonly met: string[] = [];
  readonly #moment: Moment;
  readonly #left: CrashPoint[];
  readonly #start: () => Program;
  readonly #cuts: (() => void)[] = [];
  #program: Program;
  #isKilling = false;

  /** `start` starts the process, the first time at once. */
  constructor(points: readonly CrashPoint[], moment: Moment, start: () => Program) {
    this.#left = [...points];
    this.#moment = moment;
    this.#start = start;
    this.#program = start();
  }

  /** Names of the points that are still to be met. */
  get left(): string[] {
    return this.#left.map(({ name }) => name);
  }

  get program(): Program {
    return this.#program;
  }

  take(method: string, path: string, body: string): Moment | undefined {
    if (this.#isKilling) return undefined;
    const index = this.#left.findIndex(
      (point) => point.method === method && point.path.test(path) && (point.body?.test(body) ?? true),
    );
    const [point] = index < 0 ? [] : this.#left.splice(index, 1);
    if (!point) return undefined;
    this.#isKilling = true;
    this.met.push(point.name);
    return this.#moment;
  }

  async kill(): Promise<void> {
    await this.#program.kill('SIGKILL');
    // What it sent and nobody has read is lost with it.
    for (const cut of this.#cuts) cut();
    this.#isKilling = false;
    this.#program = this.#start();
  }

  onKill(cut: () => void): void {
    this.#cuts.push(cut);
  }
}

/** Stands before a server, until the test ends. Without `crashes` it lets everything through. */
export class Gate {
  readonly #target: string;
  url = '';
  #crashes: Crashes | undefined;
  readonly #server = createServer((incoming, outgoing) => {
    this.#pass(incoming, outgoing).catch(() => outgoing.destroy());
  });

  constructor(target: string) {
    this.#target = target;
  }

  async start(): Promise<this> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    onTestFinished(() => {
      this.#server.closeAllConnections();
      this.#server.close();
    });
    return this;
  }

  /** Writes one beside `original`, for this gate; returns its path. */
  async kubeconfig(original: string): Promise<string> {
    const file = `${original}-gate`;
    const text = await readFile(original, 'utf8');
    await writeFile(file, text.replace(this.#target, this.url), { mode: 0o600 });
    return file;
  }

  guard(crashes: Crashes): void {
    this.#crashes = crashes;
    crashes.onKill(() => this.#server.closeAllConnections());
  }

  async #pass(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const body = await buffer(incoming);
    const { method = 'GET', url = '/' } = incoming;
    const moment = this.#crashes?.take(method, url, body.toString());
    if (moment === 'before') {
      await this.#crashes?.kill();
      return;
    }
    const answer = await this.#forward(incoming, outgoing, body);
    if (moment === 'after') {
      await buffer(answer);
      await this.#crashes?.kill();
      return;
    }
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    outgoing.flushHeaders();
    answer.pipe(outgoing).on('close', () => answer.destroy());
    answer.on('error', () => outgoing.destroy());
  }

  async #forward({ method, url, headers }: IncomingMessage, outgoing: ServerResponse, body: Buffer) {
    const upstream = request(`${this.#target}${url}`, { method, headers });
    outgoing.on('close', () => upstream.destroy());
    upstream.end(body);
    const [answer] = (await once(upstream, 'response')) as [IncomingMessage];
    upstream.on('error', () => outgoing.destroy());
    return answer;
  }
}
