/**
 * One exchange with the Docker Engine API at a time: over its socket or plain TCP, each on a connection of its own.
 * No connection is kept: an engine that restarts can't break the next request, and hijacked streams end with theirs.
 */
import type { Readable } from 'node:stream';
import { Agent, type Dispatcher } from 'undici';
import { messageOf } from '../../../../base/user-error.ts';
import type { PullCredentials } from '../../../domain/runtime.ts';
import { jsonLines } from './frames.ts';

type FailureKind = 'unreachable' | 'failed' | 'refused';

export class EngineError extends Error {
  override readonly name = 'EngineError';
  readonly kind: FailureKind;
  /** 0 when there was no answer. */
  readonly status: number;

  constructor(kind: FailureKind, message: string, status = 0) {
    super(message);
    this.kind = kind;
    this.status = status;
  }

  /** The same failure with another message. */
  saying(message: string): EngineError {
    return new EngineError(this.kind, message, this.status);
  }
}

/** Where the engine listens. */
export type EngineAddress =
  | { readonly socketPath: string }
  | { readonly host: string; readonly port: number };

export interface EngineRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Of the path; each is escaped. */
  readonly path: readonly string[];
  /** Objects are sent as JSON. */
  readonly query?: Readonly<Record<string, string | number | boolean | object>>;
  readonly body?: object;
  readonly credentials?: (PullCredentials & { readonly serveraddress: string }) | undefined;
  /** Statuses that are no failure, beside 2xx. */
  readonly accept?: readonly number[];
  readonly signal?: AbortSignal;
}

/** The longest that the engine may be silent while it answers; a stop takes its grace period. */
const silenceMs = 60_000;
const connectMs = 10_000;
/** A list of 10,000 containers has about 20 MiB. */
const longestAnswer = 128 * 1024 * 1024;
/** Of an answer that is only shown. */
const longestMessage = 64 * 1024;
const isInTheWay = 409;

export class EngineConnection {
  readonly #origin: string;
  /** For what is answered soon and whole. */
  readonly #bounded: Agent;
  /** For streams, which may be silent for long, and endless. */
  readonly #streaming: Agent;

  constructor(address: EngineAddress) {
    const isRemote = 'host' in address;
    const host = isRemote && address.host.includes(':') ? `[${address.host}]` : isRemote && address.host;
    this.#origin = isRemote ? `http://${host}:${address.port}` : 'http://engine';
    const connect = { timeout: connectMs, ...(!isRemote && { socketPath: address.socketPath }) };
    // Without pipelining, no connection is used twice.
    const options = { connect, pipelining: 0 };
    const silence = { headersTimeout: silenceMs, bodyTimeout: silenceMs };
    this.#bounded = new Agent({ ...options, ...silence, maxResponseSize: longestAnswer });
    this.#streaming = new Agent({ ...options, headersTimeout: 0, bodyTimeout: 0 });
  }

  /**
   * The answer as JSON, undefined when it has no content or has one of the accepted statuses. Throws an `EngineError`:
   * `unreachable` without an answer that can be read, `failed` for 5xx and 409, `refused` for another 4xx.
   */
  async json<Answer>(asked: EngineRequest): Promise<Answer | undefined> {
    try {
      const { statusCode, body } = await this.#request(asked, this.#bounded);
      const text = await body.text();
      if (asked.accept?.includes(statusCode)) return undefined;
      return text.trim() === '' ? undefined : (JSON.parse(text) as Answer);
    } catch (error) {
      throw unreachable(error);
    }
  }

  /** The bytes of the answer, which may be silent for long. Throws as `json`; a stream that breaks off has an error. */
  async stream(asked: EngineRequest): Promise<Readable> {
    try {
      return (await this.#request(asked, this.#streaming)).body;
    } catch (error) {
      throw unreachable(error);
    }
  }

  /** The JSON documents of a stream. When it breaks off, the engine is `unreachable`. */
  async *lines<Line>(stream: Readable): AsyncGenerator<Line> {
    try {
      for await (const line of jsonLines(stream)) yield line as Line;
    } catch (error) {
      throw unreachable(error);
    }
  }

  async #request(asked: EngineRequest, dispatcher: Agent): Promise<Dispatcher.ResponseData> {
    const { method, path, query = {}, body, credentials, accept = [], signal } = asked;
    const parameters = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) {
      parameters.set(name, typeof value === 'object' ? JSON.stringify(value) : String(value));
    }
    const search = parameters.toString();
    const response = await dispatcher.request({
      origin: this.#origin,
      path: `/${path.map(encodeURIComponent).join('/')}${search && `?${search}`}`,
      method,
      headers: {
        ...(body && { 'content-type': 'application/json' }),
        ...(credentials && { 'x-registry-auth': registryAuth(credentials) }),
      },
      body: body ? JSON.stringify(body) : null,
      ...(signal && { signal }),
    });
    const { statusCode } = response;
    if (statusCode < 300 || accept.includes(statusCode)) return response;
    const isRefused = statusCode < 500 && statusCode !== isInTheWay;
    throw new EngineError(isRefused ? 'refused' : 'failed', await messageIn(response), statusCode);
  }
}

/** Padded base64 with the letters of addresses, as Docker reads it. */
function registryAuth(credentials: object): string {
  const text = Buffer.from(JSON.stringify(credentials)).toString('base64');
  return text.replaceAll('+', '-').replaceAll('/', '_');
}

/** The engine's reason for a refusal: `{message}`, or a text of any kind. */
async function messageIn({ body, statusCode }: Dispatcher.ResponseData): Promise<string> {
  const text = (await body.text()).slice(0, longestMessage);
  try {
    const answer: unknown = JSON.parse(text);
    if (typeof answer === 'object' && answer !== null && 'message' in answer) return String(answer.message);
  } catch {
    // A proxy's page, say.
  }
  return text.trim() || `the engine answered ${statusCode}`;
}

function unreachable(error: unknown): EngineError {
  if (error instanceof EngineError) return error;
  return new EngineError('unreachable', messageOf(error));
}
