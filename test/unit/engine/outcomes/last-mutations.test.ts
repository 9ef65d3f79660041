import { expect, test } from 'vitest';
import { LastMutations } from '../../../../src/engine/outcomes/last-mutations.ts';
import { serviceKey, volumeKey } from '../../../support/plan.ts';

const never = Number.NEGATIVE_INFINITY;

test('what was read before the last mutation does not count, also for an object that takes the key of one that is gone', () => {
  const mutations = new LastMutations();
  expect(mutations.notBeforeMs(serviceKey)).toBe(never);
  mutations.ended(serviceKey, 1000);
  mutations.forget(serviceKey, 999);
  expect(mutations.notBeforeMs(serviceKey)).toBe(1000);
});

test('a mutation is forgotten with its object once all that is looked at is newer, and not before', () => {
  const mutations = new LastMutations();
  mutations.ended(serviceKey, 1000);
  mutations.forget(serviceKey, 500);
  mutations.ended(volumeKey, 3000);
  mutations.forget(volumeKey, 2000);
  expect(mutations.notBeforeMs(serviceKey)).toBe(never);
  expect(mutations.notBeforeMs(volumeKey)).toBe(3000);
});

test('an object that is not gone keeps its last mutation', () => {
  const mutations = new LastMutations();
  mutations.ended(serviceKey, 1000);
  mutations.forget(serviceKey, 500);
  mutations.ended(serviceKey, 1500);
  mutations.forget(volumeKey, 9000);
  expect(mutations.notBeforeMs(serviceKey)).toBe(1500);
});
