/** The reference control plane, with its admin address. */
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { isSimulated, world, type RunningPlane } from '../world.ts';
import { launch, type Program } from './processes.ts';

/** Whatever the API answers. */
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

export const apiKey = 'key-of-acme-0123456789';

export interface RecordedRequest {
  readonly at: string;
  readonly method: string;
  readonly path: string;
  readonly idempotencyKey: string | null;
  readonly bodyDigest: string | null;
  readonly status: number | null;
  readonly fault?: string;
}

export interface ControlPlaneFlags {
  readonly timeScale?: number;
  readonly accounts?: string;
  /** YAML; absent: the configuration that is built in. A process has none. */
  readonly config?: string;
  /** Where a process listens; 127.0.0.1 unless given. */
  readonly host?: string;
}

/** The most that one page has. */
const ledgerPage = 200;

const oneAccount = `accounts: [{name: acme, email: a@b.example, balanceMicros: 1000000000, apiKeys: [${apiKey}]}]`;

/** In this process, until the test ends. */
export class ControlPlane {
  readonly #folder: string;
  readonly #flags: ControlPlaneFlags;
  #plane: RunningPlane | undefined;
  #adminUrl = '';
  url = '';

  constructor(folder: string, flags: ControlPlaneFlags = {}) {
    this.#folder = folder;
    this.#flags = flags;
  }

  /** Starts it, the second time at the same address and on the same database. */
  async start(): Promise<this> {
    const { config } = this.#flags;
    const plane = await world.startPlane({
      port: this.port,
      database: this.database,
      ...this.settings,
      config,
    });
    this.#plane = plane;
    onTestFinished(() => this.stop());
    this.reachedAt(plane.url, plane.adminUrl);
    return this;
  }

  async stop(): Promise<void> {
    const plane = this.#plane;
    this.#plane = undefined;
    await plane?.close();
  }

  /** As kill -9 does, in a simulated world. */
  protected crash(): void {
    this.#plane?.crash?.();
    this.#plane = undefined;
  }

  protected reachedAt(url: string, adminUrl: string): void {
    this.url = url;
    this.#adminUrl = adminUrl;
  }

  get adminUrl(): string {
    return this.#adminUrl;
  }

  /** Of a simulated one that runs. */
  get inside(): NonNullable<RunningPlane['inside']> {
    const inside = this.#plane?.inside;
    if (!inside) throw new Error('only a simulated control plane that runs can be seen from inside');
    return inside;
  }

  /** 0 picks a free one. */
  protected get port(): number {
    return this.url === '' ? 0 : Number(new URL(this.url).port);
  }

  protected get settings(): Required<Omit<ControlPlaneFlags, 'config' | 'host'>> {
    const { timeScale = 60, accounts = oneAccount } = this.#flags;
    return { timeScale, accounts };
  }

  protected get host(): string {
    return this.#flags.host ?? '127.0.0.1';
  }

  protected get folder(): string {
    return this.#folder;
  }

