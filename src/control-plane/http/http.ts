/**
 * What both listeners have in common: limits and time-outs, the contract's error form for everything that is
 * refused (also by the HTTP layer itself), validation by zod schemas, and a clean shutdown.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import fastify, {
  type FastifyBaseLogger,
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type RawServerDefault,
} from 'fastify';
import {
  hasZodFastifySchemaValidationErrors,
  validatorCompiler,
  type ZodTypeProvider,
} from 'fastify-type-provider-zod';
import type { Logger } from 'pino';
import type { Clock } from '../../base/clock.ts';
import { systemEventLoop } from '../../base/process.ts';
import { messageOf, notListening } from '../../base/user-error.ts';
import { Connections } from './connections.ts';
import { ApiError, errorJson, invalidRequest } from '../domain/errors.ts';
import { notUtf8, problemWith, textOf } from './json-body.ts';
import { hasBody, takeBody } from './request-body.ts';

export type App = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  ZodTypeProvider
>;

/** Of one listener. Beyond them a request is refused with 400, or its connection is cut. */
export interface HttpLimits {
  readonly bodyBytes: number;
  /** Of all headers together, the request line included. */
  readonly headerBytes: number;
  /** Until all headers are there, from the opening of the connection or the first byte of a later request. */
  readonly headersMs: number;
  /** Until the body is there, too. */
  readonly requestMs: number;
  /** Without a request. */
  readonly idleMs: number;
  /** Without a byte in either direction while an answer is due: longer than any request takes. */
  readonly stalledMs: number;
  /** From the last byte of an answer until it has left. */
  readonly sendMs: number;
  readonly connections: number;
  readonly connectionsPerAddress: number;
  /** Requests of one connection that are not answered. */
  readonly pipelined: number;
  /** What is being answered at shutdown is finished within this time, or cut. */
  readonly shutdownMs: number;
}

export const defaultHttpLimits: HttpLimits = {
  bodyBytes: 256 * 1024,
  headerBytes: 16 * 1024,
  headersMs: 30_000,
  requestMs: 60_000,
  idleMs: 75_000,
  stalledMs: 150_000,
  sendMs: 60_000,
  connections: 4096,
  connectionsPerAddress: 1024,
  pipelined: 16,
  shutdownMs: 10_000,
};

/** At most so many faults of one request are reported. */
const mostIssues = 10;
const longestMessage = 2_000;
/** Copying so much is cheaper than a stream. */
const copiedBytes = 256 * 1024;

export interface Listener {
  readonly app: App;
  /** Ends within the limit, whatever clients do. */
  close(): Promise<void>;
}

/** Longer parts of an address are refused by a server with parameters in its routes. */
export const longestParameter = 512;

/** Called when work for a request is done: at once, or later. */
export type InTurn = (request: FastifyRequest, work: () => void) => void;

export function createListener(
  logger: Logger,
  clock: Clock,
  limits: HttpLimits,
  inTurn: InTurn = (_request, work) => work(),
  longestSegment = Number.POSITIVE_INFINITY,
): Listener {
  const failed: Connections['failed'] = (error, socket) => connections.failed(error, socket);
  const app = createApp(logger, limits, inTurn, failed, longestSegment);
  const connections = new Connections(app.server, clock, limits);
  const close = async () => {
    const callOff = connections.close(limits.shutdownMs);
    await app.close().finally(callOff);
  };
  return { app, close };
}

function createApp(
  logger: Logger,
  limits: HttpLimits,
  inTurn: InTurn,
  clientErrorHandler: Connections['failed'],
  longestSegment: number,
): App {
  const app = fastify({
    bodyLimit: limits.bodyBytes,
    keepAliveTimeout: limits.idleMs,
    requestTimeout: limits.requestMs,
    connectionTimeout: limits.stalledMs,
    http: {
      headersTimeout: limits.headersMs,
      maxHeaderSize: limits.headerBytes,
      connectionsCheckingInterval: Math.min(5_000, limits.headersMs),
      // Node's own refusal is not in the error form.
      requireHostHeader: false,
    },
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    exposeHeadRoutes: false,
    routerOptions: { maxParamLength: longestParameter },
    clientErrorHandler,
    // For what the router can't take, Fastify would call no hook, and so no rate limit.
    rewriteUrl: ({ url = '' }) => (isReadable(url, longestSegment) ? url : unreadablePath),
    frameworkErrors: (error, _request, reply) => {
      sendJson(reply, 400, errorJson('invalid_request', error.message));
    },
  }).withTypeProvider<ZodTypeProvider>();
  app.server.maxConnections = limits.connections;
  // A client that has ended its side is still answered, also when its request had to wait for its turn.
  Object.assign(app.server, { httpAllowHalfOpen: true });
  // An expectation that nobody knows may be ignored (RFC 9110, 10.1.1).
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  // After the hooks `onRequest`, which bound how often anybody may be refused.
  app.addHook('preParsing', (request, _reply, payload, done) => done(faultOfHead(request) ?? null, payload));
  app.addHook('onSend', ({ raw }, reply, payload, done) => {
    if (raw.complete || !hasBody(raw)) return done(null, payload);
    // What came with the head is there by then. For the rest of a body that is not needed nobody waits: the header announces that.
    systemEventLoop.endOfTurn(() => {
      if (!raw.complete) reply.header('connection', 'close');
      done(null, payload);
    });
  });
  app.setValidatorCompiler(validatorCompiler);
  app.removeAllContentTypeParsers();
  const parseJson = app.getDefaultJsonParser('error', 'error');
  app.addContentTypeParser('application/json', (request, payload: IncomingMessage, done) => {
    takeBody(payload, limits.bodyBytes, (refusal, bytes) => {
      if (!bytes) return done(refusal);
      inTurn(request, () => {
        const text = textOf(bytes);
        // A request that needs no body may still name its type.
        if (bytes.length === 0) done(null, undefined);
        else if (text === undefined) done(notUtf8());
        else void parseJson(request, text, (error, body) => done(error ?? problemWith(body) ?? null, body));
      });
    });
  });
  app.setErrorHandler<FastifyError>((error, request, reply) => sendError(error, request, reply, logger));
  app.setNotFoundHandler((request) => {
    throw notFound(request);
  });
  return app;
}

