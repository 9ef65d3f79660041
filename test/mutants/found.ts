/** Whether a manager, or an operator, that breaks a rule is found out by the simulation. */
import { expect } from 'vitest';
import { plain } from '../dialects/dialect.ts';
import type { ReplicaSabotage } from '../simulation/cluster/place.ts';
import type { Mutant } from '../simulation/mutants/tools.ts';
import { scriptOf, type PlaceName } from '../simulation/script.ts';
import { run, type Result, type RunOptions } from '../simulation/world.ts';

const mostSeeds = 200;

/** Within 200 seeds of a folder. */
export function expectFoundInFolder(mutant: Mutant): Promise<void> {
  const { sabotage, sharedKey = false } = mutant;
  return expectFound(mutant, 'folder', { sharedKey, ...(sabotage ? { sabotage } : {}) });
}

/** Within 200 seeds of a cluster. */
export function expectFoundInCluster(mutant: Mutant<ReplicaSabotage>): Promise<void> {
  return expectFound(mutant, 'cluster', mutant.sabotage ? { replicaSabotage: mutant.sabotage } : {});
}

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

/**
 * All that do not find it are run to their end, which takes minutes; when the product has changed,
 * another one may have to.
 */
function seedsFor({ seed: known }: Mutant<unknown>): number[] {
  const seeds = Array.from({ length: mostSeeds }, (_, index) => index + 1);
  return known === undefined ? seeds : [known, ...seeds.filter((seed) => seed !== known)];
}
