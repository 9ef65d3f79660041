/** Managers that shed fleets wrongly, or what belongs to fleets. */
import type { ShedWay } from '../../../src/engine/index.ts';
import { Shedding, type ShedFor } from '../../../src/engine/money/shedding.ts';
import { kinds } from '../../../src/kinds/registry.ts';
import type { FleetLook } from '../../../src/kinds/service-fleet/look.ts';
import type { ObjectKey } from '../../../src/resources/index.ts';
import { placeInFleet } from '../fleets.ts';
import { forgetsStops } from './budgets.ts';
import { replaced, type Mutant } from './tools.ts';

const { ServiceFleet, Budget } = kinds;

/** `change`: of how a fleet can be shed. */
const withWay = (change: (way: ShedWay) => Partial<ShedWay>) => () =>
  replaced(ServiceFleet, 'shed', (shed) => (subject) => {
    const way = shed?.(subject);
    return way && { ...way, ...change(way) };
  });

const withoutAnnotations = (kind: 'ServiceFleet' | 'ContainerService') =>
  replaced(kinds[kind], 'shed', (shed) => (subject) => {
    const way = shed?.(subject);
    return way && { ...way, annotations: {} };
  });

const withShedLook = (change: (look: FleetLook) => Partial<FleetLook>) => () =>
  replaced(ServiceFleet, 'plan', (plan) => (given) => {
    const look = given as FleetLook;
    return plan(look.shed ? { ...look, ...change(look) } : look);
  });

const withOrder =
  (change: (key: ObjectKey, orderFor: (of: ObjectKey) => ShedFor | undefined) => ShedFor | undefined) => () =>
    replaced(
      Shedding.prototype,
      'orderFor',
      (orderFor): Shedding['orderFor'] =>
        function changed(this: Shedding, key) {
          return change(key, (of) => orderFor.call(this, of));
        },
    );

export const shedding: readonly Mutant[] = [
  {
    breaks: 'a fleet keeps the limit of a budget, whatever becomes of that',
    foundBy: ['FI8', 'FI13', 'BI4', 'L1'],
    crowd: 'shedding',
    seed: 14,
    isLong: true,
    patch: () => {
      const kept = new Map<ObjectKey, ShedFor>();
      return withOrder((key, orderFor) => {
        const order = orderFor(key) ?? kept.get(key);
        if (order?.replicas !== undefined) kept.set(key, order);
        return order;
      })();
    },
  },
  {
    breaks: 'a budget takes replicas from a fleet that has no more than the least number',
    foundBy: ['BI3'],
    crowd: 'shedding',
    seed: 11,
    patch: withWay(({ replicas }) => ({ replicas: { wanted: replicas?.wanted ?? 0, least: 0 } })),
  },
  {
    breaks: 'what is exempt from shedding is shed, and what is never to be',
    foundBy: ['BI3'],
    crowd: 'shedding',
    seed: 17,
    patch: () => {
      const undo = [withoutAnnotations('ServiceFleet'), withoutAnnotations('ContainerService')];
      return () => undo.forEach((each) => each());
    },
  },
  {
    breaks: 'a fleet that a budget limits wants none at all',
    foundBy: ['FI2', 'FI13', 'BI3', 'BI4'],
    crowd: 'shedding',
    seed: 36,
    patch: withShedLook(({ wanted }) => ({ wanted: { ...wanted, count: 0 } })),
  },
  {
    breaks: 'replicas are stopped, and their fleet is to have fewer as well',
    foundBy: ['BI3'],
    crowd: 'shedding',
    seed: 11,
    patch: withOrder((key, orderFor) => {
      const fleet = placeInFleet(key)?.fleet;
      const order = orderFor(key) ?? (fleet && orderFor(fleet));
      if (!order || fleet === undefined) return order;
      const { replicas: _, ...rest } = order;
      return { ...rest, object: key, phase: 'asked' };
    }),
  },
  {
    breaks: 'work in a replica does not keep it when its fleet is limited by a budget',
    foundBy: ['FI3'],
    crowd: 'shedding',
    seed: 8,
    patch: withShedLook(({ replicas }) => ({
      replicas: replicas.map((each) => ({ ...each, protection: 'no' as const })),
    })),
  },
  {
    breaks: 'a fleet is shed although its replicas lose data',
    foundBy: ['BI3'],
    crowd: 'shedding',
    seed: 9,
    patch: withWay(() => ({ obstacle: undefined })),
  },
  {
    breaks: 'replicas are taken for a budget without a pause',
    foundBy: ['BI3'],
    crowd: 'shedding',
    seed: 9,
    patch: forgetsStops,
  },
  {
    breaks: 'a fleet does not say that a budget limits it',
    foundBy: ['BI4'],
    crowd: 'shedding',
    seed: 55,
    patch: () =>
      replaced(ServiceFleet, 'status', (status) => (look, plan) => {
        const { shed: _, ...rest } = look as FleetLook;
        return status({ ...rest, shed: undefined }, plan);
      }),
  },
  {
    breaks: 'a budget does not show what it sheds',
    foundBy: ['BI4'],
    crowd: 'shedding',
    seed: 8,
    patch: () =>
      replaced(Budget, 'status', (status) => (look, plan) => {
        const after = status(look, plan);
        return { ...after, observed: { ...after.observed, shedding: undefined } };
      }),
  },
];
