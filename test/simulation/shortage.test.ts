/** Many services, and times in which the provider has no capacity, or room for a few. */
import { plain } from '../dialects/dialect.ts';
import { describe, test } from 'vitest';
import { expectNoViolation, longestRunMs } from './expected.ts';
import { places, scriptOf } from './script.ts';

const seeds = { folder: [6001, 6002, 6003], cluster: [6001] } as const;

describe.each(places)('a fleet in a %s that waits for capacity', (place) => {
  test.each(seeds[place])(
    'asks one at a time, and ends as wanted (seed %i)',
    { timeout: longestRunMs },
    async (seed) => {
      await expectNoViolation(scriptOf(seed, place, { crowd: 'scarce', dialect: plain.name }));
    },
  );
});
