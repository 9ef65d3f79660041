/**
 * What the attack is about besides, where services are Pods: the victim's Pods that nobody asked to change run on, its changes come
 * through in time, the attacker has no more Pods than its account may have, and in the end nothing of either is left.
 */
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../../src/base/index.ts';
import { labels } from '../../src/control-plane/runtimes/kubernetes/names.ts';
import { resources } from '../../src/control-plane/runtimes/kubernetes/resources.ts';
import { connect } from '../../src/kubernetes/connect.ts';
import { defaultLeaseMs } from '../../src/kubernetes/election.ts';
import type { KubernetesApi, KubernetesObject, ResourceType } from '../../src/kubernetes/index.ts';
import { createMetrics } from '../../src/telemetry/index.ts';
import type { AttackersService } from './client.ts';
import type { Json, Tenant } from './tenant.ts';
import type { Victim } from './victim.ts';

export interface PodOptions {
  readonly kubeconfig: string;
  /** Has `sh`, `sleep`, `yes`, `head` and `tr`. Where its name begins with `localhost/`, the nodes have it already. */
  readonly image: string;
}

export interface PodReport {
  /** From the victim's request until its Pod runs with what it asked for. */
  readonly changesQuiet: Durations;
  readonly changesAttacked: Durations;
  /** The same, of a request right after the kill -9 and the restart: the Lease of the one that was killed has to expire first. */
  readonly changeAfterKillMs: number;
  /** Of the attacker, as they were seen once a second. */
  readonly podsOfAttacker: { readonly most: number; readonly all: number; readonly allowed: number };
  /** From the deletion of all services and volumes until the cluster has nothing of them. */
  readonly clearedMs: number;
}

interface Durations {
  readonly count: number;
  readonly medianMs: number;
  readonly longestMs: number;
}

const lookEveryMs = 1000;
const pollMs = 200;
const pauseMs = 3000;
/** On a machine with two cores, on which the attacker's Pods are started beside it. */
const longestChangeMs = 60_000;
/** A copy of the database elsewhere could not see that the one before was killed: its Lease has to expire. */
const longestAfterKillMs = defaultLeaseMs + longestChangeMs;
const longestClearingMs = 180_000;
/** What is only written is stopped, so that each write launches nothing. */
const stopped = 2;
/** What nobody changes, and what is changed. */
const living = 3;

/** Few enough that all of them run on a node of two cores beside the victim's. */
export const attackersQuota = { services: 16, cpu: 0.8, memoryGb: 1, storageGb: 40 };

/** Ends when it is asked to, at once. */
const command = (script: string) => ['sh', '-c', `trap "exit 0" TERM; ${script} & sleep 100000 & wait`];

/** It writes 2 MB in long lines, so that there is something to read. */
export function serviceOfAttacker(image: string): AttackersService {
  return {
    name: 'a',
    region: 'economy',
    image,
    resources: { gpuCount: 0, cpu: 0.05, memoryGb: 1 / 32 },
    command: command(`yes "$(head -c 1000 /dev/zero | tr '\\0' x)" | head -c 2000000`),
  };
}

const lease: ResourceType = {
  group: 'coordination.k8s.io',
  version: 'v1',
  plural: 'leases',
  kind: 'Lease',
  namespaced: true,
};

export class PodSide implements AsyncDisposable {
  readonly #image: string;
  readonly #api: KubernetesApi;
  readonly #victim: Victim;
  readonly #attacker: Tenant;
  /** Ids. */
  readonly #accounts: { readonly victim: string; readonly attacker: string };
  /** The uid of the Pod of each service that nobody changes. */
  readonly #stays = new Map<string, string>();
  #installation: string | undefined;
  #changing = '';
  #changes = 0;
  #most = 0;
  readonly #seen = new Set<string>();

