import { describe, expect, test } from 'vitest';
import { type Plan, holdFor, inSync, waitFor } from '../../../../src/engine/plan/index.ts';
import { type PassView, newEvents, nothingReported } from '../../../../src/engine/status/index.ts';
import { intentOf, trainer } from '../../state/support.ts';

const quiet: PassView = { plan: inSync(), lastIntent: undefined, id: undefined, drift: [] };
const entry = { path: 'image', kind: 'Changed', desired: 'app:1', observed: 'app:2', since: 'noon' } as const;

/** The news of each view, one after the other. */
function newsOf(...views: Partial<PassView>[]): string[][] {
  let reported = nothingReported;
  return views.map((view) => {
    const next = newEvents({ ...quiet, ...view }, reported, 500);
    reported = next.reported;
    return next.news.map(({ type, reason, message }) => `${type} ${reason} ${message}`.trim());
  });
}

const plan = (given: Plan): Partial<PassView> => ({ plan: given });
const intent = (outcome: 'pending' | 'applied' | 'refused' | 'unknown' | 'not-sent', note?: string) => ({
  lastIntent: intentOf(trainer, 'key', { outcome, finishedAt: 2000, note }),
});

describe('what becomes an Event', () => {
  test('is a mutation with its outcome, once', () => {
    expect(newsOf(intent('pending'), intent('applied'), intent('applied'))).toEqual([
      [],
      ['Normal Patched patch-service id'],
      [],
    ]);
  });

  test('is a creation with what it made', () => {
    const made = {
      action: 'create-service',
      targetId: undefined,
      outcome: 'applied',
      finishedAt: 2000,
    } as const;
    expect(newsOf({ lastIntent: intentOf(trainer, 'key', made), id: 'id-1' })).toEqual([
      ['Normal Created create-service id-1'],
    ]);
  });

  test.each([
    ['refused', 'Warning Refused patch-service id: 400 no'],
    ['unknown', 'Warning OutcomeUnknown patch-service id: 400 no'],
  ] as const)('is a mutation that was %s, with why', (outcome, event) => {
    expect(newsOf(intent(outcome, '400 no'))).toEqual([[event]]);
  });

  test('is no request that was never sent, and none of an earlier process', () => {
    const old = { lastIntent: intentOf(trainer, 'key', { outcome: 'applied', finishedAt: 499 }) };
    expect(newsOf(intent('not-sent'), old)).toEqual([[], []]);
  });

  test('is a hold when it begins, and again when it has been over', () => {
    const held = plan(holdFor('InvalidSpec', 'mend it'));
    expect(newsOf(held, held, {}, held)).toEqual([
      ['Warning InvalidSpec mend it'],
      [],
      [],
      ['Warning InvalidSpec mend it'],
    ]);
  });

  test("is a wait for somebody's task, and no other wait", () => {
    const waits = [waitFor('Protected', 'waits for training'), waitFor('Provisioning', 'soon')];
    expect(newsOf(...waits.map(plan))).toEqual([['Normal Protected waits for training'], []]);
  });

  test('is drift when it appears, each field once', () => {
    const more = { ...entry, path: 'httpPort', desired: 80, observed: 81, cause: 'by ops' } as const;
    expect(newsOf({ drift: [entry] }, { drift: [entry, more] }, { drift: [more] })).toEqual([
      ['Warning Drifted image: "app:2" → "app:1"'],
      ['Warning Drifted httpPort: 81 → 80 (by ops)'],
      [],
    ]);
  });
});
