/** More seeds than test/simulation has, in a folder and in a cluster. */
import { describe, test } from 'vitest';
import { expectNoViolation, longestRunMs } from '../simulation/expected.ts';
import { plain } from '../dialects/dialect.ts';
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

test.each([6002, 6003])(
  'a fleet in a folder that waits for capacity asks one at a time, and ends as wanted (seed %i)',
  { timeout: longestRunMs },
  async (seed) => {
    await expectNoViolation(scriptOf(seed, 'folder', { crowd: 'scarce', dialect: plain.name }));
  },
);

test.each([2, 7])(
  'a fleet whose digest key other states may have derives the keys of its creations, and breaks no rule (seed %i)',
  { timeout: longestRunMs },
  async (seed) => {
    await expectNoViolation(scriptOf(seed, 'folder', { crowd: 'late' }), { sharedKey: true });
  },
);
