/**
 * Every metric of the control plane, declared once; `docs/reference/metrics.md` is made from these declarations. No
 * label holds the name of an account or of an object: series stay as few as there are routes, states, and GPU models.
 */
import type { onRequestHookHandler } from 'fastify';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { Clock } from '../../base/clock.ts';
import { service, volume } from './answers.ts';
import type { Capacity } from '../domain/capacity.ts';
import type { Platform } from '../domain/platform.ts';
import type { OperationKind } from '../store/records.ts';
import type { Store } from '../store/store.ts';

const prefix = 'fleetkeeper_control_plane';

interface Hooked {
  addHook(name: 'onRequest', hook: onRequestHookHandler): unknown;
}

/** Of the public listener. To be called before the routes are added, and before other hooks. */
export function measureRequests(app: Hooked, registry: Registry): void {
  const registers = [registry];
  const requests = new Counter({
    name: `${prefix}_http_requests_total`,
    help: 'Requests by method, route and status; "none" is a status that was not sent.',
    labelNames: ['method', 'route', 'status'],
    registers,
  });
  const seconds = new Histogram({
    name: `${prefix}_http_request_duration_seconds`,
    help: 'Time from the headers of a request to the end of its connection or answer.',
    labelNames: ['method', 'route'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 60],
    registers,
  });
  const inFlight = new Gauge({
    name: `${prefix}_http_requests_in_flight`,
    help: 'Requests that have not been answered.',
    registers,
  });
  app.addHook('onRequest', (request, reply, done) => {
    const { method, routeOptions } = request;
    const labels = { method, route: routeOptions.url ?? 'none' };
    inFlight.inc();
    // However it ends: with an answer, or with its connection.
    reply.raw.once('close', () => {
      inFlight.dec();
      requests.inc({ ...labels, status: reply.raw.headersSent ? reply.raw.statusCode : 'none' });
      seconds.observe(labels, reply.elapsedTime / 1000);
    });
    done();
  });
}

/** Of everything behind the routes. */
export function measurePlatform(
  { store, capacity, clock }: Pick<Platform, 'store' | 'capacity' | 'clock'>,
  registry: Registry,
): void {
  showRecords(store, registry);
  showGpus(capacity, registry);
  countOperations(store, registry);
  measureCommits(store, clock, registry);
}

/** What the records say at the moment of a scrape. */
function showRecords(store: Store, registry: Registry): void {
  const registers = [registry];
  const states = Object.values(service.shape.state.enum);
  const statuses = Object.values(volume.shape.status.enum);
  // Gauges show themselves: the registry keeps them.
  void new Gauge({
    name: `${prefix}_services`,
    help: 'Services by state.',
    labelNames: ['state'],
    registers,
    collect() {
      for (const state of states) this.set({ state }, 0);
      for (const { state } of store.services.all()) this.inc({ state });
    },
  });
  void new Gauge({
    name: `${prefix}_volumes`,
    help: 'Volumes by status.',
    labelNames: ['status'],
    registers,
    collect() {
      for (const status of statuses) this.set({ status }, 0);
      for (const { status } of store.volumes.all()) this.inc({ status });
    },
  });
  void new Gauge({
    name: `${prefix}_accounts`,
    help: 'Accounts, those without access included.',
    registers,
    collect() {
      this.set([...store.accounts.all()].length);
    },
  });
}

function showGpus(capacity: Capacity, registry: Registry): void {
  const registers = [registry];
  const labelNames = ['region', 'geography', 'model'] as const;
  const configured = new Gauge({
    name: `${prefix}_gpus`,
    help: 'GPUs of the configuration.',
    labelNames,
    registers,
  });
  for (const { count, taken: _, ...labels } of capacity.usage()) configured.set(labels, count);
  void new Gauge({
    name: `${prefix}_gpus_taken`,
    help: 'GPUs that services hold.',
    labelNames,
    registers,
    collect() {
      for (const { count: _, taken, ...labels } of capacity.usage()) this.set(labels, taken);
    },
  });
}

/** What the runtime was asked for, when it is over; counted with the change of the record. */
function countOperations(store: Store, registry: Registry): void {
  const operations = new Counter({
    name: `${prefix}_runtime_operations_total`,
    help: 'Operations of the runtime by kind and outcome (succeeded, failed, superseded).',
    labelNames: ['kind', 'outcome'],
    registers: [registry],
  });
  const observe = (before?: Operated, after?: Operated) => {
    const operation = before?.operation;
    if (!operation || operation.id === after?.operation?.id) return;
    const outcome = after?.operation ? 'superseded' : after?.error ? 'failed' : 'succeeded';
    store.unit.afterCommit(() => operations.inc({ kind: operation.kind, outcome }));
  };
  store.services.observe(observe);
  store.volumes.observe(observe);
}

interface Operated {
  readonly operation: { readonly id: string; readonly kind: OperationKind } | null;
  readonly error: string | null;
}

function measureCommits(store: Store, clock: Clock, registry: Registry): void {
  const seconds = new Histogram({
    name: `${prefix}_commit_duration_seconds`,
    help: 'Duration of the commits of the database, failed ones included.',
    buckets: [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5],
    registers: [registry],
  });
  store.unit.aroundCommit((commit) => {
    const startedAtMs = clock.monotonicMs();
    try {
      commit();
    } finally {
      seconds.observe((clock.monotonicMs() - startedAtMs) / 1000);
    }
  });
}
