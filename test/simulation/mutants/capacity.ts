/** Managers that ask for capacity too often. */
import { CapacityMemory } from '../../../src/engine/index.ts';
import type { ObjectKey } from '../../../src/resources/index.ts';
import { replaced, withStore, type Mutant } from './tools.ts';

const crowd = 'scarce';
const foundBy = ['EI6'];

export const capacity: readonly Mutant[] = [
  {
    breaks: 'each object asks for capacity by itself',
    foundBy,
    crowd,
    seed: 1,
    patch: () => {
      const undo = [
        replaced(CapacityMemory.prototype, 'obstacle', () => () => undefined),
        replaced(CapacityMemory.prototype, 'mayStill', () => () => true),
      ];
      return () => {
        for (const each of undo) each();
      };
    },
  },
  {
    breaks: 'a request that has waited is sent although its demand has become scarce',
    foundBy,
    crowd,
    seed: 89,
    patch: () => replaced(CapacityMemory.prototype, 'mayStill', () => () => true),
  },
  {
    breaks: 'a probe without an answer counts as over',
    foundBy,
    crowd,
    seed: 15,
    patch: () =>
      replaced(
        CapacityMemory.prototype,
        'answered',
        (answered): CapacityMemory['answered'] =>
          function hasty(this: CapacityMemory, key, outcome) {
            const { kind } = outcome;
            answered.call(this, key, kind === 'unknown' ? { kind: 'not-sent', reason: '' } : outcome);
          },
      ),
  },
  {
    breaks: 'what was asked for is forgotten at a restart',
    foundBy,
    crowd,
    seed: 36,
    sabotage: withStore((store) => ({
      openIntent: (key: ObjectKey) => {
        const intent = store.openIntent(key);
        return intent && { ...intent, demand: undefined };
      },
    })),
  },
  {
    breaks: 'refusals for capacity are forgotten at a restart',
    foundBy,
    crowd,
    seed: 46,
    sabotage: withStore(() => ({ capacity: () => [], saveCapacity: async () => {} })),
  },
];
