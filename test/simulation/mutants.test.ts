/** The proof of the proof: each manager, and each operator, that breaks a rule is found out. */
import { expect, test } from 'vitest';
import { clusterMutants } from './cluster/mutants.ts';
import { mutants } from './mutants.ts';
import { scriptOf, type PlaceName } from './script.ts';
import { run, type Result, type RunOptions } from './world.ts';

const mostSeeds = 200;

interface Broken {
  readonly foundBy: readonly string[];
  readonly patch?: () => () => void;
}

async function expectFound(mutant: Broken, place: PlaceName, options: RunOptions): Promise<void> {
  const undo = mutant.patch?.();
  let violation: Result['violation'];
  let seed = 0;
  try {
    while (!violation && seed < mostSeeds) {
      seed += 1;
      ({ violation } = await run(scriptOf(seed, place), options));
    }
  } finally {
    undo?.();
  }
  expect(mutant.foundBy, `seed ${seed}: ${violation?.message}`).toContain(violation?.invariant);
}

test.each(mutants)('it is found within 200 seeds that $breaks', { timeout: 600_000 }, async (mutant) =>
  expectFound(mutant, 'folder', mutant.sabotage ? { sabotage: mutant.sabotage } : {}),
);

test.each(clusterMutants)(
  'it is found within 200 seeds of a cluster that $breaks',
  { timeout: 1_800_000 },
  async (mutant) =>
    expectFound(mutant, 'cluster', mutant.sabotage ? { replicaSabotage: mutant.sabotage } : {}),
);
