/** Gauges that are computed when they are asked for. */
import type { Clock } from '../base/index.ts';
import { burnMicrosPerHour, clampedMicros, runwaySeconds } from '../plan/index.ts';
import { quotasOf, type AccountHandle } from '../reconcile/index.ts';
import { managedKinds, parseObjectKey } from '../resources/index.ts';
import type { ObjectRecord } from '../state/index.ts';
import type { Metrics } from '../telemetry/index.ts';
import type { Manager } from './manager.ts';

export function collectFleetMetrics(metrics: Metrics, manager: Manager, clock: Clock): void {
  manager.tellWork();
  tellObjects(metrics, manager, clock.wallMs());
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
    tellAccount(metrics, handle, clock);
    reservedMicros.set({ account: handle.name }, manager.reservedMicros(handle.name));
  }
}

function tellObjects(metrics: Metrics, { store }: Manager, nowMs: number): void {
  const { objects, conditions, driftSeconds, unknownOutcomes } = metrics;
  objects.reset();
  conditions.reset();
  for (const kind of managedKinds) {
    driftSeconds.set({ kind }, 0);
    unknownOutcomes.set({ kind }, 0);
  }
  const oldest = new Map<string, number>();
  let waitedMs = 0;
  for (const record of store.records()) {
    const { kind } = parseObjectKey(record.key);
    const told = record.status?.conditions ?? [];
    const ready = told.find(({ type }) => type === 'Ready')?.status ?? 'Unknown';
    objects.inc({ kind, ready });
    for (const { type, status, reason } of told) conditions.inc({ kind, type, status, reason });
    waitedMs = Math.max(waitedMs, protectedMs(record, nowMs));
    oldest.set(kind, Math.max(oldest.get(kind) ?? 0, driftMs(record, nowMs)));
    if (store.openIntent(record.key)?.outcome === 'unknown') unknownOutcomes.inc({ kind });
  }
  metrics.protectedSeconds.set(waitedMs / 1000);
  for (const [kind, ageMs] of oldest) driftSeconds.set({ kind }, ageMs / 1000);
}

/** For how long a disruption has been waiting for an activity. */
function protectedMs({ status }: ObjectRecord, nowMs: number): number {
  const waits = status?.conditions.find((item) => item.type === 'Protected' && item.status === 'True');
  return waits ? nowMs - Date.parse(waits.lastTransitionTime) : 0;
}

function driftMs({ status }: ObjectRecord, nowMs: number): number {
  return Math.max(0, ...(status?.drift ?? []).map(({ since }) => nowMs - Date.parse(since)));
}

function tellAccount(metrics: Metrics, { name: account, informer }: AccountHandle, clock: Clock): void {
  const { current, failure } = informer;
  metrics.accountUp.set({ account }, current && !failure ? 1 : 0);
  if (!current) return;
  const { balanceMicros, services, volumes, startedAtMs } = current;
  const burn = burnMicrosPerHour(services.values(), volumes.values());
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
