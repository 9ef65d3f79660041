/**
 * Every metric of the manager, declared once; `docs/reference/metrics.md` is made from these declarations. Names of
 * controller-runtime and of client-go's workqueue are kept where the meaning is the same, so that existing dashboards
 * work; a `controller` is a kind. No label holds the name of an object, apart from Accounts, at most 200 Budgets, and what `--fleet-metrics` asks
 * for: series stay as few as there are kinds, reasons, endpoints and accounts.
 */
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { budgetMetrics } from './budget-metrics.ts';
import { fileMetrics } from './file-metrics.ts';
import { kubernetesMetrics } from './kubernetes-metrics.ts';
import { notificationMetrics } from './notification-metrics.ts';
import { pageMetrics } from './page-metrics.ts';
import { replicaMetrics } from './replica-metrics.ts';

export type Metrics = ReturnType<typeof createMetrics>;

/** The values of `cause` of `fleetkeeper_mass_change_brake_engaged`. */
export const brakeCauses = ['source', 'account', 'drift'] as const;
export type BrakeCause = (typeof brakeCauses)[number];

export function createMetrics() {
  const registry = new Registry();
  const registers = [registry];
  return {
    registry,
    ...controllerMetrics(registers),
    ...workqueueMetrics(registers),
    ...apiMetrics(registers),
    ...fleetMetrics(registers),
    ...taskMetrics(registers),
    ...accountMetrics(registers),
    ...capacityMetrics(registers),
    ...replicaMetrics(registers),
    ...budgetMetrics(registers),
    ...kubernetesMetrics(registers),
    ...pageMetrics(registers),
    ...notificationMetrics(registers),
    ...fileMetrics(registers),
  };
}

/** The buckets of controller-runtime. */
const passSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
/** Those of client-go. */
const queueSeconds = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1, 10];

function controllerMetrics(registers: Registry[]) {
  return {
    reconcileTotal: new Counter({
      name: 'controller_runtime_reconcile_total',
      help: 'Passes by kind and result: success (nothing to do, or held), requeue (a step was taken), requeue_after (waiting), error.',
      labelNames: ['controller', 'result'],
      registers,
    }),
    reconcileErrors: new Counter({
      name: 'controller_runtime_reconcile_errors_total',
      help: 'Passes that failed because of a defect or a full disk. A refusal by the API is not an error of a pass.',
      labelNames: ['controller'],
      registers,
    }),
    reconcileSeconds: new Histogram({
      name: 'controller_runtime_reconcile_time_seconds',
      help: 'Duration of a pass, requests included.',
      labelNames: ['controller'],
      buckets: passSeconds,
      registers,
    }),
    activeWorkers: new Gauge({
      name: 'controller_runtime_active_workers',
      help: 'Passes under way.',
      labelNames: ['controller'],
      registers,
    }),
    workerLimit: new Gauge({
      name: 'controller_runtime_max_concurrent_reconciles',
      help: 'Passes under way at once in one account, of all kinds that send requests together; `requests.concurrency` of an Account may allow more.',
      labelNames: ['controller'],
      registers,
    }),
    commands: new Counter({
      name: 'fleetkeeper_commands_total',
      help: 'Operator commands that were decided on, by verb and result (Done, Outdated).',
      labelNames: ['verb', 'result'],
      registers,
    }),
    plans: new Counter({
      name: 'fleetkeeper_plans_total',
      help: 'Answers of the planners by kind, answer (in-sync, act, wait, hold) and reason.',
      labelNames: ['kind', 'answer', 'reason'],
      registers,
    }),
  };
}

