/**
 * The metrics that every exporter of a process has (`process_*`, `nodejs_*`), as prom-client declares them. Those few
 * are missing whose names break the rules of `promtool check metrics`.
 */
import { Registry, collectDefaultMetrics } from 'prom-client';

const againstTheRules = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
];

/** Once per process. */
export function collectProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry });
  for (const name of againstTheRules) registry.removeSingleMetric(name);
}

/** With nothing else in it yet. */
export function createProcessRegistry(): Registry {
  const registry = new Registry();
  collectProcessMetrics(registry);
  return registry;
}
