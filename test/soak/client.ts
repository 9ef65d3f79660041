/**
 * One random client: it sends, waits for the answer, thinks for a moment, and sends again. A request whose answer
 * was lost, because the server was killed, is sent again with the same key and body until there is an answer.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { request as sendHttp } from 'undici';
import type { SeededRandom } from '../support/seeded-random.ts';
import { nextRequest } from './actions.ts';
import type { Oracle } from './oracle.ts';
import { requireThat, type Reply, type SentRequest, type SoakRequest } from './requests.ts';

/** The server, which comes and goes. */
export interface Line {
  /** Resolves while it is up. */
  up(): Promise<void>;
  readonly url: string;
  /** Whether a connection may be lost now. */
  readonly isDying: boolean;
  /** Whether clients send as fast as they can. */
  readonly isBurst: boolean;
}

export interface ClientParts {
  readonly account: string;
  readonly apiKey: string;
  readonly random: SeededRandom;
  readonly oracle: Oracle;
  readonly line: Line;
  readonly count: () => number;
  readonly log: (entry: string) => void;
}

const longestThoughtMs = 30;
const repetitionShare = 0.04;
const answerTimeoutMs = 30_000;

export class Client {
  readonly #parts: ClientParts;

  constructor(parts: ClientParts) {
    this.#parts = parts;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { random, line } = this.#parts;
    while (!signal.aborted) {
      await line.up();
      if (random.chance(repetitionShare)) await this.#repeat();
      else await this.perform(nextRequest(this.#parts));
      await delay(line.isBurst ? 0 : random.between(0, longestThoughtMs));
    }
  }

  /** Sends until there is an answer, and has it judged. */
  async perform(request: SoakRequest): Promise<Reply> {
    const key = request.method === 'GET' ? undefined : this.#parts.random.uuid();
    return this.#deliver({ ...request, account: this.#parts.account, key });
  }

  /** An accepted mutation again, or its key with another request, which must be refused. */
  async #repeat(): Promise<void> {
    const { account, random, oracle } = this.#parts;
    const accepted = oracle.acceptedBy(account);
    if (accepted.length === 0) return;
    const { request } = random.pick(accepted);
    if (random.chance(0.7)) {
      await this.#deliver(request);
      return;
    }
    const body = { name: 'another request', image: 'nginx' };
    const other = { method: 'POST', path: '/api/templates', body, account, key: request.key } as const;
    const { status, text } = await this.#exchange(other);
    requireThat(status === 409, () => `R2: a key was taken for another request: ${status} ${text}`);
  }

  async #deliver(request: SentRequest): Promise<Reply> {
    const { oracle, log } = this.#parts;
    const floor = oracle.begin(request);
    const reply = await this.#exchange(request);
    const { account, method, path, body } = request;
    log(
      `${account} ${method} ${path} ${JSON.stringify(body) ?? ''} -> ${reply.status} ${reply.text.slice(0, 160)}`,
    );
    oracle.end(floor, reply);
    return reply;
  }

  async #exchange(request: SentRequest): Promise<Reply> {
    const { line, log } = this.#parts;
    for (;;) {
      await line.up();
      try {
        return await this.#send(request);
      } catch (error) {
        log(`${request.account} ${request.method} ${request.path} -> ${String(error)}`);
        requireThat(line.isDying, () => `the connection was lost while the server was up: ${String(error)}`);
      }
    }
  }

  async #send({ method, path, body, key }: SentRequest): Promise<Reply> {
    const { apiKey, line } = this.#parts;
    const response = await sendHttp(line.url + path, {
      method,
      headersTimeout: answerTimeoutMs,
      bodyTimeout: answerTimeoutMs,
      headers: {
        authorization: `Bearer ${apiKey}`,
        ...(key !== undefined && { 'idempotency-key': key }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.body.text();
    const isJson = String(response.headers['content-type']).startsWith('application/json');
    return {
      status: response.statusCode,
      text,
      body: isJson ? JSON.parse(text) : undefined,
      isReplay: response.headers['idempotency-replayed'] === 'true',
    };
  }
}
