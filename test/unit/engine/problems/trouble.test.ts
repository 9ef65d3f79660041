import { expect, test } from 'vitest';
import { troubleOf } from '../../../../src/engine/problems/trouble.ts';
import { objectKey } from '../../../../src/resources/index.ts';
import { newRecord, type ObjectRecord } from '../../../../src/state/index.ts';

function held(message: string, reason = 'DataLost'): ObjectRecord {
  const record = newRecord(objectKey('ContainerService', 'default', 'web'), 'uid');
  const condition = {
    type: 'Stalled',
    status: 'True',
    reason,
    message,
    lastTransitionTime: '2026-11-01T00:00:00Z',
    observedGeneration: 1,
  } as const;
  return { ...record, status: { observedGeneration: 1, conditions: [condition] } };
}

test('the same problem with another message is the same problem, and with another reason another one', () => {
  const [first, changed, other] = [held('a'), held('b'), held('a', 'ServiceError')].map(troubleOf);
  expect(changed).toEqual({ ...first, message: 'b' });
  expect(other?.hash).not.toBe(first?.hash);
});
