/** Gauges that are computed when they are asked for. */
import type { Clock } from '../base/index.ts';
import { parseObjectKey } from '../resources/index.ts';
import type { StateStore } from '../state/index.ts';
import type { Metrics } from '../telemetry/index.ts';
import type { AccountRegistry } from './accounts.ts';

export function collectFleetMetrics(
  metrics: Metrics,
  store: StateStore,
  accounts: AccountRegistry,
  clock: Clock,
): void {
  metrics.objects.reset();
  for (const record of store.records()) {
    const ready = record.status?.conditions.find(({ type }) => type === 'Ready')?.status ?? 'Unknown';
    metrics.objects.inc({ kind: parseObjectKey(record.key).kind, ready });
  }
  for (const { name, informer } of accounts.handles()) {
    if (!informer.current) continue;
    const ageMs = clock.monotonicMs() - informer.current.startedAtMs;
    metrics.pollAgeSeconds.set({ account: name }, ageMs / 1000);
  }
}
