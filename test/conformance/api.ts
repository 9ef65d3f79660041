/**
 * Requests as the contract has them, and nothing of ours: a key in `Authorization`, a new Idempotency-Key for
 * each mutation, JSON. A 429 is obeyed: the request is sent again after its `Retry-After`, with the same key.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

/** Whatever is answered; tests look into it freely. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Json = any;

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Undefined when the text is not JSON. */
  readonly body: Json;
}

interface RequestOptions {
  /** Null sends none. */
  readonly idempotencyKey?: string | null;
}

const answerTimeoutMs = 60_000;
const longestPauseMs = 120_000;

export class Api {
  readonly #url: string;
  readonly #apiKey: string | undefined;

  /** Without a key nothing is sent to authenticate. */
  constructor(url: string, apiKey: string | undefined) {
    this.#url = url;
    this.#apiKey = apiKey;
  }

  as(apiKey: string | undefined): Api {
    return new Api(this.#url, apiKey);
  }

  /** The answer, whatever it is, but not 429. */
  async call(method: string, path: string, body?: unknown, options: RequestOptions = {}): Promise<Answer> {
    const idempotencyKey = options.idempotencyKey === undefined ? randomUUID() : options.idempotencyKey;
    for (;;) {
      const answer = await this.callOnce(method, path, body, { idempotencyKey });
      if (answer.status !== 429) return answer;
      await delay(pauseMs(answer));
    }
  }

  async callOnce(
    method: string,
    path: string,
    body?: unknown,
    { idempotencyKey = randomUUID() }: RequestOptions = {},
  ): Promise<Answer> {
    const response = await fetch(this.#url + path, {
      method,
      redirect: 'error',
      signal: AbortSignal.timeout(answerTimeoutMs),
      headers: {
        ...(this.#apiKey !== undefined && { authorization: `Bearer ${this.#apiKey}` }),
        ...(method !== 'GET' && idempotencyKey !== null && { 'idempotency-key': idempotencyKey }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: parsed(text) };
  }

  /** Expects this status, and gives the body. */
  async expect(status: number, method: string, path: string, body?: unknown): Promise<Json> {
    const answer = await this.call(method, path, body);
    if (answer.status !== status) {
      throw new Error(`${method} ${path}: ${status} was expected, not ${answer.status} ${answer.text}`);
    }
    return answer.body;
  }

  /** Expects any 2xx: for answers whose status the contract does not show. */
  async expectSuccess(method: string, path: string, body?: unknown): Promise<Json> {
    const answer = await this.call(method, path, body);
    if (answer.status < 200 || answer.status > 299) {
      throw new Error(`${method} ${path} was refused: ${answer.status} ${answer.text}`);
    }
    return answer.body;
  }

  get(path: string): Promise<Json> {
    return this.expect(200, 'GET', path);
  }

  async service(id: string): Promise<Json> {
    return (await this.get(`/api/services/${id}`)).service;
  }

  async volume(id: string): Promise<Json> {
    return (await this.get(`/api/volumes/${id}`)).volume;
  }

  async account(): Promise<Json> {
    return this.get('/api/account');
  }
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function pauseMs(answer: Answer): number {
  const header = answer.headers.get('retry-after') ?? '';
  if (!/^\d+$/.test(header)) {
    throw new Error(`§7 rule 3: a 429 carries Retry-After in seconds, not "${header}"`);
  }
  const retryAfterMs = Number(header) * 1000;
  if (retryAfterMs > longestPauseMs) throw new Error(`a 429 asks to wait ${header} s; try again then`);
  return retryAfterMs;
}
