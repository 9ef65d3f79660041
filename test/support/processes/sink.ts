/** A sink of Notifications that remembers what it gets, on a real socket or in the simulated world. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { world } from '../world.ts';
import type { Json } from './fleet.ts';

export interface ReceivedMessage {
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
  readonly body: Json;
}

/** `hang`: it never answers. */
export type SinkAnswer = number | 'hang';

export class TestSink {
  readonly received: ReceivedMessage[] = [];
  answer: SinkAnswer = 204;
  url = '';

  async open(): Promise<this> {
    if (world.network) {
      this.url = world.network.open(({ headers, body }) => this.#take(headers, body));
      return this;
    }
    const server = createServer((request, response) => {
      let text = '';
      request.on('data', (part: Buffer) => (text += part.toString()));
      request.on('end', () => {
        void this.#take(request.headers, text).then((reply) =>
          response.writeHead(reply.status, reply.headers).end(reply.body),
        );
      });
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    onTestFinished(() => server.close().closeAllConnections());
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return this;
  }

  /** By type. */
  get types(): string[] {
    return this.received.map(({ body }) => body.type);
  }

  #take(headers: Readonly<Record<string, unknown>>, text: string) {
    this.received.push({ headers, text, body: JSON.parse(text) });
    // In the simulated world, time stands still while a host is busy.
    if (this.answer === 'hang' && !world.network) return new Promise<never>(() => {});
    const status = this.answer === 'hang' ? 0 : this.answer;
    return Promise.resolve({ status, headers: {}, body: 'what a sink answers is not shown' });
  }
}
