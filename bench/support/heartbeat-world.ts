/** A real manager over a folder with many protected tasks, or who does its work for comparison, before a real control plane of its own. */
import { fork, type ChildProcess } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { stringify } from 'yaml';
import type { Fault } from '../../src/control-plane/http/faults.ts';
import type { NaiveTimers } from '../peers/naive-timers.ts';
import { answerOf } from './processes.ts';
import { addressIn, cpuSecondsOf, linesOf, start } from './program.ts';

/** The control plane takes at most 1,000 unreleased activities per service. */
const tasksPerService = 500;
const apiKey = 'key-of-the-benchmark';
const apiVersion = 'fleetkeeper.dev/v1alpha1';

/** As the control plane saw it come. */
export interface SentHeartbeat {
  readonly atMs: number;
  /** Null without an answer. */
  readonly status: number | null;
}

export interface ListedActivity {
  readonly id: string;
  readonly lastHeartbeatAt: number;
  readonly fresh: boolean;
}

interface JournalEntry {
  readonly at: string;
  readonly method: string;
  readonly path: string;
  readonly status: number | null;
}

export interface HeartbeatWorldOptions {
  /** Of the account, by the manager's own limiter. */
  readonly requestsPerSecond: number;
  /** Who keeps the tasks: the manager, or a program for comparison. */
  readonly loop: 'manager' | 'naive timers';
}

const manyRequests: HeartbeatWorldOptions = { requestsPerSecond: 1000, loop: 'manager' };

export class HeartbeatWorld {
  readonly #folder: string;
  readonly #plane: ChildProcess;
  readonly #heartbeats: ChildProcess;
  readonly #burst: (services: number) => Promise<void>;
  readonly #url: string;
  readonly #adminUrl: string;

  /** Resolves when every task is registered. */
  static async start(
    tasks: number,
    { requestsPerSecond, loop: kind }: HeartbeatWorldOptions = manyRequests,
  ): Promise<HeartbeatWorld> {
    const folder = await mkdtemp(path.join(tmpdir(), 'fleetkeeper-heartbeats-'));
    const accounts = path.join(folder, 'accounts.yaml');
    const account = { name: 'bench', email: 'b@example.com', balanceMicros: 10 ** 15, apiKeys: [apiKey] };
    await writeFile(accounts, stringify({ accounts: [account] }));
    const listeners = ['--listen', '127.0.0.1:0', '--admin-listen', '127.0.0.1:0'];
    const plane = start(['control-plane', ...listeners, '--database', ':memory:', '--accounts', accounts]);
    const lines = linesOf(plane);
    const url = await addressIn(lines, /^listening on (.*)$/);
    const adminUrl = await addressIn(lines, /^admin on (.*)$/);
    const startHeartbeatLoop = kind === 'manager' ? startManager : startNaiveTimers;
    const { loop, burst } = await startHeartbeatLoop({ folder, url, tasks, requestsPerSecond });
    const world = new HeartbeatWorld({ folder, plane, loop, burst, url, adminUrl });
    while ((await world.activities()).length < tasks) await delay(500);
    return world;
  }

  private constructor(parts: {
    readonly folder: string;
    readonly plane: ChildProcess;
    readonly loop: ChildProcess;
    readonly burst: (services: number) => Promise<void>;
    readonly url: string;
    readonly adminUrl: string;
  }) {
    this.#folder = parts.folder;
    this.#plane = parts.plane;
    this.#heartbeats = parts.loop;
    this.#burst = parts.burst;
    this.#url = parts.url;
    this.#adminUrl = parts.adminUrl;
  }

  /** Has the loop of the tasks create so many services, as fast as it can; resolves when it knows of them. */
  burst(services: number): Promise<void> {
    return this.#burst(services);
  }

  /** Of who keeps the tasks, so far, user and system. */
  cpuSeconds(): Promise<number> {
    return cpuSecondsOf(this.#heartbeats);
  }

  heartbeats(fromMs: number, untilMs: number): Promise<SentHeartbeat[]> {
    return this.#posts(/\/activity$/, fromMs, untilMs);
  }

  /** Creations of services, accepted or not. */
  creations(fromMs: number, untilMs: number): Promise<SentHeartbeat[]> {
    return this.#posts(/^\/api\/services$/, fromMs, untilMs);
  }

  async #posts(where: RegExp, fromMs: number, untilMs: number): Promise<SentHeartbeat[]> {
    const response = await fetch(`${this.#adminUrl}/requests`);
    const { requests } = (await response.json()) as { requests: JournalEntry[] };
    return requests
      .filter(({ method, path: requested }) => method === 'POST' && where.test(requested))
      .map(({ at, status }) => ({ atMs: Date.parse(at), status }))
      .filter(({ atMs }) => atMs >= fromMs && atMs < untilMs);
  }

