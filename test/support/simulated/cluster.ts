/**
 * The way from a process to an API server of a simulated world: in place of undici's connections, so
 * that the client of the product is what talks. The server is the one of ../kubernetes, and handles what
 * looks to it like an exchange of Node's HTTP server.
 *
 *     dispatched ── wayMs ──> at the server ── head, lines, end, in order ── wayMs ──> answered
 *         └── the client aborts it, or is killed ── wayMs ──> the server notices
 */
import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Dispatcher } from 'undici';
import type { Timer } from '../../../src/base/index.ts';

/** As `KubernetesServer` has it. */
export interface ClusterHost {
  handle(incoming: IncomingMessage, response: ServerResponse): Promise<void>;
}

export interface Way {
  /** Of the process: calls nothing when that is killed. */
  readonly after: (delayMs: number, run: () => void) => Timer;
  /** Of the world. */
  readonly afterAnyway: (delayMs: number, run: () => void) => Timer;
  readonly hostAt: (origin: string) => ClusterHost | undefined;
}

const wayMs = 1;

export class SimulatedDispatcher extends Dispatcher {
  readonly #way: Way;
  readonly #open = new Set<Exchange>();

  constructor(way: Way) {
    super();
    this.#way = way;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const exchange = new Exchange(this.#way, handler);
    this.#open.add(exchange);
    exchange.once('close', () => this.#open.delete(exchange));
    exchange.begin(options);
    return true;
  }

  /** What is under way is given up. */
  override destroy(): Promise<void> {
    for (const exchange of this.#open) exchange.abort(new Error('The client is destroyed'));
    return Promise.resolve();
  }

  /** The process is gone. */
  cut(): void {
    for (const exchange of this.#open) exchange.leave();
  }
}

/** To the server it is the response; it says `close` when there is nobody on the other side any more. */
class Exchange extends EventEmitter {
  readonly #way: Way;
  readonly #handler: Dispatcher.DispatchHandler;
  readonly #controller: Dispatcher.DispatchController;
  readonly #headers: Record<string, string> = {};
  #underWay: (() => void)[] = [];
  #isArriving = false;
  #isPaused = false;
  #reason: Error | null = null;
  /** For the client. */
  #isOver = false;
  /** By the server. */
  #isEnded = false;
  #isHeadSent = false;
  statusCode = 200;
  headersSent = false;
  /** Nothing waits to be sent. */
  readonly writableLength = 0;

  constructor(way: Way, handler: Dispatcher.DispatchHandler) {
    super();
    this.#way = way;
    this.#handler = handler;
    const reason = () => this.#reason;
    const isPaused = () => this.#isPaused;
    this.#controller = {
      get aborted() {
        return reason() !== null;
      },
      get paused() {
        return isPaused();
      },
      get reason() {
        return reason();
      },
      abort: (error) => this.abort(error),
      pause: () => (this.#isPaused = true),
      resume: () => {
        this.#isPaused = false;
        this.#arriveSoon();
      },
    };
  }

  begin({ origin, path, method, headers, body }: Dispatcher.DispatchOptions): void {
    this.#handler.onRequestStart?.(this.#controller, undefined);
    if (this.#isOver) return;
    this.#way.after(wayMs, () => {
      if (this.#isOver) return;
      const host = this.#way.hostAt(String(origin));
      if (!host)
        return this.abort(
          Object.assign(new Error(`connect ECONNREFUSED ${String(origin)}`), { code: 'ECONNREFUSED' }),
        );
      const text = (body as string | null | undefined) ?? '';
      const incoming = {
        method,
        url: path,
        headers: lowerCase(headers as Record<string, string>),
        ...onePiece(text),
      };
      void host.handle(incoming as unknown as IncomingMessage, this as unknown as ServerResponse);
    });
  }

  abort(reason: Error): void {
    if (this.#isOver) return;
    this.#reason = reason;
    this.#isOver = true;
    this.#handler.onResponseError?.(this.#controller, reason);
    this.leave();
  }

  leave(): void {
    this.#isOver = true;
    this.#underWay = [];
    this.#way.afterAnyway(wayMs, () => this.emit('close'));
  }

  setHeader(name: string, value: unknown): void {
    this.#headers[name.toLowerCase()] = String(value);
  }

  appendHeader(name: string, value: string): void {
    const before = this.#headers[name.toLowerCase()];
    this.setHeader(name, before === undefined ? value : `${before}, ${value}`);
  }

  writeHead(status: number, headers: Readonly<Record<string, unknown>> = {}): this {
    this.statusCode = status;
    this.headersSent = true;
    for (const [name, value] of Object.entries(headers)) this.setHeader(name, value);
    return this;
  }

  flushHeaders(): void {
    if (this.#isHeadSent) return;
    this.#isHeadSent = true;
    this.headersSent = true;
    const { statusCode } = this;
    this.#send(() => this.#handler.onResponseStart?.(this.#controller, statusCode, { ...this.#headers }));
  }

  write(text: string): void {
    this.flushHeaders();
    const chunk = Buffer.from(text);
    this.#send(() => this.#handler.onResponseData?.(this.#controller, chunk));
  }

  end(text?: string): void {
    if (this.#isEnded) return;
    if (text === undefined) this.flushHeaders();
    else this.write(text);
    this.#isEnded = true;
    this.#send(() => {
      this.#isOver = true;
      this.#handler.onResponseEnd?.(this.#controller, {});
    });
    queueMicrotask(() => this.emit('close'));
  }

  destroy(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    const error = Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' });
    this.#send(() => this.abort(error));
    queueMicrotask(() => this.emit('close'));
  }

  #send(step: () => void): void {
    if (this.#isOver) return;
    this.#underWay.push(step);
    this.#arriveSoon();
  }

  /** What was sent arrives in order, and together. */
  #arriveSoon(): void {
    if (this.#isArriving || this.#underWay.length === 0) return;
    this.#isArriving = true;
    this.#way.after(wayMs, () => {
      this.#isArriving = false;
      while (!this.#isPaused && !this.#isOver) {
        const step = this.#underWay.shift();
        if (!step) return;
        step();
      }
    });
  }
}

function lowerCase(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

function onePiece(text: string): AsyncIterable<Buffer> {
  return {
    async *[Symbol.asyncIterator]() {
      if (text !== '') yield Buffer.from(text);
    },
  };
}
