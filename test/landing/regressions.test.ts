/** The seeds of a cluster that have found something before: each takes as long as three of a folder. */
import { test } from 'vitest';
import { expectNoViolation, longestRunMs } from '../simulation/expected.ts';
import { regressions } from '../simulation/regressions.ts';
import { scriptOf } from '../simulation/script.ts';

test.each(regressions.filter(({ place }) => place === 'cluster'))(
  'once, in a cluster: $found (seed $seed)',
  { timeout: longestRunMs },
  async ({ seed, place, crowd, dialect }) => {
    await expectNoViolation(scriptOf(seed, place, { crowd, dialect }));
  },
);
