/** A control plane whose services are Pods of a Kubernetes API in this process, with a played node. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import pino from 'pino';
import { parse } from 'yaml';
import { expect } from 'vitest';
import { systemClock } from '../../../../src/base/clock.ts';
import { systemRandom } from '../../../../src/base/random.ts';
import { parseConfig, startControlPlane } from '../../../../src/control-plane/main.ts';
import {
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

interface Options {
  readonly config?: string;
  readonly database?: string;
  readonly log?: string[];
}

export class ClusterWorld implements AsyncDisposable {
  readonly server: KubernetesServer;
  readonly deposed: string[] = [];
  #world: World | undefined;
  #options: Options = {};

  private constructor(server: KubernetesServer) {
    this.server = server;
  }

  static async start(options: Options = {}, server?: KubernetesServer): Promise<ClusterWorld> {
    const cluster = server ?? new KubernetesServer({ node: true });
    if (!server) await cluster.start();
    const world = new ClusterWorld(cluster);
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
    const { config = '', database = ':memory:', log } = this.#options;
    const metrics = createMetrics();
    const { api, pods } = await connectWithPods({
      kubeconfig: this.server.kubeconfig(path.dirname(temporaryFile('kubeconfig'))),
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
      accounts,
      random: systemRandom,
      clock: systemClock,
      config: parsed,
      runtime: kubernetesRuntime({ api, pods, metrics, onDeposed }, parsed),
      logger: log ? pino({}, { write: (line: string) => log.push(line) }) : pino({ level: 'silent' }),
    });
    this.#world = new World(plane, undefined as never);
  }

  async reopen(): Promise<void> {
    await this.world.close();
    await this.open();
  }

  /** Of the service, once nothing is under way. */
  async until(id: string, state: string, as?: string): Promise<Json> {
    let last: Json;
    await expect
      .poll(
        async () => {
          last = (await this.world.ok('GET', `/api/services/${id}`, undefined, as)).service;
          return `${last.state} ${last.operation}`;
        },
        { interval: 20, timeout: 15_000 },
      )
      .toBe(`${state} null`);
    return last;
  }

  async running(more: object = {}, as?: string): Promise<Json> {
    const { id } = await this.world.ok('POST', '/api/services', { ...spec, ...more }, as);
    return this.until(id, 'running', as);
  }

  async untilGone(path: string): Promise<void> {
    await expect
      .poll(async () => (await this.world.call('GET', path)).status, { interval: 20, timeout: 15_000 })
      .toBe(404);
  }

  /** Objects of a kind, wherever they are, as an administrator reads them. */
  async objects(from: string): Promise<Json[]> {
    const file = this.server.kubeconfig(path.dirname(temporaryFile('kubeconfig')));
    const { users } = parse(readFileSync(file, 'utf8'));
    const response = await fetch(`${this.server.url}${from}`, {
      headers: { authorization: `Bearer ${users[0].user.token}` },
    });
    return ((await response.json()) as Json).items ?? [];
  }

  pods(): Promise<Json[]> {
    return this.objects('/api/v1/pods');
  }

  async pod(serviceId: string): Promise<Json> {
    return (await this.pods()).find(({ metadata }) => metadata.name === `fleetkeeper-${serviceId}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#world?.close();
    await this.server.stop({ abruptly: true });
  }
}
