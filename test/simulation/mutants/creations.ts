/** Managers that make a second thing, when the first takes effect late or is shown late. */
import { Creations } from '../../../src/engine/outcomes/creations.ts';
import { LeftBehind } from '../../../src/engine/observation/left-behind.ts';
import { replaced, withStore, type Mutant } from './tools.ts';

/** What a derived key is made of, as far as it is told. */
interface KeyParts {
  readonly incarnation: object;
}

export const creations: readonly Mutant[] = [
  {
    breaks: 'a creation has the derived key of the one before it, which was answered',
    foundBy: ['S3'],
    sharedKey: true,
    sabotage: withStore(({ digestKey }) => ({
      digestKey: {
        ...digestKey,
        sign: (value) => digestKey.sign({ ...(value as KeyParts), incarnation: {} }),
      },
    })),
  },
  {
    breaks: 'what was created and never seen is believed lost as soon as anything else',
    foundBy: ['S1', 'S13'],
    crowd: 'small',
    seed: 20,
    patch: () =>
      replaced(Creations.prototype, 'absenceRule', () => () => ({
        notBeforeMs: Number.NEGATIVE_INFINITY,
        message: '',
      })),
  },
  {
    breaks: 'what a creation without an answer made is taken for as old as the process',
    foundBy: ['S1', 'S13'],
    crowd: 'small',
    seed: 1_342_301,
    patch: () => replaced(Creations.prototype, 'sawFirst', () => () => {}),
  },
  {
    breaks: 'what a deletion without an answer was for is gone when one look does not show it',
    foundBy: ['S13'],
    crowd: 'small',
    seed: 1_340_449,
    patch: () =>
      replaced(
        Creations.prototype,
        'absenceRule',
        (absenceRule) =>
          function atOnce(this: Creations, record, account) {
            return record.deletedByUs
              ? { notBeforeMs: Number.NEGATIVE_INFINITY, message: '', isDeleted: true }
              : absenceRule.call(this, record, account);
          },
      ),
  },
  {
    breaks: 'what an object left is looked for in reads from before it could be shown',
    foundBy: ['S1'],
    crowd: 'small',
    seed: 500_753,
    patch: () => replaced(LeftBehind.prototype, 'shownByMs', () => () => Number.NEGATIVE_INFINITY),
  },
  {
    breaks: 'another creation is sent, or its object forgotten, while an earlier one may still take effect',
    foundBy: ['S1', 'S13', 'S15'],
    crowd: 'small',
    seed: 14,
    patch: () => replaced(Creations.prototype, 'instead', () => (_kind, _account, plan) => plan),
  },
];
