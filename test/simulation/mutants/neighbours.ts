/** Managers that do the wrong thing about trouble from outside (simulation/neighbours.ts). */
import { ControlApi, type wire } from '../../../src/api/index.ts';
import { DriftWatch } from '../../../src/engine/observation/drift-watch.ts';
import { Exchanges } from '../../../src/engine/admission/exchanges.ts';
import { Observer } from '../../../src/engine/observation/observer.ts';
import { Pass } from '../../../src/engine/pass.ts';
import type { ObjectRecord } from '../../../src/state/index.ts';
import { byMark, services as ofServices, type Identify } from './identify.ts';
import { replaced, type Mutant } from './tools.ts';

/** Passes of services in which the record is another one. */
function withRecords(change: (record: ObjectRecord) => ObjectRecord): () => void {
  return replaced(
    Observer.prototype,
    'record',
    (record): Observer['record'] =>
      function misread(this: Observer) {
        return this.kind.name === 'ContainerService' ? change(record.call(this)) : record.call(this);
      },
  );
}

export const neighbours: readonly Mutant[] = [
  {
    breaks: 'a service is deleted for a volume that another one keeps',
    foundBy: ['S23'],
    crowd: 'neighbours',
    seed: 19,
    patch: () => replaced(Exchanges.prototype, 'obstacle', () => () => undefined),
  },
  {
    breaks: 'what carries the mark of a service that is gone is taken for it',
    foundBy: ['S5'],
    crowd: 'neighbours',
    seed: 11,
    patch: () =>
      replaced(ofServices, 'identify', (): Identify => (view, items, madeId) => {
        const observed = byMark(view, items, madeId);
        const [id] = observed.elsewhere ?? [];
        const copy = items.get(id ?? '');
        return copy
          ? { observation: { kind: 'present', value: copy }, found: id, byMark: true, isMarked: true }
          : observed;
      }),
  },
  {
    breaks: 'a copy that carries a mark of ours is nothing to tell of',
    foundBy: ['S22'],
    crowd: 'neighbours',
    seed: 10,
    patch: () => replaced(Pass.prototype, 'duplicates', () => () => []),
  },
  {
    breaks: 'what somebody does to all is corrected in all',
    foundBy: ['S24'],
    crowd: 'neighbours',
    seed: 14,
    patch: () => replaced(DriftWatch.prototype, 'brake', () => () => undefined),
  },
  {
    breaks: 'a place is another one although it is written as it is shown',
    foundBy: ['S23'],
    crowd: 'neighbours',
    seed: 9,
    patch: () => {
      const elsewhere = (service: wire.Service) => ({ ...service, geography: 'elsewhere' });
      const undo = [
        replaced(
          ControlApi.prototype,
          'account',
          (account): ControlApi['account'] =>
            async function moved(this: ControlApi, signal) {
              const outcome = await account.call(this, signal);
              if (outcome.kind !== 'applied') return outcome;
              const services = outcome.value.services.map(elsewhere);
              return { ...outcome, value: { ...outcome.value, services } };
            },
        ),
        replaced(
          ControlApi.prototype,
          'service',
          (service): ControlApi['service'] =>
            async function moved(this: ControlApi, id) {
              const outcome = await service.call(this, id);
              return outcome.kind === 'applied' ? { ...outcome, value: elsewhere(outcome.value) } : outcome;
            },
        ),
      ];
      return () => {
        for (const each of undo) each();
      };
    },
  },
  {
    breaks: 'a field that is taken out is of no concern any more',
    foundBy: ['S25'],
    crowd: 'neighbours',
    seed: 10,
    patch: () =>
      withRecords((record) => {
        const { httpPort: _port, command: _command, ...applied } = record.applied;
        return { ...record, applied };
      }),
  },
];
