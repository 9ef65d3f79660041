/** The seeds of a cluster, and those with large worlds in a folder, that have found something before. */
import { test } from 'vitest';
import { expectNoViolation, longestRunMs } from '../simulation/expected.ts';
import { regressions, runsEachTime } from '../simulation/regressions.ts';
import { scriptOf } from '../simulation/script.ts';

test.each(regressions.filter((each) => !runsEachTime(each)))(
  'once, in a $place: $found (seed $seed)',
  { timeout: longestRunMs },
  async ({ seed, place, crowd, dialect }) => {
    await expectNoViolation(scriptOf(seed, place, { crowd, dialect }));
  },
);
