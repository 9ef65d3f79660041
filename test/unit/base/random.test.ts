import { expect, test } from 'vitest';
import { systemRandom, timeOrderedUuids } from '../../../src/base/index.ts';
import { ManualClock } from '../../support/manual-clock.ts';

test('time-ordered UUIDs are of version 7, sort as they were made, and do not repeat', async () => {
  const clock = new ManualClock(Date.UTC(2026, 0, 1));
  const random = timeOrderedUuids(systemRandom, clock);
  const made: string[] = [];
  for (let n = 0; n < 100; n += 1) {
    made.push(random.uuid());
    await clock.advance(1);
  }
  expect(
    made.every((uuid) => /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/.test(uuid)),
  ).toBe(true);
  expect(made.toSorted()).toEqual(made);
  expect(Number.parseInt(made[0]?.replaceAll('-', '').slice(0, 12) ?? '', 16)).toBe(Date.UTC(2026, 0, 1));
  const atOnce = Array.from({ length: 1000 }, () => random.uuid());
  expect(new Set(atOnce).size).toBe(1000);
});