function workqueueMetrics(registers: Registry[]) {
  const labelNames = ['name'] as const;
  return {
    queueDepth: new Gauge({
      name: 'workqueue_depth',
      help: 'Keys that wait for a worker.',
      labelNames,
      registers,
    }),
    queueAdds: new Counter({
      name: 'workqueue_adds_total',
      help: 'Keys put into the workqueue.',
      labelNames,
      registers,
    }),
    queueSeconds: new Histogram({
      name: 'workqueue_queue_duration_seconds',
      help: 'How long a key waits for a worker.',
      labelNames,
      buckets: queueSeconds,
      registers,
    }),
    workSeconds: new Histogram({
      name: 'workqueue_work_duration_seconds',
      help: 'How long a worker works on a key.',
      labelNames,
      buckets: queueSeconds,
      registers,
    }),
    unfinishedSeconds: new Gauge({
      name: 'workqueue_unfinished_work_seconds',
      help: 'Seconds of work in progress, summed over all workers.',
      labelNames,
      registers,
    }),
    longestRunningSeconds: new Gauge({
      name: 'workqueue_longest_running_processor_seconds',
      help: 'How long the longest current pass has been running.',
      labelNames,
      registers,
    }),
    queueRetries: new Counter({
      name: 'workqueue_retries_total',
      help: 'Keys that were put back for a recheck after a pause.',
      labelNames,
      registers,
    }),
  };
}

