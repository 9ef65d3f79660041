/**
 * One HTTP exchange over keep-alive connections, with a bound on everything. It knows nothing of the contract; it
 * only distinguishes "not one byte was sent" from "sent, and then nobody knows".
 */
import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { errors, request, type Agent, type Dispatcher } from 'undici';
import { messageOf, type Clock, type Timer } from '../base/index.ts';
import { checkedLookup, forbiddenAddress, neverConnected } from './addresses.ts';
import { IdleConnections } from './idle-connections.ts';

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Absolute address. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  /** Asked when the first byte is about to be written: to connect, or a sleep of the process, may have taken long. */
  readonly mayLeave?: (() => boolean) | undefined;
  /** Instead of that of the transport: for an answer that is known to take longer. */
  readonly totalMs?: number | undefined;
  /** A heartbeat: connections are kept for it. */
  readonly isHeartbeat?: boolean | undefined;
}

/** In UTF-8, as it came over the network; a text where there is no network. Long answers are compared by their bytes (quiet-reads.ts). */
export type Body = Uint8Array | string;

export type HttpReply =
  | {
      readonly kind: 'reply';
      readonly status: number;
      readonly retryAfter: string | undefined;
      readonly body: Body;
      /** Headers that show what an answer is that can't be read. */
      readonly contentType?: string | undefined;
      readonly contentEncoding?: string | undefined;
      readonly location?: string | undefined;
      readonly date?: string | undefined;
    }
  | { readonly kind: 'not-sent'; readonly reason: string }
  | { readonly kind: 'unknown'; readonly reason: string };

export interface Transport {
  /** Never rejects. Redirects are not followed: credentials go to the configured host only. */
  exchange(request: HttpRequest, signal?: AbortSignal): Promise<HttpReply>;
  /** Exchanges under way are finished first. */
  close(): Promise<void>;
}

export interface TransportLimits {
  readonly connections: number;
  /** Besides, for heartbeats alone. */
  readonly heartbeats: number;
  readonly connectMs: number;
  /** From the first byte sent to the last byte received. */
  readonly totalMs: number;
  readonly bodyBytes: number;
}

export const defaultTransportLimits: TransportLimits = {
  // How many an account uses is the limiter's business. Those of many accounts may be shared.
  connections: 300,
  heartbeats: 64,
  connectMs: 10_000,
  totalMs: 30_000,
  // An account of 10,000 services. All accounts share the memory of one process.
  bodyBytes: 16 * 1024 * 1024,
};

/** For several transports: how many idle connections they keep together. */
export const mostIdleConnections = 64;

export function createTransport(
  clock: Clock,
  limits: TransportLimits = defaultTransportLimits,
  idle = new IdleConnections(mostIdleConnections),
): Transport {
  const options = {
    pipelining: 1,
    connect: { timeout: limits.connectMs, lookup: checkedLookup(neverConnected, refusal) },
    maxResponseSize: limits.bodyBytes,
  };
  const ordinary = idle.agent({ ...options, connections: limits.connections });
  const heartbeats = idle.agent({ ...options, connections: limits.heartbeats });
  /** Why a connection (or its encryption) did not come about: no request can have left on it. */
  const connectErrors = new WeakSet<Error>();
  for (const agent of [ordinary, heartbeats]) {
    agent.on('connectionError', (_origin, _targets, error) => connectErrors.add(error));
  }
  const attempt = async (
    exchange: HttpRequest,
    begin: () => void,
    signal: AbortSignal,
  ): Promise<HttpReply> => {
    const { totalMs = limits.totalMs } = exchange;
    try {
      const response = await request(exchange.url, {
        headersTimeout: totalMs,
        bodyTimeout: totalMs,
        method: exchange.method,
        headers: exchange.headers,
        body: exchange.body ?? null,
        dispatcher: gated(exchange.isHeartbeat ? heartbeats : ordinary, begin),
        signal,
      });
      const header = (name: string) => [response.headers[name]].flat()[0];
      return {
        kind: 'reply',
        status: response.statusCode,
        retryAfter: header('retry-after'),
        contentType: header('content-type'),
        contentEncoding: header('content-encoding'),
        location: header('location'),
        date: header('date'),
        body: await bytesOf(response.body, Number(response.headers['content-length'])),
      };
    } catch (error) {
      const unsent =
        error instanceof HeldBack ||
        error instanceof errors.InvalidArgumentError ||
        error instanceof errors.ClientClosedError ||
        connectErrors.has(error as Error);
      return { kind: unsent ? 'not-sent' : 'unknown', reason: reasonOf(error) };
    }
  };
  return {
    async exchange(exchange, signal) {
      const address = forbiddenAddress(exchange.url, neverConnected);
      if (address !== undefined) return { kind: 'not-sent', reason: refusal(address) };
      const bounds = new Bounds(clock, exchange.totalMs ?? limits.totalMs, signal);
      const begin = () => bounds.begin(exchange.mayLeave);
      try {
        return await Promise.race([bounds.ended, attempt(exchange, begin, bounds.signal)]);
      } finally {
        bounds.release();
      }
    },
    close: async () => {
      await Promise.all([ordinary.close(), heartbeats.close()]);
    },
  };
}

/** Ends one exchange in time, or when it is given up. undici would end a request that waits for a connection only when it has one. */
class Bounds {
  readonly #over = new AbortController();
  readonly #ended = Promise.withResolvers<HttpReply>();
  readonly #timer: Timer;
  readonly #given: AbortSignal | undefined;
  #hasBegun = false;

