/** A server in front of the control plane that does what a broken provider or a proxy does: it answers by itself, or changes what goes through. */
import { createServer, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly authorization: string;
}

export interface OwnAnswer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export class Front {
  url = '';
  readonly seen: Seen[] = [];
  /** An answer of its own, or undefined to let the request through. */
  answer: (request: Seen) => OwnAnswer | undefined = () => undefined;
  /** What is made of a JSON answer that comes back. */
  rewrite: (request: Seen, body: Json) => Json = (_, body) => body;
  /** The key that the control plane is shown in place of the one that came. */
  exchangeKey: (authorization: string) => string = (authorization) => authorization;
  readonly #target: () => string;

  constructor(target: () => string) {
    this.#target = target;
  }

  async start(): Promise<this> {
    const server = createServer((request, response) => {
      const answered = async () => {
        const { status, body, headers = {} } = await this.#serve(request);
        response.writeHead(status, { 'content-type': 'application/json', ...headers });
        response.end(JSON.stringify(body));
      };
      // The control plane is gone, and so is whoever stands before it.
      answered().catch(() => response.destroy());
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return this;
  }

  async #serve(request: IncomingMessage): Promise<OwnAnswer> {
    const { method = 'GET', url: path = '/', headers } = request;
    const seen = { method, path, authorization: headers.authorization ?? '' };
    this.seen.push(seen);
    const body = await text(request);
    const own = this.answer(seen);
    if (own) return own;
    const key = headers['idempotency-key'];
    const answer = await fetch(`${this.#target()}${path}`, {
      method,
      headers: {
        ...(seen.authorization ? { authorization: this.exchangeKey(seen.authorization) } : {}),
        ...(typeof key === 'string' ? { 'idempotency-key': key } : {}),
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
