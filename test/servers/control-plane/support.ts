import { randomUUID } from 'node:crypto';
import pino from 'pino';
import type { Clock } from '../../../src/base/clock.ts';
import { systemRandom } from '../../../src/base/random.ts';
import {
  startControlPlane,
  type AccountsFile,
  type ControlPlane,
  type ControlPlaneOptions,
} from '../../../src/control-plane/main.ts';
import { ManualClock } from '../../support/manual-clock.ts';

/** Anything that the API answers; tests look into it freely. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Json = any;

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: Json;
}

export const key = {
  alice: 'key-of-alice',
  bob: 'key-of-bob',
  newcomer: 'key-of-newcomer',
  poor: 'key-of-poor',
};

export const accounts: AccountsFile = {
  accounts: [
    account('alice', 100_000_000),
    account('bob', 100_000_000),
    { ...account('newcomer', 100_000_000), emailVerified: false },
    account('poor', 0),
  ],
};

function account(name: keyof typeof key, balanceMicros: number) {
  return { name, email: `${name}@example.com`, emailVerified: true, balanceMicros, apiKeys: [key[name]] };
}

export const trainer = {
  name: 'trainer',
  region: 'standard',
  image: 'ghcr.io/acme/trainer:1.4',
  resources: { gpuCount: 1, cpu: 8, memoryGb: 32 },
};

export class World implements AsyncDisposable {
  readonly #plane: ControlPlane;
  readonly clock: ManualClock;
  /** Every body that was answered, for the search for secrets. */
  readonly answers: string[] = [];

  constructor(plane: ControlPlane, clock: ManualClock) {
    this.#plane = plane;
    this.clock = clock;
  }

  get url(): string {
    return this.#plane.url;
  }

  get adminUrl(): string {
    return String(this.#plane.adminUrl);
  }

  async call(
    method: string,
    path: string,
    body?: unknown,
    options: { as?: string; idempotencyKey?: string | null; headers?: Record<string, string> } = {},
  ): Promise<Answer> {
    const idempotencyKey = options.idempotencyKey === undefined ? randomUUID() : options.idempotencyKey;
    return this.#send(this.#plane.url + path, method, body, {
      authorization: `Bearer ${options.as ?? key.alice}`,
      ...(method !== 'GET' && idempotencyKey !== null && { 'idempotency-key': idempotencyKey }),
      ...options.headers,
    });
  }

  async admin(method: string, path: string, body?: unknown): Promise<Answer> {
    return this.#send(this.adminUrl + path, method, body, {});
  }

  /** Calls, expects success, and gives the body. */
  async ok(method: string, path: string, body?: unknown, as?: string): Promise<Json> {
    const answer = await this.call(method, path, body, as === undefined ? {} : { as });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.body;
  }

  /** Calls, and gives `status code` of the refusal. */
  async refusal(method: string, path: string, body?: unknown, as?: string): Promise<string> {
    const answer = await this.call(method, path, body, as === undefined ? {} : { as });
    return `${answer.status} ${answer.body?.error?.code}`;
  }

  async service(id: string): Promise<Json> {
    return (await this.ok('GET', `/api/services/${id}`)).service;
  }

  async volume(id: string): Promise<Json> {
    return (await this.ok('GET', `/api/volumes/${id}`)).volume;
  }

  /** A service that has become running. */
  async running(spec: object = {}, as?: string): Promise<Json> {
    const { id } = await this.ok('POST', '/api/services', { ...trainer, ...spec }, as);
    await this.clock.advance(8_000);
    return (await this.ok('GET', `/api/services/${id}`, undefined, as)).service;
  }

  async act(id: string, action: string, resources?: object): Promise<Json> {
    return this.ok('POST', `/api/services/${id}/actions`, { action, ...(resources && { resources }) });
  }

  async close(): Promise<void> {
    await this.#plane.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #send(url: string, method: string, body: unknown, headers: Record<string, string>): Promise<Answer> {
    const response = await fetch(url, {
      method,
      headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    this.answers.push(text);
    return { status: response.status, headers: response.headers, text, body: parsed(text) };
  }
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export type WorldOptions = Partial<Omit<ControlPlaneOptions, 'clock'>> & { clock?: ManualClock };

/** A control plane on a free port, whose time moves only when told to. */
export async function startWorld(options: WorldOptions = {}): Promise<World> {
  const clock = options.clock ?? new ManualClock();
  const plane = await startControlPlane({
    listen: { host: '127.0.0.1', port: 0 },
    adminListen: { host: '127.0.0.1', port: 0 },
    database: ':memory:',
    accounts,
    random: systemRandom,
    logger: pino({ level: 'silent' }),
    ...options,
    clock: clock satisfies Clock,
  });
  return new World(plane, clock);
}
