import { expect, test } from 'vitest';
import { systemRandom } from '../../../../src/base/index.ts';
import { fingerprint } from '../../../../src/engine/mutation/index.ts';
import type { Action, Step } from '../../../../src/engine/plan/index.ts';
import { Backoffs } from '../../../../src/engine/outcomes/backoffs.ts';
import { MemoryStore, type ObjectRecord } from '../../../../src/state/index.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { aRecord, owner, said, serviceId, serviceKey } from '../../../support/plan.ts';

const minuteMs = 60_000;
const stop: Action = { do: 'stop-service', id: serviceId };
const rename: Action = { do: 'update-volume', id: serviceId, revision: 3, name: 'data', sizeGb: undefined };
const stepOf = (action: Action): Step => ({
  action,
  reason: 'SpecChanged',
  disruptive: true,
  differences: [],
});

function before(history: Partial<ObjectRecord>, clock = new ManualClock(), action = stop) {
  const store = new MemoryStore({ digestKey: owner.digestKey, ownerName: 'lab' }, [], []);
  const obstacles = new Backoffs({ store, clock, random: systemRandom, mode: 'manage' });
  const record = aRecord(serviceKey, history);
  const plan = () => obstacles.find(record, stepOf(action));
  const found = () => {
    const obstacle = plan();
    return obstacle && said(obstacle);
  };
  return { clock, plan, found };
}

/** `aheadMs`: the clock has been set back by so much since. */
function refusedWith(status: number, code: string, { aheadMs = 0, action = stop } = {}) {
  const clock = new ManualClock();
  const history: Partial<ObjectRecord> = {
    refusal: {
      fingerprint: fingerprint(action, owner.digestKey),
      generation: 1,
      action: action.do,
      status,
      code,
      message: 'no',
      at: clock.wallMs() + aheadMs,
      scarcity: undefined,
    },
  };
  return before(history, clock, action);
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
  const { clock, found } = refusedWith(403, 'forbidden', { aheadMs });
  await clock.advance(minuteMs);
  expect(found()).toBeUndefined();
});

// COVERAGE 93
test('what is wrong in itself is not sent again, however long ago it was refused', async () => {
  const { clock, found, plan } = refusedWith(400, 'invalid_request', { action: rename });
  await clock.advance(10_000 * minuteMs);
  expect(found()).toBe('hold Refused');
  expect(plan()).toMatchObject({
    message: expect.stringMatching(/is not sent again until the spec changes$/),
  });
  expect(plan()).not.toHaveProperty('recheckAfterMs');
});

// COVERAGE 93
test.each([
  ['stop-service', stop],
  ['delete-service', { do: 'delete-service', id: serviceId }],
  ['delete-volume', { do: 'delete-volume', id: serviceId }],
  ['delete-registry', { do: 'delete-registry', id: serviceId, revision: 7 }],
  ['update-volume', { ...rename, sizeGb: 200 }],
] as const)(
  '%s, refused as invalid, is tried again after ten minutes: no edit would end it',
  async (_, action) => {
    const { clock, found, plan } = refusedWith(400, 'E204', { action });
    await clock.advance(4 * minuteMs);
    expect(plan()).toMatchObject({
      kind: 'hold',
      reason: 'Refused',
      message: `${action.do} was refused with 400 E204: no; it is tried again ten minutes later`,
      recheckAfterMs: 6 * minuteMs,
    });
    await clock.advance(6 * minuteMs);
    expect(found()).toBeUndefined();
  },
);

test('what was applied three times and does not show is not sent a fourth time', () => {
  const mark = fingerprint(stop, owner.digestKey);
  expect(before({ repeated: { fingerprint: mark, count: 2 } }).found()).toBeUndefined();
  expect(before({ repeated: { fingerprint: mark, count: 3 } }).found()).toBe('hold NotTakingEffect');
  expect(before({ repeated: { fingerprint: 'another', count: 3 } }).found()).toBeUndefined();
});
