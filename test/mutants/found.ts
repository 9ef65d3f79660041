/** Whether a manager, or an operator, that breaks a rule is found out by the simulation. */
import { expect } from 'vitest';
import { plain } from '../dialects/dialect.ts';
import type { ReplicaSabotage } from '../simulation/cluster/place.ts';
import { timesReached, type Mutant } from '../simulation/mutants/tools.ts';
import { scriptOf, type CrowdName, type PlaceName } from '../simulation/script.ts';
import { run, type Result, type RunOptions } from '../simulation/world.ts';

const mostSeeds = 200;

interface Attempt {
  readonly seed: number;
  readonly crowd: CrowdName;
}

/** Of the everyday tests: a seed is known that finds it soon. */
export function isSoonFound({ seed, isLong }: Pick<Mutant, 'seed' | 'isLong'>): boolean {
  return seed !== undefined && isLong !== true;
}

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
  const { crowd = 'priced', foundBy } = mutant;
  const reachedBefore = timesReached();
  const undo = mutant.patch?.();
  let violation: Result['violation'];
  const tried: string[] = [];
  try {
    for (const attempt of attempts(mutant)) {
      tried.push(`${attempt.seed} of ${attempt.crowd}`);
      ({ violation } = await run(
        scriptOf(attempt.seed, place, { crowd: attempt.crowd, dialect: plain.name }),
        options,
      ));
      const invariant = violation?.invariant ?? '';
      // In the crowd of the mutant, nothing else may be found.
      if (foundBy.includes(invariant) || (violation && attempt.crowd === crowd)) break;
    }
  } finally {
    undo?.();
  }
  const where = `${tried.length} runs, the last one seed ${tried.at(-1)}; the change was reached ${timesReached() - reachedBefore} times`;
  expect(foundBy, `${where}: ${violation?.message}`).toContain(violation?.invariant);
  // What takes long makes every run of the tests longer, and nobody would notice.
  if (mutant.seed !== undefined && tried.length > 1)
    process.stderr.write(
      `${mutant.breaks}: seed ${mutant.seed} does not find it any more; ${tried.at(-1)} does\n`,
    );
}

/** The seed that is known; then, since a change of the product may need another one, all others, first each in a small crowd: that takes least. */
function* attempts({ seed: known, crowd = 'priced' }: Mutant<unknown>): Iterable<Attempt> {
  if (known !== undefined) yield { seed: known, crowd };
  for (let seed = 1; seed <= mostSeeds; seed += 1) {
    // It has neither fleets nor budgets.
    if (!['small', 'fleets', 'contested', 'roaming', 'budgeted', 'shedding'].includes(crowd))
      yield { seed, crowd: 'small' };
    if (seed !== known) yield { seed, crowd };
  }
}
