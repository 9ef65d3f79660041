/** Gauges that are computed for each scrape. */
import type { Clock } from '../base/index.ts';
import { burnMicrosPerHour, clampedMicros, runwaySeconds } from '../engine/plan/index.ts';
import { quotasOf, type AccountHandle } from '../engine/index.ts';
import { managedKinds } from '../resources/index.ts';
import { brakeCauses, type Metrics } from '../telemetry/index.ts';
import type { Manager } from './manager.ts';
import { setBudgets } from './budget-metrics.ts';
import { impairmentCauses } from './impairments.ts';
import { setReplicas } from './replica-metrics.ts';

/** `isNamed`: each ServiceFleet has series of its own. */
export function collectFleetMetrics(metrics: Metrics, manager: Manager, clock: Clock, isNamed = false): void {
  manager.setWorkMetrics();
  const impairedBy = new Set(manager.impairments.map(({ cause }) => cause));
  for (const cause of impairmentCauses) metrics.managerImpaired.set({ cause }, impairedBy.has(cause) ? 1 : 0);
  setObjects(metrics, manager, clock.wallMs());
  setReplicas(metrics, manager.store, isNamed, clock.wallMs());
  setBudgets(metrics, manager.store);
  setBrakes(metrics, manager);
  // An account that is gone has no balance.
  const {
    balanceMicros,
    burnMicros,
    reservedMicros,
    runwaySeconds: runway,
    pollAgeSeconds,
    accountUp,
  } = metrics;
  const gauges = [balanceMicros, burnMicros, reservedMicros, runway, pollAgeSeconds, accountUp];
  for (const gauge of [...gauges, metrics.quotaUsed, metrics.quotaLimit]) gauge.reset();
  for (const handle of manager.accounts.handles()) {
    setAccount(metrics, handle, clock);
    reservedMicros.set({ account: handle.name }, manager.reservedMicros(handle.name));
  }
}

function setBrakes({ brakeEngaged }: Metrics, manager: Manager): void {
  const engaged = manager.brakeCauses();
  for (const cause of brakeCauses) brakeEngaged.set({ cause }, engaged.has(cause) ? 1 : 0);
}

/** These gauges were updated when each status was saved. */
function setObjects(metrics: Metrics, { store }: Manager, nowMs: number): void {
  const { gauges } = store;
  const { objects, conditions, driftSeconds, unknownOutcomes, protectedSeconds } = metrics;
  objects.reset();
  conditions.reset();
  for (const { labels, value } of gauges.objects) {
    const [kind = '', ready = ''] = labels;
    objects.set({ kind, ready }, value);
  }
  for (const { labels, value } of gauges.conditions) {
    const [kind = '', type = '', status = '', reason = ''] = labels;
    conditions.set({ kind, type, status, reason }, value);
  }
  for (const kind of managedKinds) {
    driftSeconds.set({ kind }, secondsSince(gauges.driftSince.get(kind), nowMs));
    unknownOutcomes.set({ kind }, gauges.unknownOutcomes.get(kind) ?? 0);
  }
  protectedSeconds.set(secondsSince(gauges.protectedSince, nowMs));
}

/** 0 if undefined, or if another clock shows a time in the future. */
function secondsSince(sinceMs: number | undefined, nowMs: number): number {
  return sinceMs === undefined ? 0 : Math.max(0, nowMs - sinceMs) / 1000;
}

function setAccount(metrics: Metrics, { name: account, informer }: AccountHandle, clock: Clock): void {
  const { current, failure } = informer;
  metrics.accountUp.set({ account }, current && !failure ? 1 : 0);
  if (!current) return;
  const { balanceMicros, startedAtMs } = current;
  const burn = burnMicrosPerHour(current);
  const runway = balanceMicros === undefined ? undefined : runwaySeconds(balanceMicros, burn);
  if (balanceMicros !== undefined) metrics.balanceMicros.set({ account }, balanceMicros);
  metrics.burnMicros.set({ account }, clampedMicros(burn));
  if (runway !== undefined) metrics.runwaySeconds.set({ account }, runway);
  metrics.pollAgeSeconds.set({ account }, (clock.monotonicMs() - startedAtMs) / 1000);
  for (const { resource, used, limit } of quotasOf(current)) {
    metrics.quotaUsed.set({ account, resource }, used);
    metrics.quotaLimit.set({ account, resource }, limit);
  }
}
