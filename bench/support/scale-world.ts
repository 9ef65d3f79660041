/**
 * A fleet in this process, of any size: a cluster in memory as its source, accounts of a provider that answers from texts, and the manager
 * between them. Nothing is sent but reads: each service is adopted, and is as its object wants it. What is measured is CPU, so that a
 * busy machine does not matter.
 */
import pino from 'pino';
import type { HttpReply, HttpRequest, Transport } from '../../src/api/index.ts';
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

export interface ScaleWorkload {
  readonly accounts: number;
  readonly servicesPerAccount: number;
  /** About all services of an account; default none. */
  readonly budgetsPerAccount?: number;
  /** Each account has one more, for which half of its services would have to be stopped. */
  readonly shedding?: true;
}

/** Never reached. */
const limits = { hourlyMicros: 1_000_000_000, monthlyMicros: 1_000_000_000_000_000 };

const logger = pino({ level: 'silent' });
const resources = { gpuCount: 0, cpu: 1, memoryGb: 1 };
const image = 'ghcr.io/acme/app:1';
const host = 'https://provider.example';
/** Nobody reads by himself. */
const pollSeconds = 3600;
const namespacesOfAccounts = (account: number) => `team-${account}`;

function digits(value: number, length: number): string {
  return value.toString(16).padStart(length, '0');
}

function idOf(account: number, service: number): string {
  return `${digits(account, 8)}-0000-4000-8000-${digits(service, 12)}`;
}

export class ScaleWorld {
  readonly #workload: ScaleWorkload;
  readonly #cluster = new MemoryCluster();
  readonly #bodies: string[];
  readonly #waiting = new Map<ObjectKey, () => void>();
  readonly #metrics = createMetrics();
  readonly #manager: Manager;
  #budgets: Budgets | undefined;
  #reservations: Reservations | undefined;
  #passes = 0;
  #balance = 1e12;
  #edits = 0;

  private constructor(workload: ScaleWorkload) {
    this.#workload = workload;
    this.#bodies = Array.from({ length: workload.accounts }, (_, account) => this.#servicesOf(account));
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
      createTransport: () => this.#transport(),
      settleMs: 5000,
      grace: { goneMs: 1000, ...defaultShortenedGrace },
      allowMassChange: false,
      mode: 'manage',
      onPass: (key) => {
        this.#passes += 1;
        const done = this.#waiting.get(key);
        this.#waiting.delete(key);
        done?.();
      },
    });
  }

  /** All accounts have been read, and each object has had its passes. */
  static async start(workload: ScaleWorkload): Promise<ScaleWorld> {
    const world = new ScaleWorld(workload);
    await world.#manager.start();
    await world.#quiet();
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
          url: host,
          credentialsSecretRef: { name: 'compute', key: 'apiKey' },
          pollSeconds,
          requests: { perSecond: 1000, burst: 1000, concurrency: 8 },
        },
      });
      for (let service = 0; service < servicesPerAccount; service += 1)
        this.#putService(account, service, {});
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

  #putService(account: number, service: number, annotations: Record<string, string>): void {
    this.#cluster.put('ContainerService', {
      metadata: { name: `service-${service}`, namespace: namespacesOfAccounts(account), annotations },
      spec: { region: 'standard', image, resources, adopt: { id: idOf(account, service) } },
    });
  }

  #servicesOf(account: number): string {
    const services = Array.from({ length: this.#workload.servicesPerAccount }, (_, service) => ({
      id: idOf(account, service),
      name: `service-${service}`,
      state: 'running',
      revision: 1,
      region: 'standard',
      geography: 'auto-7',
      image,
      command: null,
      httpPort: null,
      resources,
      environmentNames: [],
      volumeId: null,
      sleepAfterMinutes: null,
      hourlyMicros: 1,
      endpoint: `https://service-${service}.example`,
    }));
    return JSON.stringify(services);
  }

  #transport(): Transport {
    return { exchange: async (request) => this.#answer(request), close: async () => {} };
  }

  #answer({ url, headers }: HttpRequest): HttpReply {
    const { pathname } = new URL(url);
    const account = Number((headers['authorization'] ?? '').replace('Bearer ', ''));
    if (pathname === '/api/me') return reply(`{"id":"account-${account}","emailVerified":true}`);
    if (pathname === '/api/account') {
      this.#balance -= 1;
      return reply(
        `{"balanceMicros":${this.#balance},"currency":"USD","services":${this.#bodies[account]},"volumes":[],"ledger":[]}`,
      );
    }
    return reply('{"regions":[],"templates":[],"gpuCatalog":[],"currency":"USD"}');
  }
}

function reply(body: string): HttpReply {
  return { kind: 'reply', status: 200, retryAfter: undefined, body };
}
