/**
 * The connections of a listener. A connection is in use while a request on it has not been answered; requests
 * may be pipelined, and are answered in their order.
 *
 * - What can't be read as HTTP, or comes too slowly, has no request to answer to: the connection gets the error
 *   form itself (§7), and ends. But where an answer is due to an earlier request, that answer would be mistaken for
 *   this one: such a connection is only cut, and the client knows that it knows nothing.
 *   Either way it is cut soon, whether the client takes part in the end or not.
 * - An answer that was given has to be taken within `sendMs`: who does not read is cut. Of one that is sent in pieces the
 *   time begins with the first.
 * - One address has so many connections at most, and one connection so many requests that are not answered.
 * - Closing cuts the connections that are not in use. Each other one ends with its last answer, or, with whatever
 *   is on it, when the grace is over: nobody can hold the listener open.
 */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../../base/clock.ts';
import { errorJson } from '../domain/errors.ts';
import { networkOf } from './network.ts';

interface Use {
  /** Answers that have not been sent. */
  readonly due: Set<ServerResponse>;
  /** The latest request, if it was answered before its body was there. */
  overtaken: IncomingMessage | undefined;
}

export interface ConnectionLimits {
  readonly connectionsPerAddress: number;
  readonly pipelined: number;
  readonly sendMs: number;
}

/** For a client to read why its connection ends. */
const lingerMs = 2_000;

export class Connections {
  readonly #server: Server;
  readonly #clock: Clock;
  readonly #limits: ConnectionLimits;
  readonly #uses = new Map<Socket, Use>();
  readonly #countOf = new Map<string, number>();
  #isClosing = false;

  constructor(server: Server, clock: Clock, limits: ConnectionLimits) {
    this.#server = server;
    this.#clock = clock;
    this.#limits = limits;
    // Node takes a connection for idle whose answer is complete, but has not been sent.
    server.closeIdleConnections = () => this.#cutAllUnused();
    server.on('connection', (socket) => this.#opened(socket));
    const answerers = server.listeners('request') as RequestListener[];
    server.removeAllListeners('request');
    server.on('request', (request, response) => {
      if (!this.#requested(request, response)) return;
      for (const answer of answerers) answer(request, response);
    });
    // Unheard, Node would cut the connection of a CONNECT without an answer.
    server.on('connect', ({ socket }) => this.failed(new Error('this is not a proxy'), socket));
  }

  /** Cuts what is not in use, now and from now on, and everything after `graceMs`; returns how to call that off. */
  close(graceMs: number): () => void {
    this.#isClosing = true;
    this.#cutAllUnused();
    const timer = this.#clock.after(graceMs, () => this.#server.closeAllConnections());
    return () => timer.cancel();
  }

  /** What was received on the connection can't be read. */
  failed(error: NodeJS.ErrnoException, socket: Socket): void {
    const { due, overtaken } = this.#uses.get(socket) ?? {};
    const isForAnother =
      [...(due ?? [])].some((response) => response.req.complete || response.headersSent) ||
      overtaken?.complete === false;
    if (error.code === 'ECONNRESET' || !socket.writable || isForAnother) {
      socket.destroy();
      return;
    }
    const body = errorJson(
      'invalid_request',
      'the request is not valid HTTP, is too slow, or has too large headers',
    );
    socket.end(
      `HTTP/1.1 400 Bad Request\r\ncontent-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
    );
    // Whatever comes from now on would keep the connection: Node takes it for life.
    this.#cutLater(socket, lingerMs);
  }

  #opened(socket: Socket): void {
    const network = networkOf(socket.remoteAddress);
    const count = (this.#countOf.get(network) ?? 0) + 1;
    this.#countOf.set(network, count);
    this.#uses.set(socket, { due: new Set(), overtaken: undefined });
    socket.once('close', () => {
      this.#uses.delete(socket);
      const left = (this.#countOf.get(network) ?? 1) - 1;
      if (left === 0) this.#countOf.delete(network);
      else this.#countOf.set(network, left);
    });
    if (this.#isClosing || count > this.#limits.connectionsPerAddress) socket.destroy();
  }

  #cutLater(socket: Socket, afterMs: number): void {
    const timer = this.#clock.after(afterMs, () => socket.destroy());
    socket.once('close', () => timer.cancel());
  }

  /** Returns whether the request is to be answered. */
  #requested(request: IncomingMessage, response: ServerResponse): boolean {
    const { socket } = request;
    const use = this.#uses.get(socket);
    if (!use) return true;
    if (socket.destroyed) return false;
    if (use.due.size >= this.#limits.pipelined) {
      cutAtOnce(socket);
      return false;
    }
    use.due.add(response);
    response.once('prefinish', () => this.#awaitTaken(socket, response));
    // What is too large for our memory is taken piece by piece.
    response.once('pipe', () => this.#cutUnlessTaken(socket, response));
    response.once('close', () => {
      use.due.delete(response);
      use.overtaken = request.complete ? undefined : request;
      if (this.#isClosing) this.#cutUnused(socket);
    });
    return true;
  }

  /** What is left of the answer in our memory must leave in time. */
  #awaitTaken(socket: Socket, response: ServerResponse): void {
    if (socket.writableLength >= socket.writableHighWaterMark) this.#cutUnlessTaken(socket, response);
  }

  #cutUnlessTaken(socket: Socket, response: ServerResponse): void {
    const timer = this.#clock.after(this.#limits.sendMs, () => socket.destroy());
    response.once('close', () => timer.cancel());
  }

  #cutAllUnused(): void {
    for (const socket of this.#uses.keys()) this.#cutUnused(socket);
  }

  #cutUnused(socket: Socket): void {
    if (this.#uses.get(socket)?.due.size === 0) socket.destroySoon();
  }
}

/**
 * Drops also received requests that were not read yet: thousands fit into one read. Node's own parser continues after
 * the end of its connection, unless `onIncoming` refuses a request. Without that, each of the rest only costs some
 * time.
 */
function cutAtOnce(socket: Socket): void {
  const { parser } = socket as Socket & { readonly parser?: { onIncoming: () => number } | null };
  if (parser) parser.onIncoming = () => -1;
  socket.destroy();
}
