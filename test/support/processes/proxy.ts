/** A control plane that is another one than ours: what the reference answers, as somebody else would have put it. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { world } from '../world.ts';

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

/** Changes a service, in whatever answer it is. */
export type Edit = (service: Json) => Json;

export class Proxy {
  readonly #target: string;
  readonly #server = createServer((request, response) => void this.#pass(request, response));
  edit: Edit = (service) => service;
  /** Services that no read shows: as behind a replica that lags, or is empty. */
  hides: (service: Json) => boolean = () => false;
  url = '';

  constructor(target: string) {
    this.#target = target;
  }

  /** Ends with the test. */
  async start(): Promise<this> {
    if (world.network) {
      const { open, fetch: ask } = world.network;
      this.url = open(async ({ method, path, headers, body }) => {
        const sent = ask(`${this.#target}${path}`, { method, headers, ...(body && { body }) });
        const answer = await sent.catch(() => undefined);
        return answer && { headers: {}, ...this.#shown(answer, await answer.text()) };
      });
      return this;
    }
    await new Promise<void>((resolve) => {
      this.#server.listen(0, '127.0.0.1', resolve);
    });
    onTestFinished(() => {
      this.#server.closeAllConnections();
      this.#server.close();
    });
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    return this;
  }

  async #pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { host: _host, connection: _connection, ...headers } = request.headers;
    try {
      const answer = await fetch(`${this.#target}${request.url}`, {
        method: request.method ?? 'GET',
        headers: headers as Record<string, string>,
        ...(chunks.length > 0 && { body: Buffer.concat(chunks) }),
      });
      const text = await answer.text();
      const { status, body } = this.#shown(answer, text);
      response.writeHead(status, { 'content-type': 'application/json' }).end(body);
    } catch {
      request.socket.destroy();
    }
  }

  #shown({ ok, status }: Response, text: string): { status: number; body: string } {
    if (!ok) return { status, body: text };
    const body: Json = JSON.parse(text);
    if (body.service && this.hides(body.service)) {
      return {
        status: 404,
        body: JSON.stringify({ error: { code: 'not_found', message: 'no such service' } }),
      };
    }
    return { status, body: JSON.stringify(this.#edited(body)) };
  }

  #edited(body: Json): Json {
    if (Array.isArray(body.services)) {
      const services = body.services.filter((service: Json) => !this.hides(service)).map(this.edit);
      return { ...body, services };
    }
    if (body.service) return { ...body, service: this.edit(body.service) };
    return body.state === undefined ? body : this.edit(body);
  }
}
