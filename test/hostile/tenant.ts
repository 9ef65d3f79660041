/** Whoever has a key, and asks as the contract wants it. */
import { randomUUID } from 'node:crypto';
import { Agent, request } from 'node:http';

/** Whatever the API answers. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Json = any;

const timeoutMs = 10_000;

export class Tenant {
  url: string;
  readonly #apiKey: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 4 });

  constructor(url: string, apiKey: string) {
    this.url = url;
    this.#apiKey = apiKey;
  }

  /** Rejects unless it was done. */
  async ok(method: string, path: string, body?: object): Promise<Json> {
    for (;;) {
      const { status, text } = await this.send(method, path, body);
      if (status === 200 || status === 201) return JSON.parse(text);
      // Its lifecycle went on between the read and the write.
      if (status !== 409 || method !== 'PATCH') throw new Error(`${method} ${path}: ${status} ${text}`);
      const { service } = await this.ok('GET', path);
      Object.assign(body ?? {}, { revision: service.revision });
    }
  }

  /** Status 0: the connection was cut. */
  send(method: string, path: string, body?: object): Promise<{ status: number; text: string }> {
    return new Promise((resolve) => {
      const headers = {
        authorization: `Bearer ${this.#apiKey}`,
        ...(method !== 'GET' && { 'idempotency-key': randomUUID() }),
        ...(body && { 'content-type': 'application/json' }),
      };
      const sent = request(`${this.url}${path}`, { method, headers, agent: this.#agent }, (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (part: string) => (text += part));
        response.once('close', () =>
          resolve({ status: response.complete ? (response.statusCode ?? 0) : 0, text }),
        );
      });
      sent.once('error', (error) => resolve({ status: 0, text: error.message }));
      sent.setTimeout(timeoutMs, () => sent.destroy());
      sent.end(body && JSON.stringify(body));
    });
  }
}
