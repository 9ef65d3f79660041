/** A folder of documents before a control plane of its own: what folder mode is measured on. Both are real; the control plane is a process. */
import { randomUUID } from 'node:crypto';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { stringify } from 'yaml';
import type { Fault } from '../../src/control-plane/http/faults.ts';
import { addressIn, linesOf, start } from './program.ts';

export const bundle = path.resolve(import.meta.dirname, '../../dist/main.mjs');
const yamlAlone = path.resolve(import.meta.dirname, '../peers/yaml-alone.ts');
const applyAlone = path.resolve(import.meta.dirname, '../peers/apply-alone.ts');
const apiVersion = 'fleetkeeper.dev/v1alpha1';

const longestComplaint = 1000;
/** A module that makes a process tell at its end, on descriptor 3, how much CPU it took. */
const tellCpu = `data:text/javascript,${encodeURIComponent(
  "import { writeSync } from 'node:fs'; process.once('exit', () => writeSync(3, JSON.stringify(process.cpuUsage())));",
)}`;

export interface Fleet {
  readonly accounts: number;
  readonly servicesPerAccount: number;
  readonly servicesPerFile: number;
  readonly pollSeconds: number;
  readonly requests: { readonly perSecond: number; readonly burst: number; readonly concurrency: number };
}

/** A request as the control plane saw it come. */
export interface Request {
  readonly at: string;
  readonly account: string | null;
  readonly method: string;
  readonly path: string;
  readonly idempotencyKey: string | null;
  readonly status: number | null;
}

export interface RemoteService {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly revision: number;
}

export interface Finished {
  readonly code: number | null;
  readonly seconds: number;
  readonly cpuSeconds: number;
  /** The end of what it wrote to stderr. */
  readonly complaints: string;
}

export function apiKeyOf(account: number): string {
  return `key-of-account-${account}`;
}

export function serviceName(account: number, index: number): string {
  return `service-${account}-${index}`;
}

export class FolderWorld {
  readonly #folder: string;
  readonly #plane: ChildProcess;
  readonly #adminUrl: string;
  readonly url: string;

  /** `planeFlags`: of the command `control-plane`, beside what it needs. */
  static async start(accounts: number, planeFlags: readonly string[] = []): Promise<FolderWorld> {
    const folder = await mkdtemp(path.join(tmpdir(), 'fleetkeeper-folder-'));
    const file = path.join(folder, 'accounts.yaml');
    const declared = Array.from({ length: accounts }, (_, account) => ({
      name: `account-${account}`,
      email: `account-${account}@example.com`,
      balanceMicros: 10 ** 15,
      apiKeys: [apiKeyOf(account)],
    }));
    await writeFile(file, stringify({ accounts: declared }));
    const listeners = ['--listen', '127.0.0.1:0', '--admin-listen', '127.0.0.1:0'];
    const stored = ['--database', ':memory:', '--accounts', file];
    const plane = start(['control-plane', ...listeners, ...stored, ...planeFlags], { main: bundle });
    const lines = linesOf(plane);
    const url = await addressIn(lines, /^listening on (.*)$/);
    const adminUrl = await addressIn(lines, /^admin on (.*)$/);
    await mkdir(path.join(folder, 'fleet'));
    return new FolderWorld(folder, plane, url, adminUrl);
  }

  private constructor(folder: string, plane: ChildProcess, url: string, adminUrl: string) {
    this.#folder = folder;
    this.#plane = plane;
    this.url = url;
    this.#adminUrl = adminUrl;
  }

