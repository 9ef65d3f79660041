/**
 * One HTTP exchange over keep-alive connections, with a bound on everything. It knows nothing of the
 * contract; it only tells "not one byte was sent" from "sent, and then nobody knows".
 */
import { Agent, errors, request } from 'undici';
import { messageOf, type Clock } from '../base/index.ts';

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Absolute address. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

export type HttpReply =
  | {
      readonly kind: 'reply';
      readonly status: number;
      readonly retryAfter: string | undefined;
      readonly body: string;
    }
  | { readonly kind: 'not-sent'; readonly reason: string }
  | { readonly kind: 'unknown'; readonly reason: string };

export interface Transport {
  /** Never rejects. Redirects are not followed: credentials go to the configured host only. */
  exchange(request: HttpRequest, signal?: AbortSignal): Promise<HttpReply>;
  close(): Promise<void>;
}

export interface TransportLimits {
  readonly connections: number;
  readonly connectMs: number;
  /** From the first byte sent to the last byte received. */
  readonly totalMs: number;
  readonly bodyBytes: number;
}

export const defaultTransportLimits: TransportLimits = {
  connections: 8,
  connectMs: 10_000,
  totalMs: 30_000,
  bodyBytes: 64 * 1024 * 1024,
};

/** Failures that happen before a request can have left this machine. */
const notSentCodes = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'UND_ERR_CONNECT_TIMEOUT',
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'ERR_TLS_CERT_ALTNAME_INVALID',
]);

export function createTransport(clock: Clock, limits: TransportLimits = defaultTransportLimits): Transport {
  const agent = new Agent({
    connections: limits.connections,
    pipelining: 1,
    connect: { timeout: limits.connectMs },
    headersTimeout: limits.totalMs,
    bodyTimeout: limits.totalMs,
    maxResponseSize: limits.bodyBytes,
  });
  return {
    async exchange(exchange, signal) {
      const deadline = new AbortController();
      const timer = clock.after(limits.totalMs, () => deadline.abort());
      try {
        const response = await request(exchange.url, {
          method: exchange.method,
          headers: exchange.headers,
          body: exchange.body ?? null,
          dispatcher: agent,
          signal: signal ? AbortSignal.any([signal, deadline.signal]) : deadline.signal,
        });
        const retryAfter = response.headers['retry-after'];
        return {
          kind: 'reply',
          status: response.statusCode,
          retryAfter: Array.isArray(retryAfter) ? retryAfter[0] : retryAfter,
          body: await response.body.text(),
        };
      } catch (error) {
        if (deadline.signal.aborted) {
          return { kind: 'unknown', reason: `no complete answer within ${limits.totalMs / 1000} s` };
        }
        return classify(error);
      } finally {
        timer.cancel();
      }
    },
    close: () => agent.destroy(),
  };
}

function classify(error: unknown): HttpReply {
  const cause = rootCause(error);
  const code = (cause as NodeJS.ErrnoException).code ?? '';
  const reason =
    code && !messageOf(cause).includes(code) ? `${messageOf(cause)} (${code})` : messageOf(cause);
  const connecting = cause instanceof errors.ConnectTimeoutError || notSentCodes.has(code);
  return { kind: connecting ? 'not-sent' : 'unknown', reason };
}

/** Several addresses of one host that all failed come as an AggregateError; its first one speaks for all. */
function rootCause(error: unknown): unknown {
  if (error instanceof AggregateError && error.errors.length > 0) return rootCause(error.errors[0]);
  if (error instanceof Error && error.cause instanceof Error) return rootCause(error.cause);
  return error;
}
