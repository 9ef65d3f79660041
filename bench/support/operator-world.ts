/** A cluster with many services of one account, before a control plane: an API server, a control plane and an operator, each a process. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { parse, stringify } from 'yaml';
import { systemClock } from '../../src/base/index.ts';
import { connect } from '../../src/kubernetes/connect.ts';
import {
  KubernetesError,
  type KubernetesApi,
  type KubernetesObject,
  type ResourceType,
} from '../../src/kubernetes/index.ts';
import { managedKinds, resourceTypes } from '../../src/resources/index.ts';
import { createMetrics } from '../../src/telemetry/index.ts';
import { apiServerOfTests, type ApiServer } from './api-server.ts';
import type { Asked } from './asked.ts';
import { addressIn, cpuSecondsOf, linesOf, peakBytesOf, start } from './program.ts';

const namespace = 'default';
const apiKey = 'key-of-the-benchmark';
const requestsAtOnce = 16;
/** Lifecycles take seconds, of which nothing is to be seen here. */
const timeScale = '60';

const definitions: ResourceType = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
};
const secrets: ResourceType = {
  group: '',
  version: 'v1',
  plural: 'secrets',
  kind: 'Secret',
  namespaced: true,
};

export interface OperatorWorldOptions {
  readonly services: number;
  readonly pollSeconds: number;
  /** Of the operator. */
  readonly nodeFlags: readonly string[];
  /** It ends with the world. By default that of the tests. */
  readonly server?: ApiServer | undefined;
}

/** What the control plane was asked for since the last question. */
export interface PlaneAsked {
  readonly reads: number;
  readonly mutations: number;
}

interface Conditions {
  readonly observedGeneration?: number;
  readonly conditions?: readonly { readonly type: string; readonly status: string }[];
}

export class OperatorWorld {
  readonly #options: OperatorWorldOptions;
  readonly #folder: string;
  readonly #server: ApiServer;
  readonly #plane: ChildProcess;
  readonly #adminUrl: string;
  readonly #api: KubernetesApi;
  /** Of this process, since the last question. */
  #edits = 0;

  static async start(options: OperatorWorldOptions): Promise<OperatorWorld> {
    const folder = await mkdtemp(path.join(tmpdir(), 'fleetkeeper-operator-'));
    const accounts = path.join(folder, 'accounts.yaml');
    const account = { name: 'bench', email: 'b@example.com', balanceMicros: 10 ** 15, apiKeys: [apiKey] };
    await writeFile(accounts, stringify({ accounts: [account] }));
    const listeners = ['--listen', '127.0.0.1:0', '--admin-listen', '127.0.0.1:0'];
    const stored = ['--database', ':memory:', '--accounts', accounts];
    const plane = start(['control-plane', ...listeners, ...stored, '--time-scale', timeScale]);
    const lines = linesOf(plane);
    const url = await addressIn(lines, /^listening on (.*)$/);
    const adminUrl = await addressIn(lines, /^admin on (.*)$/);
    const server = options.server ?? (await apiServerOfTests(folder));
    const { kubeconfig } = server;
    const api = await connect({ kubeconfig, environment: {}, clock: systemClock, metrics: createMetrics() });
    const world = new OperatorWorld(options, { folder, server, plane, adminUrl, api });
    await world.#declare(url);
    return world;
  }

  private constructor(
    options: OperatorWorldOptions,
    parts: {
      readonly folder: string;
      readonly server: ApiServer;
      readonly plane: ChildProcess;
      readonly adminUrl: string;
      readonly api: KubernetesApi;
    },
  ) {
    this.#options = options;
    this.#folder = parts.folder;
    this.#server = parts.server;
    this.#plane = parts.plane;
    this.#adminUrl = parts.adminUrl;
    this.#api = parts.api;
  }

  get serverName(): string {
    return this.#server.name;
  }

