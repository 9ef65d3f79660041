import { expect, test } from 'vitest';
import { objectKey, type Condition } from '../../../src/resources/index.ts';
import type { ObjectRecord } from '../../../src/state/index.ts';
import { SharedConditions } from '../../../src/state/shared-conditions.ts';
import { aRecord } from '../../support/plan.ts';

function ready(lastTransitionTime: string): Condition {
  const rest = { reason: 'Healthy', message: '', observedGeneration: 1 };
  return { type: 'Ready', status: 'True', ...rest, lastTransitionTime };
}

function record(name: string, time: string): ObjectRecord {
  const status = { observedGeneration: 1, conditions: [ready(time)] };
  return aRecord(objectKey('ContainerService', 'default', name), { status });
}

test('equal conditions of many objects are kept once, and each record says what it said', () => {
  const shared = new SharedConditions();
  const given = ['a', 'b', 'c'].map((name) =>
    record(name, name === 'c' ? '2026-01-02T00:00:00Z' : '2026-01-01T00:00:00Z'),
  );
  const kept = given.map((each) => shared.of(each));
  expect(kept).toEqual(given);
  const [first, second, third] = kept.map(({ status }) => status?.conditions);
  expect(second).toBe(first);
  expect(third).not.toBe(first);
});

test('the memory for it is bounded', () => {
  const shared = new SharedConditions();
  const first = shared.of(record('a', 'time 0'));
  for (let index = 1; index <= 2000; index += 1) shared.of(record('b', `time ${index}`));
  const again = record('c', 'time 0');
  expect(shared.of(again).status?.conditions).not.toBe(first.status?.conditions);
});

test('a record without a status is as it is', () => {
  const bare = { ...record('a', ''), status: undefined };
  expect(new SharedConditions().of(bare)).toBe(bare);
});
