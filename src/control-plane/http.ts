/**
 * What both listeners have in common: limits and time-outs, the contract's error form for everything that is
 * refused (also by the HTTP layer itself), validation by zod schemas, and a clean shutdown.
 */
import type { Socket } from 'node:net';
import type { IncomingMessage, ServerResponse } from 'node:http';
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
import { messageOf } from '../base/user-error.ts';
import { bodyLimitBytes } from './config.ts';
import { ApiError, errorJson } from './errors.ts';

export type App = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  ZodTypeProvider
>;

export function createApp(logger: Logger): App {
  const app = fastify({
    bodyLimit: bodyLimitBytes,
    keepAliveTimeout: 75_000,
    requestTimeout: 60_000,
    http: { headersTimeout: 30_000, maxHeaderSize: 16 * 1024 },
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    exposeHeadRoutes: false,
    routerOptions: { maxParamLength: 512 },
    clientErrorHandler: answerClientError,
    frameworkErrors: (error, _request, reply) => {
      sendJson(reply, 400, errorJson('invalid_request', error.message));
    },
  }).withTypeProvider<ZodTypeProvider>();
  app.setValidatorCompiler(validatorCompiler);
  app.removeAllContentTypeParsers();
  const parseJson = app.getDefaultJsonParser('error', 'error');
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, text, done) => {
    // A request that needs no body may still name its type.
    if (text.length === 0) done(null, undefined);
    else void parseJson(request, text.toString(), done);
  });
  app.setErrorHandler<FastifyError>((error, request, reply) => sendError(error, request, reply, logger));
  app.setNotFoundHandler((request, reply) =>
    sendJson(reply, 404, errorJson('not_found', `there is no ${request.method} ${pathOf(request)}`)),
  );
  return app;
}

export function sendJson(reply: FastifyReply, status: number, json: string | Buffer): FastifyReply {
  return reply.code(status).header('content-type', 'application/json; charset=utf-8').send(json);
}

export function pathOf(request: FastifyRequest): string {
  return request.url.split('?', 1)[0] ?? request.url;
}

export async function listen(app: App, address: { host: string; port: number }): Promise<string> {
  await app.listen({ host: address.host, port: address.port });
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

/** The contract lists 400 as the only status for what is wrong with a request itself (§7 rule 2). */
function refusalOf(error: FastifyError): ApiError | undefined {
  if (error instanceof ApiError) return error;
  if (hasZodFastifySchemaValidationErrors(error)) {
    const details = error.validation.map((issue) => {
      const path = issue.instancePath.split('/').filter(Boolean).join('.');
      return path ? `${path}: ${issue.message}` : issue.message;
    });
    return new ApiError(400, 'invalid_request', details.join('; '));
  }
  const codes: Readonly<Record<string, string>> = {
    FST_ERR_CTP_BODY_TOO_LARGE: 'body_too_large',
    FST_ERR_CTP_INVALID_JSON_BODY: 'malformed_json',
    FST_ERR_CTP_INVALID_MEDIA_TYPE: 'not_json',
  };
  const isRequestsFault =
    error instanceof SyntaxError || (error.statusCode !== undefined && error.statusCode < 500);
  if (!isRequestsFault) return undefined;
  const code = error instanceof SyntaxError ? 'malformed_json' : (codes[error.code] ?? 'invalid_request');
  return new ApiError(400, code, code === 'malformed_json' ? 'the body is not valid JSON' : messageOf(error));
}

/** What can't be read as HTTP has no request to answer to; the socket gets the error form directly. */
function answerClientError(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const body = errorJson(
    'invalid_request',
    'the request is not valid HTTP, is too slow, or has too large headers',
  );
  socket.end(
    `HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}
