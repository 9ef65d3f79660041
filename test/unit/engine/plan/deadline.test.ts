import { describe, expect, test } from 'vitest';
import { deadlineState, localTime, type AccountTime } from '../../../../src/engine/plan/index.ts';

const nowMs = Date.UTC(2026, 0, 8);
const passed = new Date(nowMs - 1000).toISOString();
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const unknown = { isAnswered: true, providerMs: undefined, steadyForMs: 0, behindForMs: 0 };

const stateOf = (account: Partial<AccountTime>, isOneShot = false) =>
  deadlineState(passed, { nowMs, account: { ...unknown, ...account }, isOneShot });

describe('a deadline that has passed by the clock of this machine', () => {
  test('has passed when the answers of the API show that, too, and not before', () => {
    expect(stateOf({ providerMs: nowMs })).toBe('passed');
    expect(stateOf({ providerMs: nowMs - 2000, steadyForMs: hourMs })).toBe('disputed');
    expect(stateOf({ providerMs: nowMs - 2000, steadyForMs: hourMs }, true)).toBe('disputed');
  });

  test('has passed after an hour of dispute without a jump: the answers may always be behind', () => {
    const years = nowMs - 365 * 24 * hourMs;
    const dispute = { providerMs: years, steadyForMs: 2 * hourMs, behindForMs: hourMs };
    expect(stateOf(dispute)).toBe('passed');
    expect(stateOf({ ...dispute, behindForMs: hourMs - 1 })).toBe('disputed');
    expect(stateOf({ ...dispute, steadyForMs: hourMs - 1 })).toBe('disputed');
  });

  test('without a `Date` has passed when the clock had no jump for two minutes; for a command, at once', () => {
    expect(stateOf({ steadyForMs: 2 * minuteMs - 1 })).toBe('open');
    expect(stateOf({ steadyForMs: 2 * minuteMs })).toBe('passed');
    expect(stateOf({}, true)).toBe('passed');
  });

  test('is open before the first answer', () => {
    expect(stateOf({ isAnswered: false, steadyForMs: hourMs }, true)).toBe('open');
  });

  test('has passed where no account has a say', () => {
    expect(deadlineState(passed, localTime(nowMs))).toBe('passed');
  });
});

test('a deadline that is ahead by the clock of this machine is ahead, whatever the API shows', () => {
  const deadline = new Date(nowMs + 1).toISOString();
  const account = { ...unknown, providerMs: nowMs + hourMs, steadyForMs: hourMs };
  expect(deadlineState(deadline, { nowMs, account, isOneShot: false })).toBe('ahead');
});
