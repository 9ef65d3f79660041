/** A control plane whose services are Pods of a Kubernetes API in this process, with a played node. */
import { copyFileSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
// oxlint-disable vitest/no-standalone-expect -- what tests wait for is here
import pino from 'pino';
import { parse } from 'yaml';
import { vi } from 'vitest';
import { systemClock } from '../../../../src/base/clock.ts';
import { systemRandom } from '../../../../src/base/random.ts';
import { parseConfig, startControlPlane } from '../../../../src/control-plane/main.ts';
import {
  firstBounds,
  kubernetesRuntime,
  withoutMadeUpGpus,
} from '../../../../src/control-plane/runtimes/kubernetes/open.ts';
import { connectWithPods } from '../../../../src/kubernetes/connect.ts';
import { createMetrics } from '../../../../src/telemetry/index.ts';
import { KubernetesServer } from '../../../support/kubernetes/server.ts';
import { temporaryFile } from '../../../support/temporary.ts';
import { accounts, World, type Json } from '../support.ts';

export const labelOf = (name: string) => `control-plane.fleetkeeper.dev/${name}`;

export const spec = {
  name: 'web',
  region: 'standard',
  image: 'localhost/web:1',
  resources: { gpuCount: 0, cpu: 0.5, memoryGb: 0.0625 },
};

const kinds: Readonly<Record<string, string>> = {
  pods: 'Pod',
  persistentvolumeclaims: 'PersistentVolumeClaim',
  namespaces: 'Namespace',
  storageclasses: 'StorageClass',
};

interface Options {
  readonly config?: string;
  readonly database?: string;
  readonly log?: string[];
  /** Default: 1. */
  readonly timeScale?: number;
}

export class ClusterWorld implements AsyncDisposable {
  readonly server: KubernetesServer;
  readonly deposed: string[] = [];
  #world: World | undefined;
  #options: Options = {};

  readonly #endsServer: boolean;

  private constructor(server: KubernetesServer, endsServer: boolean) {
    this.server = server;
    this.#endsServer = endsServer;
  }

  static async start(options: Options = {}): Promise<ClusterWorld> {
    const server = new KubernetesServer({ node: true });
    await server.start();
    const world = new ClusterWorld(server, true);
    world.#options = { database: temporaryFile('plane.db'), ...options };
    await world.open();
    return world;
  }

  get world(): World {
    if (!this.#world) throw new Error('the control plane does not run');
    return this.#world;
  }

  get node() {
    return this.server.node;
  }

  /** Another process with the same database. */
  async open(): Promise<void> {
    const { config = '', database = ':memory:', log, timeScale = 1 } = this.#options;
    const metrics = createMetrics();
    const { api, pods } = await connectWithPods({
      kubeconfig: this.server.kubeconfig(dirname(temporaryFile('kubeconfig'))),
      environment: {},
      clock: systemClock,
      metrics,
    });
    const parsed = withoutMadeUpGpus(parseConfig(config || '{}', 'config.yaml'));
    const onDeposed = (reason: string) => void this.deposed.push(reason);
    const plane = await startControlPlane({
      listen: { host: '127.0.0.1', port: 0 },
      adminListen: { host: '127.0.0.1', port: 0 },
      database,
      timeScale,
      accounts,
      random: systemRandom,
      clock: systemClock,
      config: parsed,
      runtime: kubernetesRuntime(
        { api, pods, metrics, onDeposed, bounds: await firstBounds(api, parsed) },
        parsed,
      ),
      logger: log ? pino({}, { write: (line: string) => log.push(line) }) : pino({ level: 'silent' }),
    });
    this.#world = new World(plane, undefined as never);
  }

  async reopen(config = this.#options.config ?? ''): Promise<void> {
    await this.world.close();
    this.#options = { ...this.#options, config };
    await this.open();
  }

  /** Of the service, once nothing is under way. */
  async until(id: string, state: string, as?: string): Promise<Json> {
    return vi.waitFor(
      async () => {
        const { service } = await this.world.ok('GET', `/api/services/${id}`, undefined, as);
        if (service.state === state && service.operation === null) return service;
        throw new Error(`${id} is ${service.state}, with ${service.operation}; ${state} is awaited`);
      },
      { interval: 20, timeout: 15_000 },
    );
  }

  async running(more: object = {}, as?: string): Promise<Json> {
    const { id } = await this.world.ok('POST', '/api/services', { ...spec, ...more }, as);
    return this.until(id, 'running', as);
  }

  /** The messages of its events, oldest first. */
  async events(id: string): Promise<string[]> {
    const { events } = await this.world.ok('GET', `/api/services/${id}/events`);
    return events.map(({ message }: Json) => message).toReversed();
  }

  async untilGone(at: string): Promise<void> {
    await vi.waitFor(
      async () => {
        const { status } = await this.world.call('GET', at);
        if (status !== 404) throw new Error(`${at} still answers ${status}`);
      },
      { interval: 20, timeout: 15_000 },
    );
  }

  /** Objects of a kind, wherever they are, as an administrator reads them. */
  async objects(from: string): Promise<Json[]> {
    return (await this.#asAdministrator('GET', from)).items ?? [];
  }

  /** As somebody else in the cluster does it. */
  async put(plural: string, object: Json, group = '/api/v1'): Promise<void> {
    const { namespace } = object.metadata;
    const within = namespace === undefined ? '' : `/namespaces/${namespace}`;
    const typed = { apiVersion: group.replace(/^\/apis?\//, ''), kind: kinds[plural], ...object };
    await this.#asAdministrator('POST', `${group}${within}/${plural}`, typed);
  }

  async remove(plural: string, name: string): Promise<void> {
    const [object] = await this.objects(`/api/v1/${plural}?fieldSelector=metadata.name=${name}`);
    await this.#asAdministrator(
      'DELETE',
      `/api/v1/namespaces/${object.metadata.namespace}/${plural}/${name}`,
    );
  }

  /** Another control plane, with a copy of the database. */
  async copy(): Promise<ClusterWorld> {
    const database = temporaryFile('copy.db');
    for (const part of ['', '-wal']) copyFileSync(`${this.#options.database}${part}`, `${database}${part}`);
    const world = new ClusterWorld(this.server, false);
    world.#options = { ...this.#options, database };
    await world.open();
    return world;
  }

  /** Until no request was made for a while. */
  async quiet(): Promise<void> {
    let [count, since] = [-1, 0];
    await vi.waitFor(
      () => {
        const now = this.server.requests().filter(({ path: at }) => !at.includes('/leases/')).length;
        since = now === count ? since + 1 : 0;
        count = now;
        if (since <= 12) throw new Error(`${count} requests so far, and they don't end`);
      },
      { interval: 25, timeout: 20_000 },
    );
  }

  async #asAdministrator(method: string, at: string, body?: object): Promise<Json> {
    const file = this.server.kubeconfig(dirname(temporaryFile('kubeconfig')));
    const { users } = parse(readFileSync(file, 'utf8'));
    const response = await fetch(`${this.server.url}${at}`, {
      method,
      headers: { authorization: `Bearer ${users[0].user.token}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    const answer = await response.text();
    if (!response.ok) throw new Error(`${method} ${at}: ${answer}`);
    return JSON.parse(answer);
  }

  pods(): Promise<Json[]> {
    return this.objects('/api/v1/pods');
  }

  async pod(serviceId: string): Promise<Json> {
    return (await this.pods()).find(({ metadata }) => metadata.name === `fleetkeeper-${serviceId}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#world?.close();
    if (this.#endsServer) await this.server.stop({ abruptly: true });
  }
}
