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
