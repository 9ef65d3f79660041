import { expect, test } from 'vitest';
import { systemRandom } from '../../../../src/base/index.ts';
import { fingerprint } from '../../../../src/engine/mutation/index.ts';
import type { Step } from '../../../../src/engine/plan/index.ts';
import { Backoffs } from '../../../../src/engine/outcomes/backoffs.ts';
import { MemoryStore, type ObjectRecord } from '../../../../src/state/index.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { aRecord, owner, said, serviceId, serviceKey } from '../../../support/plan.ts';

const minuteMs = 60_000;
const step: Step = {
  action: { do: 'stop-service', id: serviceId },
  reason: 'SpecChanged',
  disruptive: true,
  differences: [],
};

function before(history: Partial<ObjectRecord>, clock = new ManualClock()) {
  const store = new MemoryStore({ digestKey: owner.digestKey, ownerName: 'lab' }, [], []);
  const obstacles = new Backoffs({ store, clock, random: systemRandom, mode: 'manage' });
  const record = aRecord(serviceKey, history);
  const found = () => {
    const plan = obstacles.find(record, step);
    return plan && said(plan);
  };
  return { clock, found };
}

/** `aheadMs`: the clock has been set back by so much since. */
function refusedWith(status: number, code: string, aheadMs = 0) {
  const clock = new ManualClock();
  const history: Partial<ObjectRecord> = {
    refusal: {
      fingerprint: fingerprint(step.action, owner.digestKey),
      generation: 1,
      action: 'stop-service',
      status,
      code,
      message: 'no',
      at: clock.wallMs() + aheadMs,
      scarcity: undefined,
    },
  };
  return before(history, clock);
}

// COVERAGE 85
test('what is forbidden is tried again after ten minutes: nothing tells when rights have changed', async () => {
  const { clock, found } = refusedWith(403, 'forbidden');
  await clock.advance(10 * minuteMs - 1);
  expect(found()).toBe('hold Forbidden');
  await clock.advance(1);
  expect(found()).toBeUndefined();
});

test('what was forbidden before the clock was set back is not forbidden for as long as that', async () => {
  const aheadMs = 365 * 24 * 60 * minuteMs;
  const { clock, found } = refusedWith(403, 'forbidden', aheadMs);
  await clock.advance(minuteMs);
  expect(found()).toBeUndefined();
});

// COVERAGE 93
test('what is wrong in itself is not sent again, however long ago it was refused', async () => {
  const { clock, found } = refusedWith(400, 'invalid_request');
  await clock.advance(10_000 * minuteMs);
  expect(found()).toBe('hold Refused');
});

test('what was applied three times and does not show is not sent a fourth time', () => {
  const mark = fingerprint(step.action, owner.digestKey);
  expect(before({ repeated: { fingerprint: mark, count: 2 } }).found()).toBeUndefined();
  expect(before({ repeated: { fingerprint: mark, count: 3 } }).found()).toBe('hold NotTakingEffect');
  expect(before({ repeated: { fingerprint: 'another', count: 3 } }).found()).toBeUndefined();
});
