/**
 * A fleet in this process, of any size: a cluster in memory as its source, accounts of a provider that answers from texts, and the manager
 * between them. Nothing is sent but reads: each service is adopted, and is as its object wants it. What is measured is CPU, so that a
 * busy machine does not matter.
 */
import pino from 'pino';
import type { Transport } from '../../src/api/index.ts';
import { digestKey, systemClock, systemRandom } from '../../src/base/index.ts';
import { createClusterSource, type DesiredSnapshot } from '../../src/desired/index.ts';
import { Manager, collectFleetMetrics, watchedByStore } from '../../src/manager/index.ts';
import { defaultShortenedGrace } from '../../src/engine/index.ts';
import type { Budgets } from '../../src/engine/money/budgets.ts';
import { Money } from '../../src/engine/money/money.ts';
import type { Reservations } from '../../src/engine/money/reservations.ts';
import type { ObjectKey } from '../../src/resources/index.ts';
import { ClusterStore } from '../../src/state/index.ts';
import { createMetrics } from '../../src/telemetry/index.ts';
import { replaced } from '../../test/simulation/mutants/tools.ts';
import { MemoryCluster, base64 } from '../../test/support/memory-cluster.ts';
import { ScaleProvider, idOf, image, resources } from './scale-provider.ts';

export interface ScaleWorkload {
  readonly accounts: number;
  readonly servicesPerAccount: number;
  /** About all services of an account; default none. */
  readonly budgetsPerAccount?: number;
  /** Each account has one more, for which half of its services would have to be stopped. */
  readonly shedding?: true;
  /** Protected tasks of services of the first account; default none. */
  readonly tasks?: number;
  /** Of a provider in another process (scale-provider.ts); by default it is in this one. */
  readonly url?: string;
}

/** Never reached. */
const limits = { hourlyMicros: 1_000_000_000, monthlyMicros: 1_000_000_000_000_000 };

const logger = pino({ level: 'silent' });
const inThisProcess = 'https://provider.example';
/** Nobody reads by himself. */
const pollSeconds = 3600;
const namespacesOfAccounts = (account: number) => `team-${account}`;

export class ScaleWorld {
  readonly #workload: ScaleWorkload;
  readonly #cluster = new MemoryCluster();
  readonly #provider: ScaleProvider;
  readonly #waiting = new Map<ObjectKey, () => void>();
  readonly #metrics = createMetrics();
  readonly #manager: Manager;
  #budgets: Budgets | undefined;
  #reservations: Reservations | undefined;
  #passes = 0;
  #lastPassAtMs = 0;
  #edits = 0;
  /** Milliseconds that it took. */
  startMs = 0;

