/**
 * Managers and operators that break a rule, of which no seed is known that finds them
 * (test/mutants/simulated.test.ts has the others).
 */
import { test } from 'vitest';
import { expectFoundInCluster, expectFoundInFolder } from '../mutants/found.ts';
import { clusterMutants } from '../simulation/cluster/mutants.ts';
import { mutants } from '../simulation/mutants/index.ts';

const isUnknown = ({ seed }: { readonly seed?: number }) => seed === undefined;

test.each(mutants.filter(isUnknown))(
  'it is found within 200 seeds that $breaks',
  { timeout: 600_000 },
  async (mutant) => expectFoundInFolder(mutant),
);

test.each(clusterMutants.filter(isUnknown))(
  'it is found within 200 seeds of a cluster that $breaks',
  { timeout: 1_800_000 },
  async (mutant) => expectFoundInCluster(mutant),
);
