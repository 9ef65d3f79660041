/** The proof of the proof: each manager, and each operator, that breaks a rule is found out. */
import { expect, test } from 'vitest';
import { plain } from '../dialects/dialect.ts';
import { clusterMutants } from './cluster/mutants.ts';
import { mutants } from './mutants/index.ts';
import type { Mutant } from './mutants/tools.ts';
import { scriptOf, type PlaceName } from './script.ts';
import { run, type Result, type RunOptions } from './world.ts';

const mostSeeds = 200;

async function expectFound(mutant: Mutant<unknown>, place: PlaceName, options: RunOptions): Promise<void> {
  const undo = mutant.patch?.();
  let violation: Result['violation'];
  let last: number | undefined;
  try {
    for (const seed of seedsFor(mutant)) {
      last = seed;
      const { crowd = 'priced' } = mutant;
      ({ violation } = await run(scriptOf(seed, place, { crowd, dialect: plain.name }), options));
      if (violation) break;
    }
  } finally {
    undo?.();
  }
  expect(mutant.foundBy, `seed ${last}: ${violation?.message}`).toContain(violation?.invariant);
}

/** All that do not find it are run to their end, which takes minutes; when the product has changed, another one may have to. */
function seedsFor({ seed: known }: Mutant<unknown>): number[] {
  const seeds = Array.from({ length: mostSeeds }, (_, index) => index + 1);
  return known === undefined ? seeds : [known, ...seeds.filter((seed) => seed !== known)];
}

test.each(mutants)('it is found within 200 seeds that $breaks', { timeout: 600_000 }, async (mutant) => {
  const { sabotage, sharedKey = false } = mutant;
  await expectFound(mutant, 'folder', { sharedKey, ...(sabotage ? { sabotage } : {}) });
});

test.each(clusterMutants)(
  'it is found within 200 seeds of a cluster that $breaks',
  { timeout: 1_800_000 },
  async (mutant) =>
    expectFound(mutant, 'cluster', mutant.sabotage ? { replicaSabotage: mutant.sabotage } : {}),
);
