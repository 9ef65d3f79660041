/**
 * Every metric of the manager, declared once. Names of controller-runtime and of its workqueue are kept
 * where the meaning is the same, so that existing dashboards work.
 */
import { Counter, Gauge, Histogram, Registry } from 'prom-client';

export type Metrics = ReturnType<typeof createMetrics>;

export function createMetrics() {
  const registry = new Registry();
  const registers = [registry];
  return {
    registry,
    ...engineMetrics(registers),
    ...apiMetrics(registers),
    ...fleetMetrics(registers),
  };
}

function engineMetrics(registers: Registry[]) {
  return {
    reconcileTotal: new Counter({
      name: 'controller_runtime_reconcile_total',
      help: 'Passes of the reconciler by kind and result (in-sync, act, wait, hold, error).',
      labelNames: ['controller', 'result'],
      registers,
    }),
    reconcileSeconds: new Histogram({
      name: 'controller_runtime_reconcile_time_seconds',
      help: 'Duration of a pass, requests included.',
      labelNames: ['controller'],
      buckets: [0.001, 0.01, 0.1, 1, 10, 60],
      registers,
    }),
    queueDepth: new Gauge({
      name: 'workqueue_depth',
      help: 'Keys that wait for a worker.',
      registers,
    }),
    queueAdds: new Counter({
      name: 'workqueue_adds_total',
      help: 'Keys put into the workqueue.',
      registers,
    }),
    statusWrites: new Counter({
      name: 'fleetkeeper_status_writes_total',
      help: 'Statuses written because they changed.',
      labelNames: ['kind'],
      registers,
    }),
    brakeEngaged: new Gauge({
      name: 'fleetkeeper_mass_change_brake_engaged',
      help: '1 while the mass-change brake stops creations and deletions, by what pulled it.',
      labelNames: ['cause'],
      registers,
    }),
  };
}

function apiMetrics(registers: Registry[]) {
  return {
    apiRequests: new Counter({
      name: 'fleetkeeper_api_requests_total',
      help: 'Requests to the control API by endpoint and outcome (applied: answered; refused, not-sent, unknown).',
      labelNames: ['endpoint', 'outcome'],
      registers,
    }),
    apiSeconds: new Histogram({
      name: 'fleetkeeper_api_request_duration_seconds',
      help: 'Duration of requests to the control API, without the wait at the limiter.',
      labelNames: ['endpoint'],
      buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 30],
      registers,
    }),
    limiterWaitSeconds: new Histogram({
      name: 'fleetkeeper_limiter_wait_seconds',
      help: 'Time that requests waited at the limiter.',
      labelNames: ['lane'],
      buckets: [0.01, 0.1, 1, 10, 60, 600],
      registers,
    }),
    limiterRate: new Gauge({
      name: 'fleetkeeper_limiter_requests_per_second',
      help: 'The rate that the limiter has learned.',
      labelNames: ['account'],
      registers,
    }),
    rateLimited: new Counter({
      name: 'fleetkeeper_api_rate_limited_total',
      help: 'Answers with status 429.',
      labelNames: ['account'],
      registers,
    }),
  };
}

function fleetMetrics(registers: Registry[]) {
  return {
    objects: new Gauge({
      name: 'fleetkeeper_objects',
      help: 'Managed objects by kind and the status of their Ready condition.',
      labelNames: ['kind', 'ready'],
      registers,
    }),
    mutations: new Counter({
      name: 'fleetkeeper_mutations_total',
      help: 'Mutations by action and outcome (applied, refused, not-sent, unknown).',
      labelNames: ['action', 'outcome'],
      registers,
    }),
    balanceMicros: new Gauge({
      name: 'fleetkeeper_account_balance_micros',
      help: 'Balance of the account in micro-USD.',
      labelNames: ['account'],
      registers,
    }),
    pollAgeSeconds: new Gauge({
      name: 'fleetkeeper_account_poll_age_seconds',
      help: 'Age of the newest successful account read.',
      labelNames: ['account'],
      registers,
    }),
  };
}
