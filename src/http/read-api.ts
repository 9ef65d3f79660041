/** Puts the read API behind the server of `/healthz`: it gets every request that is for none of its own paths, of any method. */
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { pageHeaders } from '../base/index.ts';
import type { ApiRequest, ApiResponse, StreamSink } from '../read-api/index.ts';
import type { HealthLimits } from './limits.ts';

export interface RequestHandler {
  /** Never rejects. */
  handle(request: ApiRequest): Promise<ApiResponse>;
  /** False: whoever sends this `Host` is not to read anything here, not even metrics. */
  isHostAllowed(host: string | undefined): boolean;
  /** Whether that path is one of the page's files: no token is checked for it. */
  isFile(path: string): boolean;
}

/** Nothing may follow on its connection. */
export const streamPath = '/api/v1/stream';

/** In the contract's form. */
export function errorBody(code: string, message: string): string {
  return JSON.stringify({ error: { code, message } });
}

const json = 'application/json; charset=utf-8';

export function serveReadApi(
  app: FastifyInstance,
  handler: RequestHandler,
  { loginBytes }: Pick<HealthLimits, 'loginBytes'>,
): void {
  // Bodies are read up to the limit, and mean nothing but for the form of the login.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body));
  app.setErrorHandler((error: { statusCode?: number }, _request, reply) => {
    const status = error.statusCode ?? 500;
    const text = errorBody('invalid_request', 'the request can not be read');
    return reply.code(status).headers(pageHeaders).type(json).send(text);
  });
  app.post('/login', { bodyLimit: loginBytes }, (request, reply) => answerWith(handler, request, reply));
  app.setNotFoundHandler((request, reply) => answerWith(handler, request, reply));
}

/** Also for a path that the router can not read. */
export async function answerWith(
  handler: RequestHandler,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const answer = await handler.handle(asked(request));
  if (answer.stream) return stream(reply, answer, answer.stream);
  const { status, headers, body } = await compressed(request, answer);
  return reply.code(status).headers(headers).send(body);
}

/** Below that, compression saves nothing that anybody notices. */
const leastBytes = 2048;
const compress = promisify(gzip);

/** On another thread. Events of a stream are not compressed: each reader would need a compressor of its own. */
async function compressed(
  { headers: { 'accept-encoding': accepted = '' } }: FastifyRequest,
  answer: ApiResponse,
): Promise<ApiResponse> {
  const { body, headers, status } = answer;
  const isWanted = status === 200 && Buffer.byteLength(body) >= leastBytes && /\bgzip\b/.test(accepted);
  if (!isWanted) return answer;
  const { etag } = headers;
  const own = { 'content-encoding': 'gzip', vary: 'accept-encoding' };
  // Its bytes are others, so its mark is only weakly the same.
  const mark = etag === undefined ? {} : { etag: `W/${etag}` };
  return { ...answer, headers: { ...headers, ...own, ...mark }, body: await compress(body, { level: 4 }) };
}

function asked({ method, url, headers, body, socket }: FastifyRequest): ApiRequest {
  const at = url.indexOf('?');
  const single = Object.entries(headers).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.join(', ') : value,
  ]);
  return {
    method,
    path: at < 0 ? url : url.slice(0, at),
    query: new URLSearchParams(at < 0 ? '' : url.slice(at + 1)),
    headers: Object.fromEntries(single),
    isLoopback: /^(::ffff:)?127\.|^::1$/.test(socket.remoteAddress ?? ''),
    body: typeof body === 'string' ? body : undefined,
  };
}

/** It lasts as long as the reader, so the time of an idle connection does not count. */
function stream(
  reply: FastifyReply,
  { status, headers }: ApiResponse,
  open: (sink: StreamSink) => void,
): FastifyReply {
  reply.hijack();
  const { raw } = reply;
  // The reader has left meanwhile: `close` was emitted before anybody listened.
  if (raw.destroyed || raw.closed) return reply;
  raw.socket?.setTimeout(0);
  raw.writeHead(status, headers);
  open({
    write(text) {
      if (!raw.destroyed && !raw.writableEnded) raw.write(text);
      return raw.writableLength;
    },
    // What waits for a slow reader is dropped.
    close: () => raw.destroy(),
    onClosed: (onClosed) => void (raw.closed ? onClosed() : raw.once('close', onClosed)),
  });
  return reply;
}
