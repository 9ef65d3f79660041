import { describe, expect, test } from 'vitest';
import { meaningOf } from '../../../../src/api/index.ts';
import { Sensitive } from '../../../../src/base/index.ts';
import {
  bodyDigest,
  classifyRefusal,
  fingerprint,
  recordApplied,
} from '../../../../src/engine/mutation/index.ts';
import type { Action, ActionName } from '../../../../src/engine/plan/index.ts';
import type { ObjectRecord } from '../../../../src/state/index.ts';
import { aRecord, owner, serviceId, serviceKey } from '../../../support/plan.ts';

describe('what is remembered as applied', () => {
  const digests = {
    image: 'i',
    command: 'c',
    httpPort: 'h',
    env: 'e',
    resources: 'r',
    sleepAfterMinutes: 's',
    desiredState: 'd',
    geography: 'g',
    volumeName: 'v',
    sizeGb: 'z',
  };
  const apply = (action: ActionName, before: Partial<ObjectRecord> = {}) =>
    recordApplied(aRecord(serviceKey, before), action, {
      record: aRecord(serviceKey),
      revision: 5,
      state: 'running',
      digests,
      restartToken: '2',
    });
  const { desiredState: _power, ...created } = digests;

  test.each<[ActionName, object]>([
    ['create-service', created],
    ['patch-service', { image: 'i', command: 'c', httpPort: 'h', env: 'e' }],
    ['resize-service', { resources: 'r' }],
    ['set-sleep-policy', { sleepAfterMinutes: 's' }],
    ['start-service', { desiredState: 'd' }],
    ['stop-service', { desiredState: 'd' }],
    ['restart-service', {}],
    ['delete-service', {}],
    ['update-volume', { volumeName: 'v', sizeGb: 'z' }],
    ['delete-volume', {}],
  ])('after %s: only what it brings about', (action, expected) => {
    expect(apply(action).applied).toEqual(expected);
  });

  test('a new service remembers nothing of the one before it', () => {
    const applied = { desiredState: 'old', storage: 'old' };
    expect(apply('create-service', { applied }).applied).toEqual(created);
  });

  test('the restart token is seen to by whatever starts the service anew', () => {
    for (const action of ['create-service', 'start-service', 'restart-service'] as const) {
      expect(apply(action, { restartToken: '1' }).restartToken).toBe('2');
    }
    expect(apply('patch-service', { restartToken: '1' }).restartToken).toBe('1');
  });
});

describe('the digest of a request', () => {
  const patch = (revision: number, image: string, token = 'a'): Action => ({
    do: 'patch-service',
    id: serviceId,
    revision,
    patch: { image },
    environment: new Sensitive({ TOKEN: token }),
  });
  const digest = (action: Action) => bodyDigest(action, owner.digestKey);
  const mark = (action: Action) => fingerprint(action, owner.digestKey);

  test('tells every other request apart, also by values; the fingerprint leaves the revision out', () => {
    const actions = [patch(1, 'a'), patch(2, 'a'), patch(1, 'b'), patch(1, 'a', 'b')];
    expect(new Set(actions.map(digest)).size).toBe(4);
    expect(mark(patch(1, 'a'))).toBe(mark(patch(2, 'a')));
    expect(new Set(actions.map(mark)).size).toBe(3);
    expect(digest(patch(1, 'a'))).toBe(digest(patch(1, 'a')));
  });
});

// COVERAGE 91, 93, 94, 95
test.each([
  [400, 'invalid_request', 'hold Refused'],
  [422, 'x', 'hold Refused'],
  [401, 'unauthorized', 'wait CredentialRejected'],
  [403, 'email_unverified', 'hold EmailUnverified'],
  [404, 'not_found', 'wait NotFound'],
  [409, 'revision_conflict', 'wait Conflict'],
  [409, 'no_capacity', 'wait CapacityUnavailable'],
  [409, 'insufficient_funds', 'wait InsufficientFunds'],
  [409, 'limit_reached', 'wait LimitReached'],
  [409, 'never heard of', 'wait Conflict'],
  [409, 'idempotency_key_reused', 'hold IdempotencyKeyReused'],
  [422, 'idempotency_mismatch', 'hold IdempotencyKeyReused'],
  [429, 'rate_limited', 'wait RateLimited'],
  [503, 'unavailable', 'wait Unavailable'],
])('a refusal with %i %s: %s', (status, code, expected) => {
  const verdict = classifyRefusal({ meaning: meaningOf({ status, code, message: '' }) });
  expect(`${verdict.kind} ${verdict.reason}`).toBe(expected);
});
