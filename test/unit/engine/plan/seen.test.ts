import { describe, expect, test } from 'vitest';
import {
  type Observation,
  distrust,
  inSync,
  isRegressed,
  lagMs,
  observed,
  waitFor,
} from '../../../../src/engine/plan/index.ts';
import type { ObjectRecord } from '../../../../src/state/index.ts';
import { aRecord, aService, now, said, serviceId, serviceKey } from '../../../support/plan.ts';
import type { wire } from '../../../../src/api/index.ts';

const present = (more: Partial<wire.Service> = {}): Observation<wire.Service> => ({
  kind: 'present',
  value: { ...aService(), ...more },
});
const after = (record: ObjectRecord, seen: Observation<wire.Service>): ObjectRecord => ({
  ...record,
  ...observed(record, seen, inSync(), now),
});
const known = after(aRecord(serviceKey), present({ revision: 9 }));

describe('a revision', () => {
  test('that is as high as before, higher, or not shown, is believed', () => {
    for (const revision of [9, 10, undefined]) {
      expect(isRegressed(known, present({ revision }))).toBe(false);
      expect(distrust(known, present({ revision }), undefined)).toBeUndefined();
    }
  });

  test('that is lower is waited out for a minute, and then held', () => {
    const lower = present({ revision: 8 });
    expect(isRegressed(known, lower)).toBe(true);
    expect(said(distrust(known, lower, 0) ?? inSync())).toBe('wait StaleRead');
    const held = distrust(known, lower, lagMs) ?? inSync();
    expect(said(held)).toBe('hold RevisionRegressed');
    expect(held).toMatchObject({
      message: expect.stringMatching(/revision 8 of .* has shown 9 before.*accept-revisions-until/) as string,
    });
  });

  test('of another service under the same object begins anew', () => {
    const other = '99999999-9999-4999-8999-999999999999';
    expect(isRegressed(known, present({ id: other, revision: 1 }))).toBe(false);
  });

  // COVERAGE 109
  test.each([0, -1, 1.5, 2 ** 53, 1e300])(
    '%d can not be one, and nothing is concluded from it',
    (revision) => {
      expect(said(distrust(known, present({ revision }), undefined) ?? inSync())).toBe(
        'hold RevisionInvalid',
      );
    },
  );

  test('that is not believed is not remembered', () => {
    const lagging = waitFor('StaleRead', '');
    expect(observed(known, present({ revision: 8 }), lagging, now).seen?.revision).toBe(9);
    expect(observed(known, present({ revision: 8 }), inSync(), now).seen?.revision).toBe(8);
  });

  test('that is not shown any more is remembered', () => {
    expect(after(known, present({ revision: undefined })).seen?.revision).toBe(9);
  });
});

describe('an observation', () => {
  test('remembers since when a state is seen', () => {
    const later = observed(known, present({ revision: 10 }), inSync(), now + 5000);
    expect(later.seen).toEqual({ id: serviceId, revision: 10, state: 'running', since: now });
    const moved = observed(known, present({ revision: 10, state: 'paused' }), inSync(), now + 5000);
    expect(moved.seen?.since).toBe(now + 5000);
  });

  test('before the time of the last one shows that the clock was set back: nobody knows how long the state lasts', () => {
    const hour = 3_600_000;
    const setBack = observed(known, present({ revision: 9 }), inSync(), now - hour);
    expect(setBack.seen).toMatchObject({ state: 'running', since: now - hour, mayBeOlder: true });
    const record = { ...known, ...setBack };
    expect(observed(record, present({ revision: 9 }), inSync(), now + 1).seen).toEqual(setBack.seen);
    const moved = observed(record, present({ state: 'paused' }), inSync(), now + 1);
    expect(moved.seen).toMatchObject({ state: 'paused', since: now + 1 });
    expect(moved.seen).not.toHaveProperty('mayBeOlder');
  });

  test('at what is as before changes nothing', () => {
    expect(observed(known, present({ revision: 9 }), inSync(), now + 5000)).toEqual({
      seen: known.seen,
      baseline: known.baseline,
    });
  });

  test('is a baseline only when all is as desired', () => {
    expect(known.baseline).toEqual({ id: serviceId, revision: 9, state: 'running', at: now });
    const drifted = inSync([{ path: 'image', desired: 'a', observed: 'b', drift: true }]);
    expect(observed(known, present({ revision: 10 }), drifted, now + 1).baseline).toBe(known.baseline);
  });

  test('at nothing leaves what is known', () => {
    const pending: Observation<never> = { kind: 'pending', message: '' };
    expect(observed(known, pending, inSync(), now + 1)).toEqual({
      seen: known.seen,
      baseline: known.baseline,
    });
  });
});