  async activities(): Promise<ListedActivity[]> {
    const { services } = (await this.#read('/api/account')) as { services: { id: string }[] };
    const lists = await Promise.all(services.map(({ id }) => this.#read(`/api/services/${id}/activity`)));
    return lists.flatMap((list) => (list as { activities: ListedActivity[] }).activities);
  }

  async setFaults(faults: readonly Fault[]): Promise<void> {
    const response = await fetch(`${this.#adminUrl}/faults`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(faults),
    });
    if (!response.ok) throw new Error(`faults: ${response.status} ${await response.text()}`);
  }

  async end(): Promise<void> {
    this.#heartbeats.kill('SIGTERM');
    this.#plane.kill('SIGKILL');
    await rm(this.#folder, { recursive: true });
  }

  /** Again until it is answered: the loop under test uses up the account's rate. */
  async #read(where: string, attempts = 10): Promise<unknown> {
    const headers = { authorization: `Bearer ${apiKey}` };
    const response = await fetch(`${this.#url}${where}`, { headers });
    if (response.ok) return response.json();
    const answer = `${where}: ${response.status} ${await response.text()}`;
    if (response.status !== 429 || attempts === 1) throw new Error(answer);
    await delay(1000);
    return this.#read(where, attempts - 1);
  }
}

interface HeartbeatSettings {
  readonly folder: string;
  readonly url: string;
  readonly tasks: number;
  readonly requestsPerSecond: number;
}

interface HeartbeatLoop {
  readonly loop: ChildProcess;
  readonly burst: (services: number) => Promise<void>;
}

async function startManager({
  folder,
  url,
  tasks,
  requestsPerSecond,
}: HeartbeatSettings): Promise<HeartbeatLoop> {
  const fleet = path.join(folder, 'fleet');
  await mkdir(fleet);
  const write = (file: string, documents: readonly object[]) =>
    writeFile(path.join(fleet, file), documents.map((document) => stringify(document)).join('---\n'));
  await write('fleet.yaml', documentsOf(tasks, url, requestsPerSecond));
  const loop = start(['run', '--source', fleet, '--log-level', 'error', '--listen', '127.0.0.1:0']);
  await addressIn(linesOf(loop), /^listening on (.*)$/);
  const burst = (services: number) => write('burst.yaml', servicesOf('burst', services));
  return { loop, burst };
}

async function startNaiveTimers({
  url,
  tasks,
  requestsPerSecond,
}: HeartbeatSettings): Promise<HeartbeatLoop> {
  const settings: NaiveTimers = { url, apiKey, tasks, tasksPerService, requestsPerSecond };
  const file = path.join(import.meta.dirname, '../peers/naive-timers.ts');
  const loop = fork(file, [JSON.stringify(settings)]);
  process.once('exit', () => loop.kill('SIGKILL'));
  await answerOf(loop);
  const burst = async (services: number) => {
    loop.send(services);
  };
  return { loop, burst };
}

function servicesOf(name: string, count: number): object[] {
  return Array.from({ length: count }, (_, index) => ({
    apiVersion,
    kind: 'ContainerService',
    metadata: { name: `${name}-${index}` },
    spec: { region: 'standard', image: 'app:1', resources: { cpu: 1, memoryGb: 1 } },
  }));
}

function documentsOf(tasks: number, url: string, requestsPerSecond: number): object[] {
  const requests = { perSecond: requestsPerSecond, burst: 100, concurrency: 8 };
  return [
    {
      apiVersion,
      kind: 'Account',
      metadata: { name: 'default' },
      spec: { url, credentialsSecretRef: { name: 'key', key: 'key' }, requests },
    },
    { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'key' }, stringData: { key: apiKey } },
    ...servicesOf('service', Math.ceil(tasks / tasksPerService)),
    ...Array.from({ length: tasks }, (_, index) => ({
      apiVersion,
      kind: 'ProtectedTask',
      metadata: { name: `task-${index}` },
      spec: { serviceRef: { name: `service-${Math.floor(index / tasksPerService)}` } },
    })),
  ];
}
