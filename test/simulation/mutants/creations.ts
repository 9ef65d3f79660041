/** Managers that make a second thing, when the first takes effect late or is shown late. */
import { Creations } from '../../../src/reconcile/creations.ts';
import { replaced, type Mutant } from './tools.ts';

export const creations: readonly Mutant[] = [
  {
    breaks: 'what was created and never seen is believed lost as soon as anything else',
    foundBy: ['S1', 'S13'],
    crowd: 'late',
    seed: 5,
    patch: () =>
      replaced(Creations.prototype, 'absenceRule', () => () => ({
        notBeforeMs: Number.NEGATIVE_INFINITY,
        message: '',
      })),
  },
  {
    breaks: 'another creation is sent, or its object forgotten, while an earlier one may still take effect',
    foundBy: ['S1', 'S13'],
    crowd: 'late',
    seed: 31,
    patch: () => replaced(Creations.prototype, 'instead', () => (_kind, _account, plan) => plan),
  },
];