  constructor(clock: Clock, totalMs: number, given: AbortSignal | undefined) {
    this.#given = given;
    const within = `within ${totalMs / 1000} s`;
    this.#timer = clock.after(totalMs, () =>
      this.#end(`there was no connection ${within}`, `no complete answer ${within}`),
    );
    if (given?.aborted) this.#giveUp();
    given?.addEventListener('abort', this.#giveUp, { once: true });
  }

  get ended(): Promise<HttpReply> {
    return this.#ended.promise;
  }

  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /** Called when its first byte is about to be written. Throws if it must not be. */
  begin(mayLeave: HttpRequest['mayLeave']): void {
    if (this.#over.signal.aborted || mayLeave?.() === false) throw new HeldBack();
    this.#hasBegun = true;
  }

  release(): void {
    this.#timer.cancel();
    this.#given?.removeEventListener('abort', this.#giveUp);
  }

  readonly #giveUp = (): void => {
    this.#end('it was given up before there was a connection', reasonOf(this.#given?.reason));
  };

  #end(ifUnsent: string, ifSent: string): void {
    this.#over.abort();
    this.#ended.resolve(
      this.#hasBegun ? { kind: 'unknown', reason: ifSent } : { kind: 'not-sent', reason: ifUnsent },
    );
  }
}

const utf8 = new TextDecoder();

/** Without a byte order mark; bytes that are no UTF-8 are replaced. */
export function textOf(body: Body): string {
  return typeof body === 'string' ? body : utf8.decode(body);
}

class HeldBack extends Error {
  constructor() {
    super('it was no longer wanted when its turn came');
  }
}

/** undici calls `onRequestStart` in the turn of the event loop in which it writes the head of the request. */
function gated(agent: Agent, begin: () => void): Dispatcher {
  return agent.compose(
    (dispatch) => (options, handler) =>
      dispatch(options, {
        onRequestStart(controller, context) {
          begin();
          handler.onRequestStart?.(controller, context);
        },
        onResponseStart: (...given) => handler.onResponseStart?.(...given),
        onResponseData: (...given) => handler.onResponseData?.(...given),
        onResponseEnd: (...given) => handler.onResponseEnd?.(...given),
        onResponseError: (...given) => handler.onResponseError?.(...given),
      }),
  );
}

function refusal(address: string): string {
  return `the API's address leads to ${address}, which is never connected to: it is no place for a control API`;
}

/** What to check, by the code of the failure. */
const advice: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there; check the address, and that the API runs',
  ENOTFOUND: 'there is no such host; check the address',
  EAI_AGAIN: 'the name could not be looked up; check the address and the name service',
  ERR_SSL_WRONG_VERSION_NUMBER: 'there is no TLS there; is it an address with http://?',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'NODE_EXTRA_CA_CERTS names a file of authorities to trust',
  SELF_SIGNED_CERT_IN_CHAIN: 'NODE_EXTRA_CA_CERTS names a file of authorities to trust',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'NODE_EXTRA_CA_CERTS names a file of authorities to trust',
};

function reasonOf(error: unknown): string {
  const cause = rootCause(error);
  // That of an aborted exchange is a number.
  const { code: shown } = cause as { readonly code?: unknown };
  const code = typeof shown === 'string' ? shown : '';
  const said = sentenceOf(cause, code);
  const named = said.includes(code) ? said : `${said} (${code})`;
  return code in advice ? `${named}: ${advice[code]}` : named;
}

/** Of OpenSSL the reason alone: around it are an address in memory, and a line of its sources. */
function sentenceOf(cause: unknown, code: string): string {
  const { reason } = cause as { readonly reason?: unknown };
  return code.startsWith('ERR_SSL_') && typeof reason === 'string' ? `TLS: ${reason}` : messageOf(cause);
}

/** Several addresses of one host that all failed come as an AggregateError; its first one speaks for all. */
function rootCause(error: unknown): unknown {
  if (error instanceof AggregateError && error.errors.length > 0) return rootCause(error.errors[0]);
  if (error instanceof Error && error.cause instanceof Error) return rootCause(error.cause);
  return error;
}

/** An answer may announce more than it brings. */
const firstBytes = 64 * 1024;
const longestAnnounced = 1024 * 1024;

/**
 * Each part is copied when it comes, and is garbage then: kept, one of a single byte would keep the 64 KB in which it was received. `announced`:
 * the length of the whole, if it is known.
 */
async function bytesOf(body: Readable, announced: number): Promise<Uint8Array> {
  let bytes = new Uint8Array(announced > 0 && announced <= longestAnnounced ? announced : firstBytes);
  let end = 0;
  body.on('data', (part: Uint8Array) => {
    if (end + part.length > bytes.length) bytes = moved(bytes, Math.max(2 * bytes.length, end + part.length));
    bytes.set(part, end);
    end += part.length;
  });
  await finished(body);
  return end === bytes.length ? bytes : moved(bytes, end);
}

/** Its memory is moved, or given back at once. */
function moved({ buffer }: Uint8Array, length: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array((buffer as ArrayBuffer).transfer(length));
}

/**
 * Gives the memory of an answer back at once: nothing of it is used any more. As garbage it would wait until V8 collects all of its heap, and be
 * the reason that V8 does, with each second poll of a large fleet.
 */
export function release(body: Body): void {
  // What is a part of something else is not given away.
  if (typeof body !== 'string' && body.byteLength === body.buffer.byteLength) moved(body, 0);
}
