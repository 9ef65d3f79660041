/**
 * Managers and operators that break a rule, of which no seed is known that finds them soon
 * (test/mutants/simulated.test.ts has the others). And the known seeds of money find nothing in a manager that breaks no rule: otherwise they would
 * prove nothing.
 */
import { expect, test } from 'vitest';
import { plain } from '../dialects/dialect.ts';
import { expectFoundInCluster, expectFoundInFolder, isSoonFound } from '../mutants/found.ts';
import { clusterMutants } from '../simulation/cluster/mutants.ts';
import { budgets } from '../simulation/mutants/budgets.ts';
import { mutants } from '../simulation/mutants/index.ts';
import { money } from '../simulation/mutants/money.ts';
import { shedding } from '../simulation/mutants/shedding.ts';
import { scriptOf } from '../simulation/script.ts';
import { run } from '../simulation/world.ts';

test.each(mutants.filter((mutant) => !isSoonFound(mutant)))(
  'it is found within 200 seeds that $breaks',
  { timeout: 600_000 },
  async (mutant) => expectFoundInFolder(mutant),
);

test.each(clusterMutants.filter((mutant) => !isSoonFound(mutant)))(
  'it is found within 200 seeds of a cluster that $breaks',
  { timeout: 1_800_000 },
  async (mutant) => expectFoundInCluster(mutant),
);

/** Each once. */
const knownSeeds = new Map(
  [...money, ...budgets, ...shedding].flatMap(({ seed, crowd = 'priced', sharedKey = false }) =>
    seed === undefined ? [] : [[`${seed} ${crowd} ${sharedKey}`, { seed, crowd, sharedKey }] as const],
  ),
);

test.each([...knownSeeds.values()])(
  'without a mutant, seed $seed of the crowd $crowd finds nothing (shared key: $sharedKey)',
  { timeout: 600_000 },
  async ({ seed, crowd, sharedKey }) => {
    const script = scriptOf(seed, 'folder', { crowd, dialect: plain.name });
    const { violation } = await run(script, { sharedKey });
    expect(violation).toBeUndefined();
  },
);
