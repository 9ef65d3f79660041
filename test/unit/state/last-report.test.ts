/** Since when an object reports what it waits for. */
import { expect, test } from 'vitest';
import { lastReport, type ObjectStatus } from '../../../src/state/index.ts';

const second = Date.parse('2026-01-01T00:00:10Z');

/** The condition has been True for a while, and has whole seconds. */
function waiting(reason: string): ObjectStatus {
  const lastTransitionTime = '2026-01-01T00:00:10Z';
  const condition = { status: 'True', message: '', lastTransitionTime, observedGeneration: 1 } as const;
  return { observedGeneration: 1, conditions: [{ type: 'Reconciling', reason, ...condition }] };
}

test('a reason counts from the pass that reports it first, whatever the condition had before', () => {
  const turn = lastReport(waiting('AwaitsTurn'), undefined, second + 300);
  expect(turn.pending).toEqual({ reason: 'AwaitsTurn', since: second + 300 });
  const held = lastReport(waiting('Protected'), turn, second + 700);
  expect(held.pending).toEqual({ reason: 'Protected', since: second + 700 });
  const later = lastReport(waiting('Protected'), held, second + 5000);
  expect(later).toEqual(held);
});

test('what another version has stored counts from its condition', () => {
  expect(lastReport(waiting('Protected')).pending).toEqual({ reason: 'Protected', since: second });
});
