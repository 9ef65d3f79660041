/**
 * HTTP to one API server over keep-alive connections, with a bound on everything. A watch has a connection to itself, so that
 * it does not block requests. Credentials are asked for before each request; new certificates get new connections, while what is
 * under way ends on the old ones. Redirects are not followed: credentials go to the configured host only.
 */
import { isDeepStrictEqual } from 'node:util';
import { Agent, ProxyAgent, request, WebSocket, type Dispatcher } from 'undici';
import type { Clock } from '../base/index.ts';
import type { Metrics } from '../telemetry/index.ts';
import type { ClusterAccess, TlsOptions } from './access.ts';
import { KubernetesError } from './errors.ts';
import { brokenOff, refusal, type Attempt } from './failures.ts';
import { LineBuffer } from './line-buffer.ts';

export interface Limits {
  readonly connections: number;
  readonly connectMs: number;
  /** Of a request, from asking for credentials to the last byte; of a watch, to the head of its answer. */
  readonly totalMs: number;
  readonly bodyBytes: number;
  /** An object can't be larger than etcd's 1.5 MB, but for what JSON adds to it. */
  readonly lineBytes: number;
}

export const defaultLimits: Limits = {
  connections: 256,
  connectMs: 10_000,
  totalMs: 30_000,
  bodyBytes: 64 * 1024 * 1024,
  lineBytes: 16 * 1024 * 1024,
};

export interface ConnectionOptions {
  readonly access: ClusterAccess;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly limits: Limits;
  /** The way to the server, where it is not the network. */
  readonly dispatcher?: Dispatcher | undefined;
}

export interface Question extends Attempt {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With its query. */
  readonly path: string;
  readonly accept: string;
  readonly body?: { readonly type: string; readonly text: string };
}

/** Less than the 60 s after which balancers drop idle connections. */
const idleMs = 30_000;

export class Connection {
  readonly #options: ConnectionOptions;
  #dispatcher: { readonly tls: TlsOptions; readonly agent: Dispatcher } | undefined;

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  /** The text of a successful answer; rejects with a `KubernetesError` otherwise. */
  async exchange(question: Question, signal?: AbortSignal): Promise<string> {
    const { totalMs, bodyBytes } = this.#options.limits;
    const deadline = new Deadline(this.#options.clock, totalMs, signal);
    try {
      const response = await this.#ask(question, deadline.signal);
      return await readWhole(response.body, bodyBytes);
    } catch (error) {
      throw this.#failure(
        question,
        error,
        deadline.passed ? `no complete answer within ${totalMs / 1000} s` : undefined,
      );
    } finally {
      deadline.end();
    }
  }

