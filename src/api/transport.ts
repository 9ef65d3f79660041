/**
 * One HTTP exchange over keep-alive connections, with a bound on everything. It knows nothing of the contract; it
 * only distinguishes "not one byte was sent" from "sent, and then nobody knows".
 */
import { errors, request, type Agent, type Dispatcher } from 'undici';
import { messageOf, type Clock } from '../base/index.ts';
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
  return {
    async exchange(exchange, signal) {
      const address = forbiddenAddress(exchange.url, neverConnected);
      if (address !== undefined) return { kind: 'not-sent', reason: refusal(address) };
      const { totalMs = limits.totalMs, mayLeave } = exchange;
      const agent = exchange.isHeartbeat ? heartbeats : ordinary;
      let hasBegun = false;
      const begin = () => {
        if (mayLeave?.() === false) throw new HeldBack();
        hasBegun = true;
      };
      const deadline = new AbortController();
      const timer = clock.after(totalMs, () => deadline.abort());
      try {
        const response = await request(exchange.url, {
          headersTimeout: totalMs,
          bodyTimeout: totalMs,
          method: exchange.method,
          headers: exchange.headers,
          body: exchange.body ?? null,
          dispatcher: gated(agent, begin),
          signal: signal ? AbortSignal.any([signal, deadline.signal]) : deadline.signal,
        });
        const retryAfter = response.headers['retry-after'];
        return {
          kind: 'reply',
          status: response.statusCode,
          retryAfter: Array.isArray(retryAfter) ? retryAfter[0] : retryAfter,
          body: await response.body.bytes(),
        };
      } catch (error) {
        if (deadline.signal.aborted && !hasBegun) {
          return { kind: 'not-sent', reason: `no connection was free within ${totalMs / 1000} s` };
        }
        if (deadline.signal.aborted) {
          return { kind: 'unknown', reason: `no complete answer within ${totalMs / 1000} s` };
        }
        const unsent =
          error instanceof HeldBack ||
          error instanceof errors.InvalidArgumentError ||
          error instanceof errors.ClientClosedError ||
          connectErrors.has(error as Error);
        return { kind: unsent ? 'not-sent' : 'unknown', reason: reasonOf(error) };
      } finally {
        timer.cancel();
      }
    },
    close: async () => {
      await Promise.all([ordinary.close(), heartbeats.close()]);
    },
  };
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