  get database(): string {
    return path.join(this.#folder, 'control-plane.db');
  }

  /** As somebody with the same key, but not the manager. */
  async call(method: string, apiPath: string, body?: unknown): Promise<Json> {
    const response = await world.fetch(`${this.url}${apiPath}`, {
      method,
      headers: {
        authorization: `Bearer ${apiKey}`,
        ...(method === 'GET' ? {} : { 'idempotency-key': randomUUID() }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answer: Json = await response.json();
    if (!response.ok) throw new Error(`${method} ${apiPath}: ${response.status} ${JSON.stringify(answer)}`);
    return answer;
  }

  account(): Promise<Json> {
    return this.call('GET', '/api/account');
  }

  async service(name: string): Promise<Json> {
    const { services } = await this.account();
    return services.find((service: Json) => service.name === name);
  }

  async volume(prefix: string): Promise<Json> {
    const { volumes } = await this.account();
    return volumes.find((volume: Json) => String(volume.name).startsWith(prefix));
  }

  async faults(list: readonly object[]): Promise<void> {
    await this.#admin('PUT', '/faults', list);
  }

  /** What its ledger has taken from the account, in micro-USD: all entries that are written. */
  async chargedMicros(name: string): Promise<number> {
    const charges = new Map<number, number>();
    for (let offset = 0; ; offset += ledgerPage) {
      const page: Json = await this.#admin(
        'GET',
        `/admin/v1/ledger?account=${name}&offset=${offset}&limit=${ledgerPage}`,
      );
      // By number: what is written meanwhile moves the others on.
      for (const { number, amountMicros } of page.items)
        if (number !== null && amountMicros < 0) charges.set(number, -amountMicros);
      if (page.items.length < ledgerPage) break;
    }
    return [...charges.values()].reduce((sum, micros) => sum + micros, 0);
  }

  /** How many requests the faults have hit. */
  async faultHits(): Promise<number> {
    const answer: Json = await this.#admin('GET', '/faults');
    const list: { hits: number }[] = Array.isArray(answer) ? answer : answer.faults;
    return list.reduce((sum, { hits }) => sum + hits, 0);
  }

  async requests(): Promise<RecordedRequest[]> {
    const { requests } = await this.#admin('GET', '/requests');
    return requests;
  }

  async forgetRequests(): Promise<void> {
    await this.#admin('DELETE', '/requests');
  }

  async #admin(method: string, adminPath: string, body?: unknown): Promise<Json> {
    const response = await world.fetch(`${this.#adminUrl}${adminPath}`, {
      method,
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
    if (!response.ok) throw new Error(`${method} ${adminPath}: ${response.status} ${await response.text()}`);
    const text = await response.text();
    return text ? JSON.parse(text) : undefined;
  }
}

/** As a process of its own, which can be killed; a simulated one always can. */
export class ControlPlaneProcess extends ControlPlane {
  readonly #more: readonly string[];
  #program: Program | undefined;

  /** `more`: further flags, as they are written. */
  constructor(folder: string, flags: ControlPlaneFlags = {}, more: readonly string[] = []) {
    super(folder, flags);
    this.#more = more;
  }

  override async start(): Promise<this> {
    if (isSimulated) return super.start();
    const accounts = path.join(this.folder, 'accounts.yaml');
    await writeFile(accounts, this.settings.accounts);
    const { timeScale } = this.settings;
    const program = launch(
      [
        ['control-plane', '--listen', `${this.host}:${this.port}`, '--admin-listen', '127.0.0.1:0'],
        ['--database', this.database, '--accounts', accounts, '--time-scale', String(timeScale)],
        this.#more,
      ].flat(),
    );
    const [, url = ''] = await program.line(/^listening on (.*)$/);
    const [, adminUrl = ''] = await program.line(/^admin on (.*)$/);
    this.reachedAt(url, adminUrl);
    this.#program = program;
    return this;
  }

  get pid(): number | undefined {
    return this.#program?.pid;
  }

  async kill(): Promise<void> {
    if (isSimulated) this.crash();
    await this.#program?.kill('SIGKILL');
  }

  /** Asks it to end, and waits until it has; its exit code. */
  async end(): Promise<number | null | undefined> {
    return (await this.#program?.kill('SIGTERM'))?.code;
  }
}

export function isMutation({ method }: RecordedRequest): boolean {
  return method !== 'GET';
}

/** Keys that were seen with more than one body: there must be none. */
export function keysWithTwoBodies(requests: readonly RecordedRequest[]): string[] {
  const bodies = new Map<string, string>();
  const wrong: string[] = [];
  for (const { idempotencyKey, method, path: where, bodyDigest } of requests) {
    if (idempotencyKey === null) continue;
    const body = `${method} ${where} ${bodyDigest}`;
    const before = bodies.get(idempotencyKey);
    if (before !== undefined && before !== body) wrong.push(idempotencyKey);
    bodies.set(idempotencyKey, body);
  }
  return wrong;
}
