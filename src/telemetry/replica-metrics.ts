/** Metrics of ServiceFleets. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

export function replicaMetrics(registers: Registry[]) {
  return {
    fleets: new Gauge({
      name: 'fleetkeeper_fleets',
      help: 'ServiceFleets by the phase of their rollout (Stable: none is under way).',
      labelNames: ['phase'],
      registers,
    }),
    fleetReplicas: new Gauge({
      name: 'fleetkeeper_fleet_replicas',
      help: 'Replicas of ServiceFleets by state: wanted, and of these available, updated and failed; pending; draining. With --fleet-metrics for each of 500 fleets, and the rest as `other`.',
      labelNames: ['state', 'namespace', 'fleet'],
      registers,
    }),
    rollouts: new Counter({
      name: 'fleetkeeper_rollouts_total',
      help: 'Rollouts that have ended, by the outcome of their revision (Healthy, Failed, Superseded).',
      labelNames: ['outcome'],
      registers,
    }),
    analysisMeasurements: new Counter({
      name: 'fleetkeeper_analysis_measurements_total',
      help: 'Measurements of analyses, by check (http, exec, prometheus; always: errors and restarts of replicas) and outcome (passed, failed, inconclusive).',
      labelNames: ['check', 'outcome'],
      registers,
    }),
    rolloutPausedSeconds: new Gauge({
      name: 'fleetkeeper_rollout_oldest_paused_seconds',
      help: 'How long the rollout has stood still that does so for the longest time: in a pause, or in an analysis without a result; 0: none.',
      registers,
    }),
    rolloutSeconds: new Histogram({
      name: 'fleetkeeper_rollout_duration_seconds',
      help: 'Duration of rollouts that have ended.',
      buckets: [10, 60, 300, 900, 3600, 14_400, 86_400],
      registers,
    }),
  };
}
