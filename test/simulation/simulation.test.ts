/**
 * As many seeds as fit into a few seconds (`SIMULATION_SECONDS`) in a folder and in a cluster, from a beginning that may be given
 * (`SEED`), and all that have found something before. `npm run simulate` runs more of them.
 */
import { describe, expect, test } from 'vitest';
import { regressions } from './regressions.ts';
import { places, scriptOf, type Script } from './script.ts';
import { describe as told } from './shrink.ts';
import { run } from './world.ts';

const seconds = Number(process.env['SIMULATION_SECONDS'] ?? 10);
const firstSeed = Number(process.env['SEED'] ?? 1000);
const longestRunMs = 120_000;

async function expectNoViolation(script: Script): Promise<void> {
  const { violation } = await run(script);
  if (violation) throw new Error(`${violation.invariant}: ${violation.message}\n${told(script)}`);
}

test.each(regressions)(
  'once, in a $place: $found (seed $seed)',
  { timeout: longestRunMs },
  ({ seed, place, crowd }) => expectNoViolation(scriptOf(seed, place, crowd)),
);

describe.each(places)('any fleet in a %s, whatever goes wrong', (place) => {
  test('keeps every invariant, and ends as wanted', { timeout: seconds * 1000 + longestRunMs }, async () => {
    const untilMs = performance.now() + seconds * 1000;
    for (let seed = firstSeed; performance.now() < untilMs; seed += 1) {
      await expectNoViolation(scriptOf(seed, place));
    }
  });

  test('a seed is the same run each time, to the last event', { timeout: 2 * longestRunMs }, async () => {
    const [first, second] = [await run(scriptOf(firstSeed, place)), await run(scriptOf(firstSeed, place))];
    expect(second.traceHash).toBe(first.traceHash);
    expect(first.mutations).toBeGreaterThan(0);
  });
});
