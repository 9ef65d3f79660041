/** The proof of the proof: each manager that breaks a rule is found out. */
import { expect, test } from 'vitest';
import { mutants } from './mutants.ts';
import { scriptOf } from './script.ts';
import { run, type Result } from './world.ts';

const mostSeeds = 200;

test.each(mutants)('it is found within 200 seeds that $breaks', { timeout: 600_000 }, async (mutant) => {
  const undo = mutant.patch?.();
  let violation: Result['violation'];
  let seed = 0;
  try {
    while (!violation && seed < mostSeeds) {
      seed += 1;
      ({ violation } = await run(scriptOf(seed), mutant.sabotage ? { sabotage: mutant.sabotage } : {}));
    }
  } finally {
    undo?.();
  }
  expect(mutant.foundBy, `seed ${seed}: ${violation?.message}`).toContain(violation?.invariant);
});
