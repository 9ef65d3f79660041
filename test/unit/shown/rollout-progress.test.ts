import { describe, expect, test } from 'vitest';
import { rolloutProgress, stepUnderWay } from '../../../src/shown/rollout-progress.ts';
import type { FleetState, RolloutRecord } from '../../../src/kinds/service-fleet/state.ts';
import { objectKey } from '../../../src/resources/index.ts';
import { newRecord, type ObjectRecord } from '../../../src/state/index.ts';

const steps = [{ replicas: 1 }, { pause: {} }, { pause: { seconds: 60 } }, { analysis: {} }];

function fleet(
  phase: RolloutRecord['phase'],
  step: number,
  [reason, message]: readonly [string, string],
): ObjectRecord<FleetState> {
  const record = newRecord(objectKey('ServiceFleet', 'default', 'llm'), 'uid');
  const condition = { type: 'Reconciling', status: 'True', reason, message, lastTransitionTime: '' };
  const begun = { revision: 2, attempt: 1, since: 0, surge: 0, progressAt: 0, seenAt: 0 };
  return {
    ...record,
    manifest: { ...record.manifest, spec: { update: { steps } } },
    kind: { update: 2, rollout: { ...begun, phase, step, reached: [], failures: [] } },
    status: { observedGeneration: record.generation, conditions: [condition], rollout: { step: step + 1 } },
  } as unknown as ObjectRecord<FleetState>;
}

describe('a rollout', () => {
  test.each([
    ['Paused', 1, 'RolloutPaused', 'Paused'],
    ['Paused', 2, 'RolloutPaused', 'Waiting'],
    ['Paused', 1, 'ReplicasNotReady', 'Waiting'],
    ['Analysing', 3, 'Analysing', 'Waiting'],
    ['Analysing', 3, 'AnalysisInconclusive', 'Paused'],
    ['Progressing', 0, 'ReplicasNotReady', 'Waiting'],
  ] as const)('that is %s in step %i, with %s, is %s', (phase, step, reason, result) => {
    const record = fleet(phase, step, [reason, 'until the command promote@r2#2']);
    expect(rolloutProgress(record).result).toBe(result);
    expect(stepUnderWay(record)).toBe(step + 1);
  });

  test('that waits for a person says for which command', () => {
    const record = fleet('Paused', 1, ['RolloutPaused', 'until the command promote@r2#2']);
    expect(rolloutProgress(record).message).toBe('RolloutPaused: until the command promote@r2#2');
  });
});