  private constructor(workload: ScaleWorkload) {
    this.#workload = workload;
    this.#provider = new ScaleProvider(workload);
    this.#declare();
    const keep = (money: Money, budgets: Budgets) => {
      this.#budgets = budgets;
      this.#reservations = money.reservations;
    };
    replaced(
      Money.prototype,
      'useBudgets',
      (original): Money['useBudgets'] =>
        function use(this: Money, budgets) {
          keep(this, budgets);
          original.call(this, budgets);
        },
    );
    const identity = { digestKey: digestKey(Buffer.alloc(32, 7)), ownerName: 'bench' };
    // Nothing is written: what the API server does with a status is not this process's CPU.
    const store = new ClusterStore({ api: undefined, identity, clock: systemClock, random: systemRandom });
    const parts = { clock: systemClock, random: systemRandom, logger, metrics: this.#metrics };
    const source = createClusterSource({ api: this.#cluster, namespaces: [], shard: undefined, ...parts });
    this.#manager = new Manager({
      source: watchedByStore({
        source,
        store,
        onNoticed: () => {},
        onFailure: () => {},
        clock: systemClock,
        random: systemRandom,
      }),
      store,
      environment: { url: undefined, apiKey: () => undefined },
      ...parts,
      ...(workload.url === undefined && { createTransport: () => this.#transport() }),
      settleMs: 5000,
      grace: { goneMs: 1000, ...defaultShortenedGrace },
      allowMassChange: false,
      mode: 'manage',
      onPass: (key) => {
        this.#passes += 1;
        this.#lastPassAtMs = performance.now();
        const done = this.#waiting.get(key);
        this.#waiting.delete(key);
        done?.();
      },
    });
  }

  /** All accounts have been read, and each object has had its passes. */
  static async start(workload: ScaleWorkload): Promise<ScaleWorld> {
    const world = new ScaleWorld(workload);
    const startedAtMs = performance.now();
    await world.#manager.start();
    await world.#quiet();
    world.startMs = world.#lastPassAtMs - startedAtMs;
    const unready = [...world.#manager.store.records()].filter(
      ({ status }) => status?.conditions.find(({ type }) => type === 'Ready')?.status !== 'True',
    );
    if (unready.length > 0) {
      throw new Error(`${unready.length} objects are not Ready: ${JSON.stringify(unready[0]?.status)}`);
    }
    return world;
  }

  async stop(): Promise<void> {
    await this.#manager.stop();
  }

  get snapshot(): DesiredSnapshot | undefined {
    return this.#manager.snapshot;
  }

  /** One object gets another annotation, and has its pass. */
  async edit(): Promise<void> {
    this.#edits += 1;
    const account = this.#edits % this.#workload.accounts;
    const service = this.#edits % this.#workload.servicesPerAccount;
    const namespace = namespacesOfAccounts(account);
    const passed = this.#passOf(`ContainerService/${namespace}/service-${service}`);
    this.#putService(account, service, { note: String(this.#edits) });
    await passed;
  }

  /** What the world's manager asks before something costs more. Only with budgets. */
  get money(): { readonly budgets: Budgets; readonly reservations: Reservations } {
    if (!this.#budgets || !this.#reservations) throw new Error('the manager has no budgets');
    return { budgets: this.#budgets, reservations: this.#reservations };
  }

  /** One account is read, and only its balance is another one. */
  async read(): Promise<void> {
    this.#edits += 1;
    const name = `${namespacesOfAccounts(this.#edits % this.#workload.accounts)}/default`;
    const handle = [...this.#manager.accounts.handles()].find((each) => each.name === name);
    if (!handle) throw new Error(`there is no account ${name}`);
    const passed = this.#passOf(`Account/${name as `${string}/${string}`}`);
    handle.informer.want('mutation');
    await passed;
  }

  async scrape(): Promise<void> {
    collectFleetMetrics(this.#metrics, this.#manager, systemClock);
    await this.writeSeries();
  }

  /** What a scrape can't leave out: each account has series of its own. */
  async writeSeries(): Promise<void> {
    await this.#metrics.registry.metrics();
  }

  #passOf(key: ObjectKey): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.set(key, resolve);
    });
  }

  /** No pass for half a second. */
  async #quiet(): Promise<void> {
    let before = -1;
    while (this.#passes !== before) {
      before = this.#passes;
      await new Promise<void>((resolve) => {
        setTimeout(resolve, 500);
      });
    }
  }

  #declare(): void {
    const { accounts, servicesPerAccount, budgetsPerAccount = 0, shedding } = this.#workload;
    for (let account = 0; account < accounts; account += 1) {
      const namespace = namespacesOfAccounts(account);
      this.#cluster.put('Secret', {
        metadata: { name: 'compute', namespace },
        data: { apiKey: base64(String(account)) },
      });
      this.#cluster.put('Account', {
        metadata: { name: 'default', namespace },
        spec: {
          url: this.#workload.url ?? inThisProcess,
          credentialsSecretRef: { name: 'compute', key: 'apiKey' },
          pollSeconds,
          requests: { perSecond: 1000, burst: 1000, concurrency: 8 },
        },
      });
      for (let service = 0; service < servicesPerAccount; service += 1)
        this.#putService(account, service, {});
      if (account === 0) this.#declareTasks(namespace);
      for (let budget = 0; budget < budgetsPerAccount; budget += 1) {
        const scope = budget % 2 === 0 ? { namespace: true } : { accountRef: { name: 'default' } };
        const metadata = { name: `budget-${budget}`, namespace };
        this.#cluster.put('Budget', { metadata, spec: { ...scope, limits } });
      }
      if (shedding) {
        const hourlyMicros = Math.ceil(servicesPerAccount / 2);
        const spec = { namespace: true, mode: 'Shed', limits: { hourlyMicros } };
        this.#cluster.put('Budget', { metadata: { name: 'shed', namespace }, spec });
      }
    }
  }

  #declareTasks(namespace: string): void {
    const { tasks = 0, servicesPerAccount } = this.#workload;
    for (let task = 0; task < tasks; task += 1) {
      const spec = { serviceRef: { name: `service-${task % servicesPerAccount}` } };
      this.#cluster.put('ProtectedTask', { metadata: { name: `task-${task}`, namespace }, spec });
    }
  }

  #putService(account: number, service: number, annotations: Record<string, string>): void {
    this.#cluster.put('ContainerService', {
      metadata: { name: `service-${service}`, namespace: namespacesOfAccounts(account), annotations },
      spec: { region: 'standard', image, resources, adopt: { id: idOf(account, service) } },
    });
  }

  #transport(): Transport {
    return {
      exchange: async ({ url, headers, body }) => {
        const { pathname } = new URL(url);
        const text = this.#provider.answer(pathname, headers['authorization'], body);
        return { kind: 'reply', status: 200, retryAfter: undefined, body: text };
      },
      close: async () => {},
    };
  }
}