  static async connect(
    { kubeconfig, image }: PodOptions,
    victim: Victim,
    attacker: Tenant,
  ): Promise<PodSide> {
    const [{ id: ofVictim }, { id: ofAttacker }] = await Promise.all(
      [victim, attacker].map((tenant) => tenant.ok('GET', '/api/me')),
    );
    const api = await connect({ kubeconfig, environment: {}, clock: systemClock, metrics: createMetrics() });
    return new PodSide({
      image,
      api,
      victim,
      attacker,
      accounts: { victim: ofVictim, attacker: ofAttacker },
    });
  }

  private constructor(parts: {
    readonly image: string;
    readonly api: KubernetesApi;
    readonly victim: Victim;
    readonly attacker: Tenant;
    readonly accounts: { readonly victim: string; readonly attacker: string };
  }) {
    this.#image = parts.image;
    this.#api = parts.api;
    this.#victim = parts.victim;
    this.#attacker = parts.attacker;
    this.#accounts = parts.accounts;
  }

  async prepare(): Promise<void> {
    const spec = {
      region: 'standard',
      image: this.#image,
      resources: { gpuCount: 0, cpu: 0.1, memoryGb: 1 / 16 },
      environment: { TOKEN: 'value' },
      command: command(':'),
    };
    const written = await this.#victim.prepare({ services: stopped, spec });
    for (const id of written) {
      await this.#until(id, 'running');
      await this.#victim.ok('POST', `/api/services/${id}/actions`, { action: 'stop' });
    }
    for (const id of written) await this.#until(id, 'paused');
    for (let index = 0; index < living; index += 1) {
      const { id } = await this.#victim.ok('POST', '/api/services', { name: `living ${index}`, ...spec });
      await this.#until(id, 'running');
      this.#changing = id;
      this.#stays.set(id, await this.#uidOf(id));
    }
    this.#stays.delete(this.#changing);
    const [namespace] = await this.#namespaces();
    this.#installation = namespace?.metadata.labels?.[labels.installation];
  }

  /** One service of the victim is changed again and again. Gives how long each change took, in milliseconds. */
  async changes(signal: AbortSignal): Promise<number[]> {
    const took: number[] = [];
    while (!signal.aborted) {
      took.push(await this.change());
      await delay(pauseMs, undefined, { signal }).catch(() => undefined);
    }
    return took;
  }