  /** `main`: the file to run, the bundle or the source. */
  startOperator(main: string | undefined): Promise<OperatorProcess> {
    const args = ['run', '--source', 'kubernetes', '--kubeconfig', this.#server.kubeconfig];
    return OperatorProcess.start([...args, '--log-level', 'error', '--listen', '127.0.0.1:0'], {
      main,
      nodeFlags: this.#options.nodeFlags,
    });
  }

  /** Gives the first `count` services this spec beside what they have. */
  async edit(count: number, spec: object): Promise<void> {
    await this.#forEach(count, async (name) => {
      const target = { type: resourceTypes.ContainerService, namespace, name };
      await this.#api.patch(target, { kind: 'merge', body: { spec } });
      this.#edits += 1;
    });
  }

  /** Resolves when every service is Ready as its document is now. */
  async whenReady(): Promise<void> {
    for (;;) {
      const { items } = await this.#api.list(resourceTypes.ContainerService, { namespace });
      if (items.length === this.#options.services && items.every(isReady)) return;
      await delay(1000);
    }
  }

  /** Of the Kubernetes API by the operator, since the last question. */
  async asked(): Promise<Asked> {
    const answer = await this.#server.asked();
    const finalizerWrites = answer.finalizerWrites - this.#edits;
    this.#edits = 0;
    return { ...answer, finalizerWrites };
  }

  /** Of the control plane, since the last question. */
  async planeAsked(): Promise<PlaneAsked> {
    const response = await fetch(`${this.#adminUrl}/requests`);
    const { requests } = (await response.json()) as { requests: { method: string }[] };
    await fetch(`${this.#adminUrl}/requests`, { method: 'DELETE' });
    const reads = requests.filter(({ method }) => method === 'GET').length;
    return { reads, mutations: requests.length - reads };
  }

  async end(): Promise<void> {
    await this.#api.close();
    await this.#server.end();
    this.#plane.kill('SIGKILL');
    await rm(this.#folder, { recursive: true });
  }

  async #declare(url: string): Promise<void> {
    const crds = path.resolve(import.meta.dirname, '../../crds');
    for (const file of await readdir(crds)) {
      const body = parse(await readFile(path.join(crds, file), 'utf8')) as KubernetesObject;
      if (body.kind === definitions.kind) await this.#api.create(definitions, body);
    }
    await Promise.all(managedKinds.map((kind) => this.#untilServed(resourceTypes[kind])));
    const stringData = { key: apiKey, token: '0123456789abcdef' };
    await this.#api.create(secrets, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'key', namespace },
      data: Object.fromEntries(Object.entries(stringData).map(([name, value]) => [name, btoa(value)])),
    });
    const requests = { perSecond: 1000, burst: 1000, concurrency: 32 };
    const { pollSeconds } = this.#options;
    const credentialsSecretRef = { name: 'key', key: 'key' };
    await this.#create('Account', 'default', { url, credentialsSecretRef, requests, pollSeconds });
    await this.#forEach(this.#options.services, (name) =>
      this.#create('ContainerService', name, serviceSpec),
    );
  }

  /** A real server serves a kind a moment after its definition. */
  async #untilServed(type: ResourceType): Promise<void> {
    for (;;) {
      const isServed = await this.#api.list(type, { limit: 1 }).then(
        () => true,
        (error: unknown) => {
          if (error instanceof KubernetesError && [404, 429].includes(error.status ?? 0)) return false;
          throw error;
        },
      );
      if (isServed) return;
      await delay(100);
    }
  }

  async #create(kind: 'Account' | 'ContainerService', name: string, spec: object): Promise<void> {
    const { group, version } = resourceTypes[kind];
    const document = { apiVersion: `${group}/${version}`, kind, metadata: { name, namespace }, spec };
    await this.#api.create(resourceTypes[kind], document);
  }

  async #forEach(count: number, work: (name: string) => Promise<void>): Promise<void> {
    let next = 0;
    const worker = async () => {
      while (next < count) await work(`service-${next++}`);
    };
    await Promise.all(Array.from({ length: requestsAtOnce }, worker));
  }
}

const serviceSpec = {
  region: 'standard',
  image: 'ghcr.io/acme/trainer:1.4',
  resources: { cpu: 1, memoryGb: 1 },
  httpPort: 8080,
  env: [
    { name: 'MODE', value: 'train' },
    { name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'key', key: 'token' } } },
  ],
};

function isReady({ metadata, status }: KubernetesObject): boolean {
  const { observedGeneration, conditions = [] } = (status ?? {}) as Conditions;
  const ready = conditions.find(({ type }) => type === 'Ready');
  return observedGeneration === metadata.generation && ready?.status === 'True';
}

export interface Usage {
  /** Since it was started. */
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly peakBytes: number;
}

export class OperatorProcess {
  readonly #child: ChildProcess;
  readonly #startedMs: number;
  readonly #url: string;

  static async start(
    args: readonly string[],
    options: { readonly main: string | undefined; readonly nodeFlags: readonly string[] },
  ): Promise<OperatorProcess> {
    const startedMs = performance.now();
    const child = start(args, options);
    const url = await addressIn(linesOf(child), /^listening on (.*)$/);
    return new OperatorProcess(child, startedMs, url);
  }

  /** Rejects when it ends by itself. */
  readonly failed: Promise<never>;

  private constructor(child: ChildProcess, startedMs: number, url: string) {
    this.#child = child;
    this.failed = once(child, 'exit').then(([code]) => {
      throw new Error(`the operator has ended (${code})`);
    });
    this.failed.catch(() => undefined);
    this.#startedMs = startedMs;
    this.#url = url;
  }

  /** Resolves when so many passes of services have come to their end, and no key waits for one. */
  async whenObserved(services: number): Promise<Usage> {
    for (;;) {
      await delay(100);
      const response = await fetch(`${this.#url}/metrics`);
      const text = await response.text();
      const passes = sumOf(text, 'controller_runtime_reconcile_total{controller="ContainerService"');
      if (passes >= services && sumOf(text, 'workqueue_depth') === 0) return this.usage();
    }
  }

  async usage(): Promise<Usage> {
    const seconds = (performance.now() - this.#startedMs) / 1000;
    const [cpuSeconds, peakBytes] = await Promise.all([cpuSecondsOf(this.#child), peakBytesOf(this.#child)]);
    return { seconds, cpuSeconds, peakBytes };
  }

  async stop(): Promise<void> {
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    await ended;
  }
}

/** Of all series whose line starts so. */
function sumOf(metrics: string, series: string): number {
  return metrics
    .split('\n')
    .filter((line) => line.startsWith(series))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}