  get source(): string {
    return path.join(this.#folder, 'fleet');
  }

  get state(): string {
    return path.join(this.#folder, 'state.db');
  }

  /** The flags by which every command finds this fleet. */
  get flags(): readonly string[] {
    return ['--source', this.source, '--state', this.state];
  }

  /** `url`: where the accounts are, if something stands before the control plane. */
  async declare(fleet: Fleet, url = this.url): Promise<void> {
    for (let account = 0; account < fleet.accounts; account += 1) {
      await this.write(`account-${account}.yaml`, accountDocuments(account, url, fleet));
      for (let first = 0; first < fleet.servicesPerAccount; first += fleet.servicesPerFile) {
        const count = Math.min(fleet.servicesPerFile, fleet.servicesPerAccount - first);
        const documents = Array.from({ length: count }, (_, index) =>
          serviceDocument(account, first + index),
        );
        await this.write(`services-${account}-${first}.yaml`, documents);
      }
    }
  }

  async write(file: string, documents: readonly object[]): Promise<void> {
    const content = documents.map((document) => stringify(document)).join('---\n');
    await writeFile(path.join(this.source, file), content);
  }

  /** Runs a command of the bundle to its end. */
  run(args: readonly string[]): Promise<Finished> {
    return this.#run(bundle, args);
  }

  /** Only parses the documents, with compiled code: the limit of what reads them, with the start of Node. */
  async parseAlone(): Promise<Finished> {
    await this.#runAlone(yamlAlone, [this.source]);
    return this.#runAlone(yamlAlone, [this.source]);
  }

  /**
   * Parses the documents, creates their services in this account, which has none, and keeps what became of each, with compiled code: what
   * `apply` can't do without (peers/apply-alone.ts).
   */
  async applyAlone(
    account: number,
    { services, requestsAtOnce }: { readonly services: number; readonly requestsAtOnce: number },
  ): Promise<Finished> {
    const run = (folder: string, count: number) => {
      const database = path.join(this.#folder, `alone-${count}.db`);
      const numbers = [count, requestsAtOnce].map(String);
      return this.#runAlone(applyAlone, [folder, database, this.url, apiKeyOf(account), ...numbers]);
    };
    const empty = path.join(this.#folder, 'empty');
    await mkdir(empty);
    await run(empty, 0);
    return run(this.source, services);
  }

  async #runAlone(program: string, args: readonly string[]): Promise<Finished> {
    const compiled = { NODE_COMPILE_CACHE: path.join(this.#folder, 'compiled') };
    const finished = await this.#run(program, args, compiled);
    if (finished.code !== 0) {
      throw new Error(`${program} exited with ${finished.code}: ${finished.complaints}`);
    }
    return finished;
  }

  async #run(
    program: string,
    args: readonly string[],
    environment: NodeJS.ProcessEnv = {},
  ): Promise<Finished> {
    const startedMs = performance.now();
    const child = spawn(process.execPath, ['--import', tellCpu, program, ...args], {
      stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...environment },
    });
    const [, , complaints, usage] = child.stdio;
    const [said, used] = [text(complaints as Readable), text(usage as Readable)];
    const [code] = (await once(child, 'close')) as [number | null];
    const seconds = (performance.now() - startedMs) / 1000;
    if (code === null) throw new Error(`${program} was ended by a signal: ${await said}`);
    const { user, system } = JSON.parse(await used) as NodeJS.CpuUsage;
    return {
      code,
      seconds,
      cpuSeconds: (user + system) / 1e6,
      complaints: (await said).slice(-longestComplaint),
    };
  }

  /** Since they were forgotten; the last 100,000 of them. */
  async requests(): Promise<Request[]> {
    const response = await fetch(`${this.#adminUrl}/requests`);
    return ((await response.json()) as { requests: Request[] }).requests;
  }

  async forgetRequests(): Promise<void> {
    await fetch(`${this.#adminUrl}/requests`, { method: 'DELETE' });
  }

  async setFaults(faults: readonly Fault[]): Promise<void> {
    const headers = { 'content-type': 'application/json' };
    await fetch(`${this.#adminUrl}/faults`, { method: 'PUT', headers, body: JSON.stringify(faults) });
  }

  /** `run`, until it is told to stop. */
  startManager(): ChildProcess {
    return start(['run', ...this.flags, '--log-level', 'error'], { main: bundle });
  }

  /** A hand that is not ours changes a service. */
  async changeByHand(account: number, { id, revision }: RemoteService): Promise<void> {
    const response = await fetch(`${this.url}/api/services/${id}`, {
      method: 'PATCH',
      headers: {
        authorization: `Bearer ${apiKeyOf(account)}`,
        'content-type': 'application/json',
        'idempotency-key': randomUUID(),
      },
      body: JSON.stringify({ revision, patch: { httpPort: 9999 } }),
    });
    if (!response.ok) throw new Error(`${id}: ${response.status} ${await response.text()}`);
  }

  async services(account: number): Promise<RemoteService[]> {
    const headers = { authorization: `Bearer ${apiKeyOf(account)}` };
    const response = await fetch(`${this.url}/api/account`, { headers });
    return ((await response.json()) as { services: RemoteService[] }).services;
  }

  async end(): Promise<void> {
    this.#plane.kill('SIGKILL');
    await rm(this.#folder, { recursive: true });
  }
}

function accountDocuments(account: number, url: string, { requests, pollSeconds }: Fleet): object[] {
  const name = `account-${account}`;
  return [
    {
      apiVersion,
      kind: 'Account',
      metadata: { name },
      spec: { url, credentialsSecretRef: { name: `key-${account}`, key: 'key' }, requests, pollSeconds },
    },
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: `key-${account}` },
      stringData: { key: apiKeyOf(account) },
    },
  ];
}

export function serviceDocument(account: number, index: number, spec: object = {}): object {
  return {
    apiVersion,
    kind: 'ContainerService',
    metadata: { name: serviceName(account, index) },
    spec: {
      accountRef: { name: `account-${account}` },
      region: 'standard',
      image: 'ghcr.io/acme/trainer:1.4',
      resources: { cpu: 1, memoryGb: 1 },
      httpPort: 8080,
      env: [{ name: 'MODE', value: 'train' }],
      ...spec,
    },
  };
}
