import { spawnSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { countRollouts, reportSaved } from '../../../src/engine/pass-labels.ts';
import { fleetsNamed, setReplicas } from '../../../src/manager/replica-metrics.ts';
import { objectKey } from '../../../src/resources/index.ts';
import { newRecord, type ObjectRecord, type OwnerRevision } from '../../../src/state/index.ts';
import { createLogger, createMetrics } from '../../../src/telemetry/index.ts';

const rollout = { revision: 2, phase: 'Progressing', since: 0, surge: 0 };

function fleet(name: string, status: object, kind: object = {}): ObjectRecord {
  const key = objectKey('ServiceFleet', 'shop', name);
  return {
    ...newRecord(key, name),
    kind,
    status: { observedGeneration: 1, conditions: [], ...status },
  };
}

const nowMs = 1_000_000;

async function shown(records: readonly ObjectRecord[], isNamed: boolean) {
  const metrics = createMetrics();
  const store = { recordsOfKind: () => records };
  setReplicas(metrics, store, isNamed, nowMs);
  // A scrape takes the place of the one before.
  setReplicas(metrics, store, isNamed, nowMs);
  const text = await metrics.registry.getSingleMetricAsString('fleetkeeper_fleet_replicas');
  const paused = await metrics.registry.getSingleMetricAsString('fleetkeeper_rollout_oldest_paused_seconds');
  const phases = await metrics.registry.getSingleMetricAsString('fleetkeeper_fleets');
  const samples = `${text}\n${phases}`.split('\n').filter((line) => line.startsWith('fleetkeeper_'));
  const pausedSeconds = Number(/^fleetkeeper_rollout_oldest_paused_seconds (.*)$/m.exec(paused)?.[1]);
  return { samples, text: `${text}\n${phases}\n`, pausedSeconds };
}

const counts = {
  replicas: 3,
  desiredReplicas: 5,
  availableReplicas: 2,
  updatedReplicas: 1,
  drainingReplicas: 4,
  failedReplicas: 1,
};

test('without names, all fleets are one, by state and phase', async () => {
  const records = [fleet('a', counts), fleet('b', counts, { rollout }), fleet('c', {})];
  const { samples } = await shown(records, false);
  expect(samples).toEqual([
    'fleetkeeper_fleet_replicas{state="wanted"} 6',
    'fleetkeeper_fleet_replicas{state="available"} 4',
    'fleetkeeper_fleet_replicas{state="updated"} 2',
    'fleetkeeper_fleet_replicas{state="draining"} 8',
    'fleetkeeper_fleet_replicas{state="failed"} 2',
    'fleetkeeper_fleet_replicas{state="pending"} 4',
    'fleetkeeper_fleets{phase="Stable"} 2',
    'fleetkeeper_fleets{phase="Progressing"} 1',
  ]);
});

test('with names, 500 fleets have series of their own, and the rest shares one', async () => {
  const name = (index: number) => `f${String(index).padStart(4, '0')}`;
  const records = Array.from({ length: fleetsNamed + 20 }, (_, index) => fleet(name(index), counts));
  const { samples } = await shown(records.toReversed(), true);
  const wanted = samples.filter((line) => line.includes('state="wanted"'));
  expect(wanted).toHaveLength(fleetsNamed + 1);
  expect(wanted[0]).toBe('fleetkeeper_fleet_replicas{state="wanted",namespace="shop",fleet="f0000"} 3');
  expect(wanted.at(-1)).toBe('fleetkeeper_fleet_replicas{state="wanted",namespace="other",fleet="other"} 60');
});

describe('rollouts', () => {
  const revision = (outcome: OwnerRevision['outcome'], at: number): OwnerRevision => ({
    number: 2,
    content: {},
    data: [],
    values: '',
    digest: '',
    outcome,
    at,
  });

  test.each(['Healthy', 'Failed', 'Superseded'] as const)('that end %s are counted once', async (outcome) => {
    const metrics = createMetrics();
    const [under, ended] = [[revision('RollingOut', 1000)], [revision(outcome, 61_000)]];
    countRollouts(metrics, [], under);
    countRollouts(metrics, under, under);
    countRollouts(metrics, under, ended);
    countRollouts(metrics, ended, ended);
    const text = await metrics.registry.getSingleMetricAsString('fleetkeeper_rollouts_total');
    expect(text).toContain(`fleetkeeper_rollouts_total{outcome="${outcome}"} 1`);
    expect(await metrics.registry.getSingleMetricAsString('fleetkeeper_rollout_duration_seconds')).toContain(
      'fleetkeeper_rollout_duration_seconds_sum 60',
    );
  });
});

const promtool = spawnSync('promtool', ['--version']).status === 0;

test.runIf(promtool)('promtool accepts them with and without names', async () => {
  for (const isNamed of [false, true]) {
    const { text } = await shown([fleet('a', counts), fleet('b', counts, { rollout })], isNamed);
    const { stdout, stderr, status } = spawnSync('promtool', ['check', 'metrics'], {
      input: text,
      encoding: 'utf8',
    });
    expect([stdout, stderr, status]).toEqual(['', '', 0]);
  }
});

test('measurements are counted by check and outcome when they are saved', async () => {
  const metrics = createMetrics();
  const options = { metrics, logger: createLogger('silent') };
  const key = objectKey('ServiceFleet', 'shop', 'llm');
  const measured = [
    { check: 'always', outcome: 'passed' },
    { check: 'exec', outcome: 'failed' },
  ];
  reportSaved(options, key, { measured }, []);
  reportSaved(options, key, {}, []);
  const text = await metrics.registry.getSingleMetricAsString('fleetkeeper_analysis_measurements_total');
  expect(text.split('\n').filter((line) => line.startsWith('fleetkeeper_'))).toEqual([
    'fleetkeeper_analysis_measurements_total{check="always",outcome="passed"} 1',
    'fleetkeeper_analysis_measurements_total{check="exec",outcome="failed"} 1',
  ]);
});

test('the age of the oldest pause counts analyses without a result, and no others', async () => {
  const paused = { ...rollout, phase: 'Paused', since: nowMs - 60_000 };
  const analysing = (reason: string) => ({
    ...rollout,
    phase: 'Analysing',
    since: 0,
    stopped: { reason, since: nowMs - 90_000 },
  });
  const secondsOf = async (...rollouts: readonly object[]) => {
    const records = rollouts.map((each, index) => fleet(`f${index}`, counts, { rollout: each }));
    return (await shown(records, false)).pausedSeconds;
  };
  expect(await secondsOf(rollout, analysing('Analysing'))).toBe(0);
  expect(await secondsOf(paused, analysing('Analysing'))).toBe(60);
  expect(await secondsOf(paused, analysing('AnalysisInconclusive'))).toBe(90);
});
