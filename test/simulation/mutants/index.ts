/**
 * Managers that break one rule each, of safety but for one. The rule is broken from outside, by what is handed to the manager or by another
 * method in place of one of its own while a run lasts. The simulation has to find each of them.
 */
import { budgets } from './budgets.ts';
import { capacity } from './capacity.ts';
import { creations } from './creations.ts';
import { decisions } from './decisions.ts';
import { fleets } from './fleets.ts';
import { money } from './money.ts';
import { shedding } from './shedding.ts';
import { storage } from './storage.ts';
import { keys } from './keys.ts';
import { neighbours } from './neighbours.ts';
import type { Mutant } from './tools.ts';
import { wire } from './wire.ts';

export const mutants: readonly Mutant[] = [
  ...wire,
  ...storage,
  ...decisions,
  ...money,
  ...keys,
  ...creations,
  ...neighbours,
  ...capacity,
  ...fleets,
  ...budgets,
  ...shedding,
];
