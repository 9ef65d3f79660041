/** Managers that count money wrongly. */
import { AccountInformer } from '../../../src/observed/index.ts';
import { kinds } from '../../../src/kinds/index.ts';
import { free } from '../../../src/engine/plan/index.ts';
import { Money } from '../../../src/engine/money/money.ts';
import { Reservations } from '../../../src/engine/money/reservations.ts';
import type { ObjectKey } from '../../../src/resources/index.ts';
import { replaced, withStore, type Mutant } from './tools.ts';

export const money: readonly Mutant[] = [
  {
    breaks: 'what is asked for is forgotten with the answer',
    foundBy: ['S15'],
    seed: 9,
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
    breaks: 'what is asked for is forgotten at a restart',
    foundBy: ['S15'],
    seed: 507,
    sabotage: withStore((store) => ({
      lastIntent: (key: ObjectKey) => {
        const intent = store.lastIntent(key);
        return intent && { ...intent, estimate: undefined };
      },
    })),
  },
  {
    breaks: 'what a request itself costs is not counted',
    foundBy: ['S15'],
    seed: 2,
    patch: () =>
      replaced(
        Money.prototype,
        'gate',
        (gate): Money['gate'] =>
          function generous(this: Money, handle, key, pricing) {
            return gate.call(
              this,
              handle,
              key,
              pricing && { ...pricing, before: free, after: { shown: 1n } },
            );
          },
      ),
  },
  {
    breaks: 'what others have asked for is not counted',
    foundBy: ['S15'],
    seed: 4,
    patch: () => replaced(Reservations.prototype, 'openMicros', () => () => 0n),
  },
  {
    breaks: 'a resize is taken to cost nothing',
    foundBy: ['S15'],
    crowd: 'small',
    seed: 14,
    patch: () =>
      replaced(
        kinds.ContainerService,
        'pricing',
        (pricing) => (look, step) =>
          step.action.do === 'resize-service' ? undefined : pricing?.(look, step),
      ),
  },
  {
    breaks: 'an unknown price is taken for none',
    foundBy: ['S15'],
    seed: 7,
    patch: () =>
      replaced(
        Money.prototype,
        'cost',
        (cost): Money['cost'] =>
          function careless(this: Money, handle, pricing) {
            return { ...cost.call(this, handle, pricing), unknown: [] };
          },
      ),
  },
  {
    breaks: 'a balance waits for the lists that are read beside the account',
    foundBy: ['S15'],
    crowd: 'small',
    seed: 599,
    patch: () => {
      const { prototype } = AccountInformer;
      const original = Object.getOwnPropertyDescriptor(prototype, 'balanceMicros');
      Object.defineProperty(prototype, 'balanceMicros', {
        configurable: true,
        get(this: AccountInformer) {
          return this.current?.balanceMicros;
        },
      });
      return () => Object.defineProperty(prototype, 'balanceMicros', original ?? {});
    },
  },
];