function apiMetrics(registers: Registry[]) {
  return {
    apiRequests: new Counter({
      name: 'fleetkeeper_api_requests_total',
      help: 'Requests to the control API by verb, endpoint and outcome (applied, refused, not-sent, unknown).',
      labelNames: ['verb', 'endpoint', 'outcome'],
      registers,
    }),
    apiSeconds: new Histogram({
      name: 'fleetkeeper_api_request_duration_seconds',
      help: 'Duration of requests to the control API, without the wait at the limiter.',
      labelNames: ['verb', 'endpoint'],
      buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 30],
      registers,
    }),
    apiUnreadable: new Counter({
      name: 'fleetkeeper_api_unreadable_fields_total',
      help: 'Fields of answers that could not be read, by resource and field; decides: whether the object is held because of it.',
      labelNames: ['resource', 'field', 'decides'],
      registers,
    }),
    throttled: new Counter({
      name: 'fleetkeeper_api_throttled_total',
      help: 'Answers with status 429.',
      labelNames: ['account'],
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
  };
}

function fleetMetrics(registers: Registry[]) {
  return {
    buildInfo: new Gauge({
      name: 'fleetkeeper_build_info',
      help: '1, with the version of Fleetkeeper.',
      labelNames: ['version'],
      registers,
    }),
    objects: new Gauge({
      name: 'fleetkeeper_objects',
      help: 'Managed objects by kind and the status of their Ready condition.',
      labelNames: ['kind', 'ready'],
      registers,
    }),
    conditions: new Gauge({
      name: 'fleetkeeper_condition',
      help: 'Objects by kind that have this condition with this status and reason.',
      labelNames: ['kind', 'type', 'status', 'reason'],
      registers,
    }),
    driftSeconds: new Gauge({
      name: 'fleetkeeper_drift_oldest_age_seconds',
      help: 'Seconds since the oldest present drift was first seen; 0 without drift.',
      labelNames: ['kind'],
      registers,
    }),
    unknownOutcomes: new Gauge({
      name: 'fleetkeeper_unknown_outcomes',
      help: 'Objects with a mutation whose outcome is unknown.',
      labelNames: ['kind'],
      registers,
    }),
    mutations: new Counter({
      name: 'fleetkeeper_mutations_total',
      help: 'Mutations by action and outcome (applied, refused, not-sent, unknown).',
      labelNames: ['action', 'outcome'],
      registers,
    }),
    repeatedCorrections: new Counter({
      name: 'fleetkeeper_repeated_corrections_total',
      help: 'Mutations that were repeated within minutes because something had undone them, by action.',
      labelNames: ['action'],
      registers,
    }),
    policyEvaluations: new Counter({
      name: 'fleetkeeper_policy_evaluations_total',
      help: 'Changes that the rules of --policy were asked about, by outcome (allow, warn, deny, error). An error denies.',
      labelNames: ['outcome'],
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
      help: '1 while a brake stops something, by what it has seen: source (documents vanished) and account (a read lacks managed objects) stop creations and deletions, drift (on many objects) corrections.',
      labelNames: ['cause'],
      registers,
    }),
  };
}

function accountMetrics(registers: Registry[]) {
  const labelNames = ['account'] as const;
  return {
    balanceMicros: new Gauge({
      name: 'fleetkeeper_account_balance_micros',
      help: 'Balance in micro-USD.',
      labelNames,
      registers,
    }),
    burnMicros: new Gauge({
      name: 'fleetkeeper_account_burn_micros_per_hour',
      help: 'Cost of everything in the account that holds compute or storage, in micro-USD per hour.',
      labelNames,
      registers,
    }),
    reservedMicros: new Gauge({
      name: 'fleetkeeper_account_reserved_micros_per_hour',
      help: 'Estimated cost of requests that no account read shows yet, in micro-USD per hour.',
      labelNames,
      registers,
    }),
    runwaySeconds: new Gauge({
      name: 'fleetkeeper_account_runway_seconds',
      help: 'Seconds that the balance lasts at this burn; absent without burn.',
      labelNames,
      registers,
    }),
    pollAgeSeconds: new Gauge({
      name: 'fleetkeeper_account_poll_age_seconds',
      help: 'Age of the newest successful account read.',
      labelNames,
      registers,
    }),
    accountUp: new Gauge({
      name: 'fleetkeeper_account_up',
      help: '1 when the newest read of the account succeeded, and its identity is the pinned one.',
      labelNames,
      registers,
    }),
    quotaUsed: new Gauge({
      name: 'fleetkeeper_account_quota_used',
      help: 'Use of the limits of the API, by resource.',
      labelNames: ['account', 'resource'],
      registers,
    }),
    quotaLimit: new Gauge({
      name: 'fleetkeeper_account_quota_limit',
      help: 'The limit of the API, by resource.',
      labelNames: ['account', 'resource'],
      registers,
    }),
    ledgerGaps: new Counter({
      name: 'fleetkeeper_account_ledger_gaps_total',
      help: 'Pairs of reads between which more ledger entries were made than one read shows.',
      labelNames,
      registers,
    }),
  };
}

function capacityMetrics(registers: Registry[]) {
  return {
    capacityScarce: new Gauge({
      name: 'fleetkeeper_capacity_scarce',
      help: 'Demands for which the provider has refused capacity, and has not granted it since.',
      labelNames: ['account'],
      registers,
    }),
    capacityProbes: new Counter({
      name: 'fleetkeeper_capacity_probes_total',
      help: 'Requests for scarce capacity by outcome (granted, refused for capacity, other refusals, not-sent, unknown).',
      labelNames: ['account', 'outcome'],
      registers,
    }),
  };
}

function taskMetrics(registers: Registry[]) {
  return {
    heartbeats: new Counter({
      name: 'fleetkeeper_activity_requests_total',
      help: 'Requests that register, renew or release activities, by account and outcome.',
      labelNames: ['account', 'outcome'],
      registers,
    }),
    registrations: new Gauge({
      name: 'fleetkeeper_activity_leases',
      help: 'Activities of protected tasks by account and phase (registering, held, releasing).',
      labelNames: ['account', 'phase'],
      registers,
    }),
    registrationExpirySeconds: new Gauge({
      name: 'fleetkeeper_activity_expiry_seconds',
      help: 'Seconds until the first held activity expires; negative once one has.',
      labelNames: ['account'],
      registers,
    }),
    protectedSeconds: new Gauge({
      name: 'fleetkeeper_protected_oldest_age_seconds',
      help: 'Seconds that the oldest disruption has waited for an activity; 0 without one.',
      registers,
    }),
    heartbeatLateSeconds: new Histogram({
      name: 'fleetkeeper_activity_beat_lateness_seconds',
      help: 'Delay of heartbeats of held activities behind their due time.',
      buckets: [0.01, 0.1, 0.5, 1, 3, 10, 30, 120],
      registers,
    }),
  };
}
