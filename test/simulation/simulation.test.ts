/**
 * As many seeds as fit into a few seconds (`SIMULATION_SECONDS`) in a folder and in a cluster, from a beginning that may be given
 * (`SEED`); without one, at most 40 and 20, and not those of open-violations.ts. `npm run simulate` runs more of them, and all.
 */
import { describe, expect, test } from 'vitest';
import { expectNoViolation, longestRunMs } from './expected.ts';
import { openViolations } from './open-violations.ts';
import { places, scriptOf, type PlaceName } from './script.ts';
import { run, type Result } from './world.ts';

const seconds = Number(process.env['SIMULATION_SECONDS'] ?? 10);
const firstSeed = Number(process.env['SEED'] ?? 1000);
/** So many at most, unless a beginning is given: what a fast machine meets beyond them is for `npm run simulate`. */
const everydaySeeds: Readonly<Record<PlaceName, number>> = { folder: 40, cluster: 20 };

describe.each(places)('any fleet in a %s, whatever goes wrong', (place) => {
  /** Of the first seed, for both tests. */
  let first: Result | undefined;

  test('keeps every invariant, and ends as wanted', { timeout: seconds * 1000 + longestRunMs }, async () => {
    const untilMs = performance.now() + seconds * 1000;
    first = await expectNoViolation(scriptOf(firstSeed, place));
    const endSeed =
      process.env['SEED'] === undefined ? firstSeed + everydaySeeds[place] : Number.POSITIVE_INFINITY;
    for (let seed = firstSeed + 1; seed < endSeed && performance.now() < untilMs; seed += 1) {
      const isOpen = openViolations.some((open) => open.seed === seed && open.place === place);
      if (!isOpen) await expectNoViolation(scriptOf(seed, place));
    }
  });

  test('a seed is the same run each time, to the last event', { timeout: 2 * longestRunMs }, async () => {
    const [one, other] = [
      first ?? (await run(scriptOf(firstSeed, place))),
      await run(scriptOf(firstSeed, place)),
    ];
    expect(other.traceHash).toBe(one.traceHash);
    expect(one.mutations).toBeGreaterThan(0);
  });
});
