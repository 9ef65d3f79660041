import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { collectProcessMetrics, createMetrics } from '../../../src/telemetry/index.ts';
import { metricsDocument, renderMetricsDocument } from './metrics-document.ts';

describe('the metrics', () => {
  test('are documented as they are declared (if not: npm run docs:metrics)', () => {
    expect(readFileSync(metricsDocument, 'utf8')).toBe(renderMetricsDocument());
  });

  test('have the names that dashboards of controllers expect', async () => {
    const declared = (await createMetrics().registry.getMetricsAsJSON()).map(({ name }) => name);
    expect(declared).toEqual(
      expect.arrayContaining([
        'controller_runtime_reconcile_total',
        'controller_runtime_reconcile_errors_total',
        'controller_runtime_reconcile_time_seconds',
        'controller_runtime_active_workers',
        'controller_runtime_max_concurrent_reconciles',
        'workqueue_depth',
        'workqueue_adds_total',
        'workqueue_queue_duration_seconds',
        'workqueue_work_duration_seconds',
        'workqueue_unfinished_work_seconds',
        'workqueue_longest_running_processor_seconds',
        'workqueue_retries_total',
      ]),
    );
  });

  test('have no label that could hold the name of an object, but those of Accounts, Budgets and --fleet-metrics', async () => {
    const labels = createMetrics()
      .registry.getMetricsAsArray()
      .flatMap((metric) => (metric as unknown as { labelNames: string[] }).labelNames);
    const named = /object|service|volume|task|template|registry|name|^id$|uid|account|budget|fleet/;
    expect(new Set([...labels].filter((label) => named.test(label)))).toEqual(
      new Set(['account', 'budget', 'fleet', 'name', 'namespace']),
    );
  });
});

const promtool = spawnSync('promtool', ['--version']).status === 0;
if (!promtool)
  process.stderr.write('promtool is not installed (Debian: prometheus): names are not checked\n');

test.runIf(promtool)('promtool has nothing to say against the names of all declared metrics', async () => {
  const metrics = createMetrics();
  // A metric without labels or values shows no sample, and promtool checks what is shown.
  for (const metric of metrics.registry.getMetricsAsArray()) {
    const { labelNames } = metric as unknown as { labelNames: string[] };
    const labels = Object.fromEntries(labelNames.map((name) => [name, 'x']));
    const one = metric as unknown as Partial<Record<'inc' | 'observe', (...args: unknown[]) => void>>;
    if (one.inc) one.inc(labels, 1);
    else one.observe?.(labels, 1);
  }
  collectProcessMetrics(metrics.registry);
  const text = await metrics.registry.metrics();
  const { stdout, stderr, status } = spawnSync('promtool', ['check', 'metrics'], {
    input: text,
    encoding: 'utf8',
  });
  expect([stdout, stderr, status]).toEqual(['', '', 0]);
});
