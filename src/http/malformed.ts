/**
 * What can't be read as HTTP. There is no request to answer to, so the connection itself gets the refusal, in the contract's form and with the
 * headers of every answer, and ends.
 *
 * | what came                                      | answer                                                                      |
 * |------------------------------------------------|-----------------------------------------------------------------------------|
 * | no HTTP, a wrong length, a bad chunk           | 400                                                                         |
 * | headers that are too large                     | 431                                                                         |
 * | less than a request within the time for one    | 408                                                                         |
 * | CONNECT                                        | 405: this is no proxy                                                       |
 * | no `Host`, or an `Expect` that nobody knows    | a request like others: the first is refused, the second is ignored          |
 * | any of these while an answer is due or is sent | the connection is cut: the refusal would be taken for a part of that answer |
 *
 * Nothing of what came is repeated. A client that does not end its side is cut after two seconds.
 */
import { STATUS_CODES, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { pageHeaders, type Clock } from '../base/index.ts';
import { errorBody } from './read-api.ts';

interface Refusal {
  readonly status: 400 | 405 | 408 | 431;
  readonly code: string;
  readonly message: string;
}

const notHttp: Refusal = {
  status: 400,
  code: 'invalid_request',
  message: 'this is no valid HTTP; nothing was processed',
};
const noProxy: Refusal = {
  status: 405,
  code: 'method_not_allowed',
  message: 'this is no proxy; send GET or HEAD',
};
/** By the code of Node's error. */
const others: Readonly<Record<string, Refusal>> = {
  HPE_HEADER_OVERFLOW: {
    status: 431,
    code: 'headers_too_large',
    message: 'the headers are too large; send fewer or shorter ones',
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: 408,
    code: 'request_timeout',
    message: 'the request did not arrive in time; send it again',
  },
};

/** For a client to read why its connection ends. */
const lingerMs = 2000;

export class MalformedRequests {
  readonly #clock: Clock;
  /** Answers that are due on a connection, or being sent. */
  readonly #due = new WeakMap<Duplex, Set<ServerResponse>>();
  /** Whatever follows on them means nothing. */
  readonly #refused = new WeakSet<Duplex>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Before the server answers its first request. */
  watch(server: Server): void {
    server.prependListener('request', ({ socket }, response) => {
      const due = this.#due.get(socket) ?? new Set();
      this.#due.set(socket, due.add(response));
      response.once('close', () => due.delete(response));
    });
    server.on('checkExpectation', (request, response) => server.emit('request', request, response));
    server.on('connect', (_request, socket) => this.#refuse(socket, noProxy));
  }

  /** As a server has it in `clientError`. */
  failed({ code = '' }: NodeJS.ErrnoException, socket: Duplex): void {
    if (code === 'ECONNRESET') socket.destroy();
    else this.#refuse(socket, (Object.hasOwn(others, code) ? others[code] : undefined) ?? notHttp);
  }

  #refuse(socket: Duplex, { status, code, message }: Refusal): void {
    if (this.#refused.has(socket)) return;
    // One whose body can't be read is refused by this.
    const isForAnother = [...(this.#due.get(socket) ?? [])].some(
      (response) => response.req.complete || response.headersSent,
    );
    if (isForAnother || !socket.writable) {
      socket.destroy();
      return;
    }
    this.#refused.add(socket);
    const body = errorBody(code, message);
    const headers = {
      ...pageHeaders,
      'content-type': 'application/json; charset=utf-8',
      'content-length': String(Buffer.byteLength(body)),
      'cache-control': 'no-store',
      connection: 'close',
      ...(status === 405 ? { allow: 'GET, HEAD' } : {}),
    };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.on('error', () => undefined);
    socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${body}`);
    const timer = this.#clock.after(lingerMs, () => socket.destroy());
    socket.once('close', () => timer.cancel());
  }
}
