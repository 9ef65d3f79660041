/** All seeds that have found something before. */
import { test } from 'vitest';
import { expectNoViolation, longestRunMs } from './expected.ts';
import { regressions } from './regressions.ts';
import { scriptOf } from './script.ts';

test.each(regressions)(
  'once, in a $place: $found (seed $seed)',
  { timeout: longestRunMs },
  async ({ seed, place, crowd, dialect }) => {
    await expectNoViolation(scriptOf(seed, place, { crowd, dialect }));
  },
);

test.each([2, 7])(
  'a fleet whose digest key other states may have derives the keys of its creations, and breaks no rule (seed %i)',
  { timeout: longestRunMs },
  async (seed) => {
    await expectNoViolation(scriptOf(seed, 'folder', { crowd: 'late' }), { sharedKey: true });
  },
);
