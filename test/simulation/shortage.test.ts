/** Many services, and times in which the provider has no capacity, or room for a few; test/landing/seeds.test.ts has more seeds. */
import { plain } from '../dialects/dialect.ts';
import { describe, test } from 'vitest';
import { expectNoViolation, longestRunMs } from './expected.ts';
import { places, scriptOf } from './script.ts';

describe.each(places)('a fleet in a %s that waits for capacity', (place) => {
  test.each([6001])(
    'asks one at a time, and ends as wanted (seed %i)',
    { timeout: longestRunMs },
    async (seed) => {
      await expectNoViolation(scriptOf(seed, place, { crowd: 'scarce', dialect: plain.name }));
    },
  );
});
