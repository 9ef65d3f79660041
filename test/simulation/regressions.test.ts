/** The seeds with small worlds in a folder that have found something before; test/landing/regressions.test.ts has the others. */
import { test } from 'vitest';
import { expectNoViolation, longestRunMs } from './expected.ts';
import { regressions, runsEachTime } from './regressions.ts';
import { scriptOf } from './script.ts';

test.each(regressions.filter(runsEachTime))(
  'once, in a folder: $found (seed $seed)',
  { timeout: longestRunMs },
  async ({ seed, place, crowd, dialect }) => {
    await expectNoViolation(scriptOf(seed, place, { crowd, dialect }));
  },
);

test.each([7])(
  'a fleet whose digest key other states may have derives the keys of its creations, and breaks no rule (seed %i)',
  { timeout: longestRunMs },
  async (seed) => {
    await expectNoViolation(scriptOf(seed, 'folder', { crowd: 'late' }), { sharedKey: true });
  },
);
