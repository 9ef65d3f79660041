/**
 * The proof of the proof: each manager, and each operator, that breaks a rule is found out. Here are
 * those of which a seed is known that finds them soon; test/landing/mutants.test.ts has the others, which may
 * take all 200.
 */
import { test } from 'vitest';
import { clusterMutants } from '../simulation/cluster/mutants.ts';
import { mutants } from '../simulation/mutants/index.ts';
import { expectFoundInCluster, expectFoundInFolder, isSoonFound } from './found.ts';

test.each(mutants.filter(isSoonFound))(
  'it is found within 200 seeds that $breaks',
  { timeout: 600_000 },
  async (mutant) => expectFoundInFolder(mutant),
);

test.each(clusterMutants.filter(isSoonFound))(
  'it is found within 200 seeds of a cluster that $breaks',
  { timeout: 1_800_000 },
  async (mutant) => expectFoundInCluster(mutant),
);
