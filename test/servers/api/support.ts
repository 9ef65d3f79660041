import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import {
  ControlApi,
  Limiter,
  createTransport,
  type HttpRequest,
  type Transport,
} from '../../../src/api/index.ts';
import { Sensitive } from '../../../src/base/index.ts';
import { createMetrics } from '../../../src/telemetry/index.ts';
import { ManualClock } from '../../support/manual-clock.ts';

export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** Called once a request has been read whole. */
export type Answer = (response: ServerResponse, request: Received, socket: Socket) => void;

/** A real HTTP server on a free port that answers as it is told, and keeps what it was sent. */
export class ScriptedServer implements AsyncDisposable {
  readonly requests: Received[] = [];
  readonly sockets: Socket[] = [];
  answer: Answer;
  readonly #server: Server;
  readonly #waiters: { count: number; resolve: () => void }[] = [];

  constructor(answer: Answer) {
    this.answer = answer;
    this.#server = createServer((request, response) => void this.#handle(request, response));
    this.#server.keepAliveTimeout = 0;
    this.#server.on('connection', (socket) => this.sockets.push(socket));
  }

  async listen(): Promise<this> {
    await new Promise<void>((resolve) => {
      this.#server.listen(0, '127.0.0.1', resolve);
    });
    return this;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** The one request that was received. */
  get only(): Received {
    const [request, ...more] = this.requests;
    if (!request || more.length > 0) throw new Error(`${this.requests.length} requests instead of one`);
    return request;
  }

  /** Resolves when that many requests have been read. */
  received(count: number): Promise<void> {
    return new Promise((resolve) => {
      this.#waiters.push({ count, resolve });
      this.#tell();
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => {
      this.#server.close(resolve);
    });
    this.#server.closeAllConnections();
    await closed;
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += String(chunk);
    const received: Received = {
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers,
      body,
    };
    this.requests.push(received);
    this.#tell();
    this.answer(response, received, request.socket);
  }

  #tell(): void {
    for (const waiter of this.#waiters) if (this.requests.length >= waiter.count) waiter.resolve();
  }
}

export function serve(answer: Answer): Promise<ScriptedServer> {
  return new ScriptedServer(answer).listen();
}

/** Answers every request so. A string is sent as it is, anything else as JSON. */
export function reply(status: number, body: unknown, headers: Record<string, string> = {}): Answer {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);
  };
}

export function errorForm(code: string, message = 'no'): object {
  return { error: { code, message } };
}

/** A port on which nothing listens. */
export async function freePort(): Promise<number> {
  const server = await serve(reply(200, {}));
  const { port } = server;
  await server[Symbol.asyncDispose]();
  return port;
}

export function get(url: string): HttpRequest {
  return { method: 'GET', url, headers: {}, body: undefined };
}

export function post(url: string, body: string): HttpRequest {
  return { method: 'POST', url, headers: { 'content-type': 'application/json' }, body };
}

export interface Client extends AsyncDisposable {
  readonly api: ControlApi;
  readonly clock: ManualClock;
  readonly transport: Transport;
}

/** A client of `baseUrl` that may send as fast as it likes. */
export function clientOf(
  baseUrl: string,
  apiKey: string | null = 'key-of-alice',
  credentialsHeader?: string,
): Client {
  const clock = new ManualClock();
  const metrics = createMetrics();
  const transport = createTransport(clock);
  const limits = { account: 'default', perSecond: 1000, burst: 1000, concurrency: 8 };
  const api = new ControlApi({
    baseUrl,
    credential: () => (apiKey === null ? undefined : new Sensitive(apiKey)),
    credentialsHeader,
    transport,
    limiter: new Limiter(limits, clock, metrics),
    clock,
    metrics,
  });
  return { api, clock, transport, [Symbol.asyncDispose]: () => transport.close() };
}
