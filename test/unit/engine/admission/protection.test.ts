/** What is at stake when a task leaves the source. */
import { expect, test } from 'vitest';
import { stakes } from '../../../../src/engine/admission/protection.ts';
import type { ObjectKey } from '../../../../src/resources/index.ts';
import { newRecord, type ObjectRecord } from '../../../../src/state/index.ts';

const service: ObjectKey = 'ContainerService/default/web';
const epoch: ObjectKey = 'ProtectedTask/default/epoch';
const registration = { serviceId: 'id', activityId: 'own', releaseKey: 'key' };

function stakeOf(
  spec: object,
  kind: object = { registration },
  report: object = { pending: { reason: 'Protected' } },
): string | undefined {
  const made = (key: ObjectKey, changes: object) =>
    ({ ...newRecord(key, 'uid'), ...changes }) as ObjectRecord;
  const task = made(epoch, { kind, manifest: { spec: { serviceRef: { name: 'web' }, ...spec } } });
  const web = made(service, { report });
  const recordOf = (key: ObjectKey) => (key === service ? web : undefined);
  return stakes([task], { recordOf, isUnreported: () => false }).get(epoch);
}

test('a change of its service waits for a registered task, whatever the clock of this machine shows of its deadline', () => {
  expect(stakeOf({})).toBe('awaited');
  expect(stakeOf({ until: { deadline: '2001-01-01T00:00:00Z' } })).toBe('awaited');
});

test('so does what hides whether there is a change, and a service that waits for nothing does not', () => {
  expect(stakeOf({}, { registration }, { pending: { reason: 'ApiUnreachable' } })).toBe('awaited');
  expect(stakeOf({}, { registration }, { ready: { reason: 'Running' } })).toBeUndefined();
});

test('what ran in a service in error has ended', () => {
  const report = { ready: { reason: 'ServiceError' }, pending: { reason: 'Protected' } };
  expect(stakeOf({}, { registration }, report)).toBeUndefined();
});

test('nothing waits for one that its document ends, or that is not registered, or is released', () => {
  expect(stakeOf({ released: true })).toBeUndefined();
  expect(stakeOf({}, {})).toBeUndefined();
  expect(stakeOf({}, { registration, releasedAt: 1 })).toBeUndefined();
});
