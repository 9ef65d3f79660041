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
        return (
          answer && { status: answer.status, headers: {}, body: this.#shown(answer.ok, await answer.text()) }
        );
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
      response
        .writeHead(answer.status, { 'content-type': 'application/json' })
        .end(this.#shown(answer.ok, text));
    } catch {
      request.socket.destroy();
    }
  }

  #shown(isOk: boolean, text: string): string {
    return isOk ? JSON.stringify(this.#edited(JSON.parse(text))) : text;
  }

  #edited(body: Json): Json {
    if (Array.isArray(body.services)) return { ...body, services: body.services.map(this.edit) };
    if (body.service) return { ...body, service: this.edit(body.service) };
    return body.state === undefined ? body : this.edit(body);
  }
}
