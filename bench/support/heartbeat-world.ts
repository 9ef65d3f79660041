/** A real manager over a folder with many protected tasks, before a real control plane of its own. */
import type { ChildProcess } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { stringify } from 'yaml';
import type { Fault } from '../../src/control-plane/faults.ts';
import { addressIn, cpuSecondsOf, linesOf, start } from './program.ts';

/** The control plane takes at most 1,000 unreleased activities per service. */
const tasksPerService = 500;
const apiKey = 'key-of-the-benchmark';
const apiVersion = 'fleetkeeper.dev/v1alpha1';

/** As the control plane saw it come. */
export interface Beat {
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

export class HeartbeatWorld {
  readonly #folder: string;
  readonly #plane: ChildProcess;
  readonly #manager: ChildProcess;
  readonly #url: string;
  readonly #adminUrl: string;

  /** Resolves when every task is registered. */
  static async start(tasks: number): Promise<HeartbeatWorld> {
    const folder = await mkdtemp(path.join(tmpdir(), 'fleetkeeper-heartbeats-'));
    const accounts = path.join(folder, 'accounts.yaml');
    const account = { name: 'bench', email: 'b@example.com', apiKeys: [apiKey] };
    await writeFile(accounts, stringify({ accounts: [account] }));
    const listeners = ['--listen', '127.0.0.1:0', '--admin-listen', '127.0.0.1:0'];
    const plane = start(['control-plane', ...listeners, '--database', ':memory:', '--accounts', accounts]);
    const lines = linesOf(plane);
    const url = await addressIn(lines, /^listening on (.*)$/);
    const adminUrl = await addressIn(lines, /^admin on (.*)$/);
    const fleet = path.join(folder, 'fleet');
    await mkdir(fleet);
    const documents = documentsOf(tasks, url).map((document) => stringify(document));
    await writeFile(path.join(fleet, 'fleet.yaml'), documents.join('---\n'));
    const manager = start(['run', '--source', fleet, '--log-level', 'error', '--listen', '127.0.0.1:0']);
    await addressIn(linesOf(manager), /^listening on (.*)$/);
    const world = new HeartbeatWorld(folder, plane, manager, url, adminUrl);
    while ((await world.activities()).length < tasks) await delay(500);
    return world;
  }

  private constructor(
    folder: string,
    plane: ChildProcess,
    manager: ChildProcess,
    url: string,
    adminUrl: string,
  ) {
    this.#folder = folder;
    this.#plane = plane;
    this.#manager = manager;
    this.#url = url;
    this.#adminUrl = adminUrl;
  }

  /** Of the manager so far, user and system. */
  cpuSeconds(): Promise<number> {
    return cpuSecondsOf(this.#manager);
  }

  async beats(fromMs: number, untilMs: number): Promise<Beat[]> {
    const response = await fetch(`${this.#adminUrl}/requests`);
    const { requests } = (await response.json()) as { requests: JournalEntry[] };
    return requests
      .filter(({ method, path: where }) => method === 'POST' && where.endsWith('/activity'))
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
    this.#manager.kill('SIGTERM');
    this.#plane.kill('SIGKILL');
    await rm(this.#folder, { recursive: true });
  }

  async #read(where: string): Promise<unknown> {
    const response = await fetch(`${this.#url}${where}`, { headers: { authorization: `Bearer ${apiKey}` } });
    return response.json();
  }
}

function documentsOf(tasks: number, url: string): object[] {
  const services = Array.from({ length: Math.ceil(tasks / tasksPerService) }, (_, index) => ({
    apiVersion,
    kind: 'ContainerService',
    metadata: { name: `service-${index}` },
    spec: { region: 'standard', image: 'app:1', resources: { cpu: 1, memoryGb: 1 } },
  }));
  const requests = { perSecond: 1000, burst: 100, concurrency: 8 };
  return [
    {
      apiVersion,
      kind: 'Account',
      metadata: { name: 'default' },
      spec: { url, credentialsSecretRef: { name: 'key', key: 'key' }, requests },
    },
    { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'key' }, stringData: { key: apiKey } },
    ...services,
    ...Array.from({ length: tasks }, (_, index) => ({
      apiVersion,
      kind: 'ProtectedTask',
      metadata: { name: `task-${index}` },
      spec: { serviceRef: { name: `service-${Math.floor(index / tasksPerService)}` } },
    })),
  ];
}
