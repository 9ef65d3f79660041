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

test('after the clock was set back, a wait counts from then', () => {
  const scarce = lastReport(waiting('CapacityUnavailable'), undefined, second + 60_000);
  const attempt = lastReport(waiting('Create'), scarce, second + 70_000);
  const again = lastReport(waiting('CapacityUnavailable'), attempt, second + 71_000);
  expect(again).toMatchObject({ pending: { since: second + 71_000 }, waitsSince: second + 60_000 });
  const back = lastReport(waiting('CapacityUnavailable'), again, second);
  expect(back).toMatchObject({ pending: { since: second }, waitsSince: second });
  expect(lastReport(waiting('CapacityUnavailable'), back, second + 5000)).toEqual(back);
});

test('after the clock was set back, Ready counts from then, also when the clock has come to the time of its condition', () => {
  const ready = (at: string): ObjectStatus => ({
    observedGeneration: 1,
    conditions: [
      {
        type: 'Ready',
        status: 'False',
        reason: 'NotThere',
        message: '',
        lastTransitionTime: at,
        observedGeneration: 1,
      },
    ],
  });
  const at = '2026-01-01T00:00:10Z';
  const before = lastReport(ready(at), undefined, second + 1000);
  expect(before.ready).toEqual({ reason: 'NotThere', since: second });
  const back = lastReport(ready(at), before, second - 60_000);
  expect(back.ready?.since).toBe(second - 60_000);
  expect(lastReport(ready(at), back, second + 30_000)).toEqual(back);
  const again = lastReport(ready('2026-01-01T00:00:50Z'), back, second + 41_000);
  expect(again.ready).toEqual({ reason: 'NotThere', since: second + 40_000 });
});

test('a reason of Ready counts from the pass that reports it first, and Ready from when it has had its status', () => {
  const ready = (reason: string): ObjectStatus => {
    const lastTransitionTime = '2026-01-01T00:00:10Z';
    const condition = { status: 'False', message: '', lastTransitionTime, observedGeneration: 1 } as const;
    return { observedGeneration: 1, conditions: [{ type: 'Ready', reason, ...condition }] };
  };
  const vanished = lastReport(ready('Vanished'), undefined, second + 300);
  expect(vanished.ready).toEqual({ reason: 'Vanished', since: second });
  const failing = lastReport(ready('ProbeFailed'), vanished, second + 180_000);
  expect(failing.ready).toEqual({ reason: 'ProbeFailed', since: second, reasonSince: second + 180_000 });
  expect(lastReport(ready('ProbeFailed'), failing, second + 190_000)).toEqual(failing);
});

test('what another version has stored counts from its condition', () => {
  expect(lastReport(waiting('Protected')).pending).toEqual({ reason: 'Protected', since: second });
});

test('an attempt that is refused at once does not begin the wait anew', () => {
  const scarce = lastReport(waiting('CapacityUnavailable'), undefined, second);
  const attempt = lastReport(waiting('Create'), scarce, second + 10_000);
  expect(attempt.pending).toEqual({ reason: 'Create', since: second + 10_000 });
  const unread = lastReport(waiting('AwaitingObservation'), attempt, second + 10_500);
  const again = lastReport(waiting('CapacityUnavailable'), unread, second + 11_000);
  // What decides about replicas still counts from the pass.
  expect(again.pending).toEqual({ reason: 'CapacityUnavailable', since: second + 11_000 });
  expect(again.waitsSince).toBe(second);
  const later = lastReport(waiting('CapacityUnavailable'), again, second + 15_000);
  expect(later).toEqual(again);
  const attemptAgain = lastReport(waiting('Create'), later, second + 20_000);
  expect(lastReport(waiting('CapacityUnavailable'), attemptAgain, second + 21_000).waitsSince).toBe(second);
});

test('after an attempt, another reason counts from its own time', () => {
  const scarce = lastReport(waiting('CapacityUnavailable'), undefined, second);
  const attempt = lastReport(waiting('Create'), scarce, second + 10_000);
  const poor = lastReport(waiting('InsufficientFunds'), attempt, second + 11_000);
  expect(poor.pending).toEqual({ reason: 'InsufficientFunds', since: second + 11_000 });
  const scarceAgain = lastReport(waiting('CapacityUnavailable'), poor, second + 20_000);
  expect(scarceAgain.pending).toEqual({ reason: 'CapacityUnavailable', since: second + 20_000 });
});

test('what lasts longer than a minute is progress, and a wait after it is a new one', () => {
  const scarce = lastReport(waiting('CapacityUnavailable'), undefined, second);
  const attempt = lastReport(waiting('Create'), scarce, second + 10_000);
  const going = lastReport(waiting('Create'), attempt, second + 40_000);
  expect(going.interrupted).toEqual({ reason: 'CapacityUnavailable', since: second, at: second + 10_000 });
  const later = lastReport(waiting('CapacityUnavailable'), going, second + 80_000);
  expect(later.pending).toEqual({ reason: 'CapacityUnavailable', since: second + 80_000 });
});

test('a wait that ended in Ready is over', () => {
  const scarce = lastReport(waiting('CapacityUnavailable'), undefined, second);
  const attempt = lastReport(waiting('Create'), scarce, second + 1000);
  const ready = lastReport({ observedGeneration: 1, conditions: [] }, attempt, second + 2000);
  const later = lastReport(waiting('CapacityUnavailable'), ready, second + 3000);
  expect(later.pending).toEqual({ reason: 'CapacityUnavailable', since: second + 3000 });
});

test('an account that could not be read for an hour does not begin the wait anew', () => {
  const scarce = lastReport(waiting('CapacityUnavailable'), undefined, second);
  const unread = lastReport(waiting('ApiUnreachable'), scarce, second + 60_000);
  const later = lastReport(waiting('ApiUnreachable'), unread, second + 3_600_000);
  expect(later, 'nothing is written while it lasts').toEqual(unread);
  expect(unread.pending).toEqual({ reason: 'ApiUnreachable', since: second + 60_000 });
  const again = lastReport(waiting('AwaitingObservation'), later, second + 3_601_000);
  expect(lastReport(waiting('CapacityUnavailable'), again, second + 3_605_000).waitsSince).toBe(second);
});
