/**
 * Gauges of ServiceFleets, from what their statuses show. A scrape walks the fleets, and not their replicas. With `--fleet-metrics`, the
 * first fleets by name have series of their own, and all others share one. So the number of series is bounded.
 */
import { serviceFleet } from '../kinds/service-fleet/declaration.ts';
import type { FleetState } from '../kinds/service-fleet/state.ts';
import { parseObjectKey } from '../resources/index.ts';
import type { ObjectRecord, StateStore } from '../state/index.ts';
import type { Metrics } from '../telemetry/index.ts';

export const fleetsNamed = 500;

const states = {
  wanted: 'replicas',
  available: 'availableReplicas',
  updated: 'updatedReplicas',
  draining: 'drainingReplicas',
  failed: 'failedReplicas',
} as const;

interface Owner {
  readonly namespace?: string;
  readonly fleet?: string;
}

export function setReplicas(
  metrics: Pick<Metrics, 'fleets' | 'fleetReplicas' | 'rolloutPausedSeconds'>,
  store: Pick<StateStore, 'recordsOfKind'>,
  isNamed: boolean,
  nowMs: number,
): void {
  const { fleets, fleetReplicas, rolloutPausedSeconds } = metrics;
  let oldestMs = nowMs;
  fleets.reset();
  fleetReplicas.reset();
  const records: readonly ObjectRecord<FleetState>[] = store.recordsOfKind(serviceFleet.name);
  const sorted = isNamed ? records.toSorted((left, right) => (left.key < right.key ? -1 : 1)) : records;
  for (const [index, { key, kind, status }] of sorted.entries()) {
    fleets.inc({ phase: kind.rollout?.phase ?? 'Stable' });
    oldestMs = Math.min(oldestMs, pausedSince(kind) ?? nowMs);
    const owner = isNamed ? ownerOf(key, index) : {};
    const count = (field: string) => Number(status?.[field] ?? 0);
    for (const [state, field] of Object.entries(states)) fleetReplicas.inc({ state, ...owner }, count(field));
    const pending = Math.max(0, count('desiredReplicas') - count('replicas'));
    fleetReplicas.inc({ state: 'pending', ...owner }, pending);
  }
  rolloutPausedSeconds.set((nowMs - oldestMs) / 1000);
}

/** Since when the rollout has been in a pause, or in an analysis without a result (Unix milliseconds). */
function pausedSince({ rollout }: FleetState): number | undefined {
  if (rollout?.phase === 'Paused') return rollout.since;
  return rollout?.stopped?.reason === 'AnalysisInconclusive' ? rollout.stopped.since : undefined;
}

function ownerOf(key: ObjectRecord['key'], index: number): Owner {
  if (index >= fleetsNamed) return { namespace: 'other', fleet: 'other' };
  const { namespace, name } = parseObjectKey(key);
  return { namespace, fleet: name };
}
