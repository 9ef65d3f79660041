/** A server in front of the control plane that does what a broken provider, proxy or network does: it answers by itself, or changes what goes through. */
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { world } from '../world.ts';

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly authorization: string;
  readonly idempotencyKey: string;
  readonly body: string;
  readonly atMs: number;
}

export interface OwnAnswer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** In the hands of whoever disturbs it. */
export interface Exchange {
  readonly response: ServerResponse;
  /** That of the client. */
  readonly socket: Socket;
  /** Gives the request to the control plane; each time anew. */
  readonly forward: () => Promise<OwnAnswer>;
}

export class Front {
  url = '';
  connections = 0;
  readonly seen: Seen[] = [];
  /** An answer of its own, or undefined to let the request through. */
  answer: (request: Seen) => OwnAnswer | undefined = () => undefined;
  /** What is made of a JSON answer that comes back. */
  rewrite: (request: Seen, body: Json) => Json = (_, body) => body;
  /** The key that the control plane is shown in place of the one that came. */
  exchangeKey: (authorization: string) => string = (authorization) => authorization;
  /** Sees to the exchange in place of all of these, or undefined to leave it to them. */
  disturb: (request: Seen) => ((exchange: Exchange) => unknown) | undefined = () => undefined;
  readonly #target: () => string;
  readonly #tls: { readonly cert: string; readonly key: string } | undefined;

  constructor(target: () => string, tls?: { readonly cert: string; readonly key: string }) {
    this.#target = target;
    this.#tls = tls;
  }

  async start(): Promise<this> {
    if (world.network) {
      this.url = world.network.open(async ({ method, path, headers, body }) => {
        const seen = this.#see(method, path, headers, body);
        const answer = this.answer(seen) ?? (await this.#forward(seen).catch(() => undefined));
        return answer && { headers: {}, ...answer, body: JSON.stringify(answer.body) };
      });
      return this;
    }
    const listener: RequestListener = (request, response) => {
      // The control plane is gone, and so is whoever stands before it.
      this.#serve(request, response).catch(() => response.destroy());
    };
    const server = this.#tls ? createTlsServer(this.#tls, listener) : createServer(listener);
    server.on('connection', () => (this.connections += 1));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const { port } = server.address() as AddressInfo;
    this.url = this.#tls ? `https://localhost:${port}` : `http://127.0.0.1:${port}`;
    return this;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET', url: path = '/', headers } = request;
    const seen = this.#see(method, path, headers, await text(request));
    const disturbance = this.disturb(seen);
    if (disturbance) {
      await disturbance({ response, socket: request.socket, forward: () => this.#forward(seen) });
      return;
    }
    const answer = this.answer(seen) ?? (await this.#forward(seen));
    response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers });
    response.end(JSON.stringify(answer.body));
  }

  #see(
    method: string,
    path: string,
    headers: Readonly<Record<string, string | string[] | undefined>>,
    body: string,
  ): Seen {
    const idempotencyKey = String(headers['idempotency-key'] ?? '');
    const authorization = String(headers['authorization'] ?? '');
    const seen = { method, path, authorization, idempotencyKey, body, atMs: world.nowMs() };
    this.seen.push(seen);
    return seen;
  }

  async #forward(seen: Seen): Promise<OwnAnswer> {
    const { method, path, authorization, idempotencyKey, body } = seen;
    const ask = world.network?.fetch ?? fetch;
    const answer = await ask(`${this.#target()}${path}`, {
      method,
      headers: {
        ...(authorization ? { authorization: this.exchangeKey(authorization) } : {}),
        ...(idempotencyKey ? { 'idempotency-key': idempotencyKey } : {}),
        ...(body ? { 'content-type': 'application/json' } : {}),
      },
      ...(body ? { body } : {}),
    });
    const retryAfter = answer.headers.get('retry-after');
    return {
      status: answer.status,
      body: this.rewrite(seen, await answer.json()),
      ...(retryAfter ? { headers: { 'retry-after': retryAfter } } : {}),
    };
  }
}