  /** Infinity: it failed, or took too long. */
  async change(): Promise<number> {
    const path = `/api/services/${this.#changing}`;
    const before = await this.#uidOf(this.#changing);
    const startedMs = performance.now();
    try {
      const { service } = await this.#victim.ok('GET', path);
      const environment = { TOKEN: String((this.#changes += 1)) };
      await this.#victim.ok('PATCH', path, { revision: service.revision, patch: { environment } });
      await this.#until(this.#changing, 'running');
    } catch {
      return Infinity;
    }
    return (await this.#uidOf(this.#changing)) === before ? Infinity : performance.now() - startedMs;
  }

  /** Counts Pods of the attacker. */
  async watchAttacker(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const pods = await this.#podsOf(this.#accounts.attacker, true);
      this.#most = Math.max(this.#most, pods.length);
      for (const { metadata } of pods) this.#seen.add(metadata.uid);
      await delay(lookEveryMs, undefined, { signal }).catch(() => undefined);
    }
  }

  get podsOfAttacker(): PodReport['podsOfAttacker'] {
    return { most: this.#most, all: this.#seen.size, allowed: attackersQuota.services };
  }

  /** What happened to Pods of the victim that nobody asked for. */
  async harm(): Promise<string[]> {
    const pods = await this.#podsOf(this.#accounts.victim);
    return [...this.#stays].flatMap(([id, uid]) => {
      const pod = pods.find(({ metadata }) => metadata.uid === uid) as Pod | undefined;
      return pod?.status?.phase === 'Running' ? [] : [`the Pod of the victim's service ${id} has ended`];
    });
  }

  /** Both tenants delete what they have. Gives how long that takes; Infinity: something is left. */
  async clear(): Promise<number> {
    const startedMs = performance.now();
    const untilMs = startedMs + longestClearingMs;
    while (performance.now() < untilMs) {
      const left = await Promise.all([this.#victim, this.#attacker].map(deleteAll));
      if (left.every((count) => count === 0) && (await this.#namespaces()).length === 0) {
        return performance.now() - startedMs;
      }
      await delay(lookEveryMs);
    }
    return Infinity;
  }

  /** Whatever has happened, nothing is left in the cluster. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const { metadata } of await this.#namespaces()) {
      await this.#api.remove({ type: resources.namespaces, namespace: undefined, name: metadata.name });
    }
    const { namespace } = this.#api;
    if (this.#installation !== undefined) {
      const name = `fleetkeeper-control-plane-${this.#installation}`;
      await this.#api.remove({ type: lease, namespace, name });
    }
    await this.#api.close();
  }

  async #until(id: string, state: string): Promise<void> {
    const untilMs = performance.now() + longestAfterKillMs;
    for (;;) {
      const { service } = await this.#victim.ok('GET', `/api/services/${id}`);
      if (service.state === state && service.operation === null) return;
      if (performance.now() >= untilMs) {
        throw new Error(`service ${id} of the victim is ${service.state}, not ${state}: ${service.error}`);
      }
      await delay(pollMs);
    }
  }

  async #podsOf(account: string, metadataOnly = false): Promise<readonly KubernetesObject[]> {
    const labelSelector = `${labels.account}=${account}`;
    return (await this.#api.list(resources.pods, { labelSelector, metadataOnly })).items;
  }

  async #uidOf(id: string): Promise<string> {
    const { items } = await this.#api.list(resources.pods, { labelSelector: `${labels.service}=${id}` });
    return items[0]?.metadata.uid ?? '';
  }

  async #namespaces(): Promise<readonly KubernetesObject[]> {
    const ids = Object.values(this.#accounts).join(',');
    return (await this.#api.list(resources.namespaces, { labelSelector: `${labels.account} in (${ids})` }))
      .items;
  }
}

interface Pod extends KubernetesObject {
  readonly status?: { readonly phase?: string };
}

/** Gives how much there still is. */
async function deleteAll(tenant: Tenant): Promise<number> {
  const { services, volumes } = await tenant.ok('GET', '/api/account');
  for (const { id, state } of services as Json[]) {
    if (state !== 'deleting') await tenant.send('POST', `/api/services/${id}/actions`, { action: 'delete' });
  }
  for (const { id } of volumes as Json[]) await tenant.send('DELETE', `/api/volumes/${id}`);
  return services.length + volumes.length;
}

export function durationsOf(took: readonly number[]): Durations {
  const sorted = took.toSorted((left, right) => left - right);
  return {
    count: sorted.length,
    medianMs: sorted[Math.floor(sorted.length / 2)] ?? 0,
    longestMs: sorted.at(-1) ?? 0,
  };
}

/** What is not as it has to be. */
export function podViolations(report: PodReport): string[] {
  const { changesQuiet, changesAttacked, changeAfterKillMs, podsOfAttacker, clearedMs } = report;
  const most = podsOfAttacker.most;
  return [
    changesQuiet.longestMs > longestChangeMs && 'a change failed before the attack',
    changesAttacked.longestMs > longestChangeMs &&
      `a change of the victim took ${changesAttacked.longestMs} ms, or failed`,
    changeAfterKillMs > longestAfterKillMs &&
      `after the kill -9 a change took ${changeAfterKillMs} ms, or failed`,
    most > podsOfAttacker.allowed && `the attacker had ${most} Pods, more than ${podsOfAttacker.allowed}`,
    clearedMs === Infinity && 'something was left in the cluster',
  ].filter((violation) => typeof violation === 'string');
}
