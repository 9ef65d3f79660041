/** A few seeds in a folder and in a cluster; test/landing/seeds.test.ts has more, and `npm run simulate` runs any. */
import { describe, expect, test } from 'vitest';
import { expectNoViolation, longestRunMs } from './expected.ts';
import { places, scriptOf } from './script.ts';
import { firstSeeds } from './seeds.ts';
import { run, type Result } from './world.ts';

describe.each(places)('any fleet in a %s, whatever goes wrong', (place) => {
  const seeds = firstSeeds(place);
  let last: Result | undefined;

  test.each(seeds)(
    'keeps every invariant, and ends as wanted (seed %i)',
    { timeout: longestRunMs },
    async (seed) => {
      last = await expectNoViolation(scriptOf(seed, place));
    },
  );

  test('a seed is the same run each time, to the last event', { timeout: 2 * longestRunMs }, async () => {
    const script = scriptOf(seeds.at(-1) ?? 0, place);
    const [one, other] = [last ?? (await run(script)), await run(script)];
    expect(other.traceHash).toBe(one.traceHash);
    expect(one.mutations).toBeGreaterThan(0);
  });
});
