/** More seeds than test/simulation/simulation.test.ts has, in a folder and in a cluster. */
import { describe, test } from 'vitest';
import { expectNoViolation, longestRunMs } from '../simulation/expected.ts';
import { places, scriptOf } from '../simulation/script.ts';
import { furtherSeeds } from '../simulation/seeds.ts';

describe.each(places)('any fleet in a %s, whatever goes wrong', (place) => {
  test.each(furtherSeeds(place))(
    'keeps every invariant, and ends as wanted (seed %i)',
    { timeout: longestRunMs },
    async (seed) => {
      await expectNoViolation(scriptOf(seed, place));
    },
  );
});
