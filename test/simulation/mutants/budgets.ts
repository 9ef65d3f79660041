/** Managers that count a budget wrongly. */
import { Budgets } from '../../../src/engine/money/budgets.ts';
import { Reservations } from '../../../src/engine/money/reservations.ts';
import type { ObjectKey } from '../../../src/resources/index.ts';
import { replaced, withStore, type Mutant } from './tools.ts';

export const budgets: readonly Mutant[] = [
  {
    breaks: 'a budget makes nothing wait',
    foundBy: ['BI1'],
    crowd: 'budgeted',
    seed: 1,
    patch: () => replaced(Budgets.prototype, 'gate', () => () => undefined),
  },
  {
    breaks: 'a budget counts nothing of what is asked for',
    foundBy: ['BI1'],
    crowd: 'budgeted',
    seed: 3,
    patch: () =>
      replaced(
        Budgets.prototype,
        'figures',
        (figures): Budgets['figures'] =>
          function hasty(this: Budgets, budget) {
            return { ...figures.call(this, budget), reservedMicros: 0n };
          },
      ),
  },
  {
    breaks: 'a budget counts nothing of what runs',
    foundBy: ['BI1'],
    crowd: 'budgeted',
    seed: 1,
    patch: () =>
      replaced(
        Budgets.prototype,
        'figures',
        (figures): Budgets['figures'] =>
          function blind(this: Budgets, budget) {
            return { ...figures.call(this, budget), burnMicros: 0n };
          },
      ),
  },
  {
    breaks: 'a budget does not count what a request itself costs',
    foundBy: ['BI1'],
    crowd: 'budgeted',
    seed: 1,
    patch: () =>
      replaced(
        Budgets.prototype,
        'gate',
        (gate): Budgets['gate'] =>
          function generous(this: Budgets, key, cost, replaces) {
            return gate.call(this, key, { ...cost, afterMicros: cost.beforeMicros + 1n }, replaces);
          },
      ),
  },
  {
    breaks: 'what is asked for leaves the budget with the answer',
    foundBy: ['BI1'],
    crowd: 'budgeted',
    seed: 3,
    patch: () =>
      replaced(
        Reservations.prototype,
        'heard',
        (): Reservations['heard'] =>
          function forgetful(this: Reservations, key) {
            this.end(key);
          },
      ),
  },
  {
    breaks: 'what is asked for leaves the budget at a restart',
    foundBy: ['BI1'],
    crowd: 'budgeted',
    seed: 16,
    sabotage: withStore((store) => ({
      lastIntent: (key: ObjectKey) => {
        const intent = store.lastIntent(key);
        return intent && { ...intent, estimate: undefined };
      },
    })),
  },
  {
    breaks: 'what is lost keeps its room, and so does all else that costs nothing now',
    foundBy: ['BI1'],
    crowd: 'budgeted',
    seed: 1,
    patch: () =>
      replaced(
        Budgets.prototype,
        'partOf',
        (partOf): Budgets['partOf'] =>
          function lavish(this: Budgets, key) {
            return { ...partOf.call(this, key), spare: 10n ** 12n };
          },
      ),
  },
  {
    breaks: 'what is reserved is not recorded with the intent',
    foundBy: ['BI2'],
    crowd: 'budgeted',
    seed: 1,
    patch: () =>
      replaced(
        Reservations.prototype,
        'take',
        (take): Reservations['take'] =>
          function unrecorded(this: Reservations, key, account, cost, of) {
            return { ...take.call(this, key, account, cost, of), estimateMicros: 0 };
          },
      ),
  },
  {
    breaks: 'a request that costs nothing takes the place of one that is not shown yet',
    foundBy: ['BI1', 'BI2'],
    crowd: 'budgeted',
    seed: 16,
    patch: () => replaced(Reservations.prototype, 'carried', () => () => undefined),
  },
];