const unreadablePath = '/unreadable';

/** Whether the router can take it. */
function isReadable(url: string, longestSegment: number): boolean {
  const isAbsolute = !url.startsWith('/') && url !== '*';
  if (isAbsolute && (url.includes('#') || !URL.canParse(url))) return false;
  const [pathname = ''] = url.split('?', 1);
  if (!pathname.includes('%') && pathname.length <= longestSegment) return true;
  try {
    return decodeURIComponent(pathname)
      .split('/')
      .every(({ length }) => length <= longestSegment);
  } catch {
    return false;
  }
}

/** What is wrong with a request whoever sends it. */
export function faultOfHead({ raw }: FastifyRequest): ApiError | undefined {
  const isHostMissing = raw.httpVersion !== '1.0' && raw.headers.host === undefined;
  return isHostMissing ? invalidRequest('the header Host is missing') : undefined;
}

/** No route has the path of the request, or could have it. */
export function notFound(request: FastifyRequest): ApiError {
  if (request.originalUrl !== request.url)
    return invalidRequest(
      `the path ${cut(request.originalUrl)} can't be read, or has a part of more than ${longestParameter} characters`,
    );
  return new ApiError(404, 'not_found', `there is no ${request.method} ${pathOf(request)}`);
}

export function sendJson(reply: FastifyReply, status: number, json: string | Buffer): FastifyReply {
  return reply.code(status).header('content-type', 'application/json; charset=utf-8').send(json);
}

/** `pieces`, one after the other, are JSON. Many are sent as the client takes them, and are not copied. */
export function sendPieces(reply: FastifyReply, status: number, pieces: readonly Buffer[]): FastifyReply {
  const bytes = pieces.reduce((sum, { length }) => sum + length, 0);
  if (bytes <= copiedBytes) return sendJson(reply, status, Buffer.concat(pieces));
  reply.code(status).header('content-type', 'application/json; charset=utf-8');
  return reply.header('content-length', bytes).send(new PieceStream(pieces, bytes));
}

export class PieceStream extends Readable {
  readonly bytes: number;
  readonly #pieces: Iterator<Buffer>;

  constructor(pieces: Iterable<Buffer>, bytes: number) {
    super({ highWaterMark: copiedBytes });
    this.bytes = bytes;
    this.#pieces = pieces[Symbol.iterator]();
  }

  override _read(): void {
    const { done, value } = this.#pieces.next();
    this.push(done ? null : value);
  }
}

export function pathOf(request: FastifyRequest): string {
  return request.originalUrl.split('?', 1)[0] ?? request.originalUrl;
}

export async function listen(app: App, address: { host: string; port: number }): Promise<string> {
  // For this name, Fastify would open a second server that knows nothing of the limits.
  const name = address.host === 'localhost' ? '127.0.0.1' : address.host;
  await app.listen({ host: name, port: address.port }).catch((error: unknown) => {
    throw notListening(address, error);
  });
  const bound = app.server.address();
  const port = typeof bound === 'object' && bound !== null ? bound.port : address.port;
  const host = address.host.includes(':') ? `[${address.host}]` : address.host;
  return `http://${host}:${port}`;
}

function sendError(error: FastifyError, request: FastifyRequest, reply: FastifyReply, logger: Logger) {
  const refusal = refusalOf(error);
  if (!refusal) {
    // The transaction was rolled back: nothing happened, and the client may try again.
    logger.error({ err: error, method: request.method, path: pathOf(request) }, 'request failed');
    return sendJson(
      reply,
      503,
      errorJson('unavailable', 'the request could not be carried out and had no effect; try again later'),
    );
  }
  if (refusal.retryAfterSeconds !== undefined) {
    reply.header('retry-after', String(refusal.retryAfterSeconds));
  }
  return sendJson(reply, refusal.status, errorJson(refusal.code, refusal.message));
}

/** A name that nobody asked for comes back in a message, and may be as long as the body. */
function cut(message: string): string {
  return message.length <= longestMessage ? message : `${message.slice(0, longestMessage)}…`.toWellFormed();
}

/** The contract lists 400 as the only status for what is wrong with a request itself (§7 rule 2). */
function refusalOf(error: FastifyError): ApiError | undefined {
  if (error instanceof ApiError) return error;
  if (hasZodFastifySchemaValidationErrors(error)) {
    const details = error.validation.slice(0, mostIssues).map((issue) => {
      const path = issue.instancePath.split('/').filter(Boolean).join('.');
      return path ? `${path}: ${issue.message}` : issue.message;
    });
    return new ApiError(400, 'invalid_request', cut(details.join('; ')));
  }
  const codes: Readonly<Record<string, string>> = {
    FST_ERR_CTP_INVALID_JSON_BODY: 'malformed_json',
    FST_ERR_CTP_INVALID_MEDIA_TYPE: 'not_json',
  };
  const isRequestsFault =
    error instanceof SyntaxError || (error.statusCode !== undefined && error.statusCode < 500);
  if (!isRequestsFault) return undefined;
  const code = error instanceof SyntaxError ? 'malformed_json' : (codes[error.code] ?? 'invalid_request');
  return new ApiError(400, code, code === 'malformed_json' ? 'the body is not valid JSON' : messageOf(error));
}