  /**
   * The lines of an answer without an end. It ends when the server ends it or `signal` is aborted, and throws a `KubernetesError`
   * when it breaks, or when `silenceMs` pass without a byte.
   */
  async *lines(question: Question, silenceMs: number, signal: AbortSignal): AsyncGenerator<string> {
    const { clock, limits } = this.#options;
    const silence = new Silence(clock, silenceMs);
    const buffer = new LineBuffer(limits.lineBytes);
    try {
      const response = await this.#ask(question, AbortSignal.any([signal, silence.signal]));
      silence.heard();
      for await (const chunk of response.body) {
        silence.heard();
        yield* buffer.push(chunk as Buffer);
      }
      if (buffer.pendingBytes > 0) throw new Error('the answer broke off within a line');
    } catch (error) {
      if (signal.aborted) return;
      throw this.#failure(
        question,
        error,
        silence.fell ? `nothing came for ${silenceMs / 1000} s` : undefined,
      );
    } finally {
      silence.end();
    }
  }

  /** The bytes of an answer without an end, as they come. Ends as `lines` does, however long nothing comes. */
  async *bytes(question: Question, signal: AbortSignal): AsyncGenerator<Buffer> {
    try {
      const response = await this.#ask(question, signal);
      for await (const chunk of response.body) yield chunk as Buffer;
    } catch (error) {
      if (signal.aborted) return;
      throw this.#failure(question, error, undefined);
    }
  }

  /** Not connected yet. It has credentials of its own, as each request has. */
  async socket(path: string, protocol: string): Promise<WebSocket> {
    const { access, dispatcher } = this.#options;
    const { headers, tls } = await access.credentials();
    return new WebSocket(`${access.server.replace(/^http/, 'ws')}${path}`, {
      protocols: protocol,
      headers: { ...headers.reveal(), 'user-agent': 'fleetkeeper' },
      dispatcher: dispatcher ?? this.#agentFor(tls.reveal()),
    });
  }

  /** What is under way is given up. */
  async close(): Promise<void> {
    await (this.#options.dispatcher ?? this.#dispatcher?.agent)?.destroy();
  }

  /** Sends the question; rejects with a `KubernetesError` for an answer that is no success. */
  async #ask(question: Question, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const { access, clock, limits, metrics } = this.#options;
    let code = '<error>';
    try {
      const { headers, tls } = await unlessAborted(access.credentials(), signal);
      const response = await request(`${access.server}${question.path}`, {
        method: question.method,
        headers: {
          ...headers.reveal(),
          accept: question.accept,
          'user-agent': 'fleetkeeper',
          ...(question.body && { 'content-type': question.body.type }),
        },
        body: question.body?.text ?? null,
        dispatcher: this.#options.dispatcher ?? this.#agentFor(tls.reveal()),
        signal,
      });
      code = String(response.statusCode);
      if (response.statusCode >= 200 && response.statusCode < 300) return response;
      if (response.statusCode === 401) access.refused();
      const retryAfter = [response.headers['retry-after']].flat()[0];
      const body = await readWhole(response.body, limits.bodyBytes);
      throw refusal(question, { status: response.statusCode, body, retryAfter }, clock.wallMs());
    } finally {
      metrics.kubernetesRequests.inc({ method: question.method, code });
    }
  }

  #agentFor(tls: TlsOptions): Dispatcher {
    if (this.#dispatcher && isDeepStrictEqual(this.#dispatcher.tls, tls)) return this.#dispatcher.agent;
    // Resolves when the watches on it have ended, which may be long after.
    void this.#dispatcher?.agent.close();
    const agent = this.#createAgent(tls);
    this.#dispatcher = { tls, agent };
    return agent;
  }

  #createAgent(tls: TlsOptions): Dispatcher {
    const { access, limits } = this.#options;
    const common = {
      connections: limits.connections,
      pipelining: 1,
      allowH2: false,
      keepAliveTimeout: idleMs,
      // `Deadline` and `Silence` see to both.
      headersTimeout: 0,
      bodyTimeout: 0,
    };
    return access.proxy === undefined
      ? new Agent({ ...common, connect: { ...tls, timeout: limits.connectMs } })
      : new ProxyAgent({ ...common, uri: access.proxy, requestTls: { ...tls, timeout: limits.connectMs } });
  }

  #failure(attempt: Attempt, error: unknown, because: string | undefined): KubernetesError {
    if (error instanceof KubernetesError) return error;
    return brokenOff(attempt, this.#options.access.server, error, because);
  }
}

/** Aborts once, `ms` from now, or when `outer` does. */
class Deadline {
  readonly signal: AbortSignal;
  readonly #own = new AbortController();
  readonly #timer: { cancel(): void };

  constructor(clock: Clock, ms: number, outer: AbortSignal | undefined) {
    this.signal = outer ? AbortSignal.any([outer, this.#own.signal]) : this.#own.signal;
    this.#timer = clock.after(ms, () => this.#own.abort());
  }

  get passed(): boolean {
    return this.#own.signal.aborted;
  }

  end(): void {
    this.#timer.cancel();
  }
}

/** Aborts when nothing was heard for `ms`. One timer at a time, however much is heard. */
class Silence {
  readonly #own = new AbortController();
  readonly #clock: Clock;
  readonly #ms: number;
  #heardAtMs: number;
  #timer: { cancel(): void };

  constructor(clock: Clock, ms: number) {
    this.#clock = clock;
    this.#ms = ms;
    this.#heardAtMs = clock.monotonicMs();
    this.#timer = clock.after(ms, () => this.#checkSilence());
  }

  get signal(): AbortSignal {
    return this.#own.signal;
  }

  get fell(): boolean {
    return this.#own.signal.aborted;
  }

  heard(): void {
    this.#heardAtMs = this.#clock.monotonicMs();
  }

  end(): void {
    this.#timer.cancel();
  }

  #checkSilence(): void {
    const leftMs = this.#heardAtMs + this.#ms - this.#clock.monotonicMs();
    if (leftMs <= 0) this.#own.abort();
    else this.#timer = this.#clock.after(leftMs, () => this.#checkSilence());
  }
}

async function readWhole(body: Dispatcher.ResponseData['body'], longestBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += (chunk as Buffer).length;
    if (bytes > longestBytes) throw new RangeError(`the answer is longer than ${longestBytes} bytes`);
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks, bytes).toString('utf8');
}

async function unlessAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason as Error);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
