/** Managers that count a budget wrongly. */
import { ControlApi } from '../../../src/api/index.ts';
import { Budget } from '../../../src/engine/money/budget.ts';
import { Budgets } from '../../../src/engine/money/budgets.ts';
import { Reservations } from '../../../src/engine/money/reservations.ts';
import { Shedding } from '../../../src/engine/money/shedding.ts';
import type { ObjectKey } from '../../../src/resources/index.ts';
import type { ObjectRecord } from '../../../src/state/index.ts';
import { replaced, withStore, type Mutant } from './tools.ts';

/** Nobody knows how many were stopped lately. */
export const forgetsStops = () =>
  replaced(
    Shedding.prototype,
    'inputs',
    (inputs): Shedding['inputs'] =>
      function forgetful(this: Shedding, budget, figures, before) {
        return inputs.call(this, budget, figures, before && { ...before, ended: [] });
      },
  );

export const budgets: readonly Mutant[] = [
  {
    breaks: 'a budget makes nothing wait',
    foundBy: ['BI1'],
    crowd: 'budgeted',
    seed: 4,
    patch: () => replaced(Budgets.prototype, 'gate', () => () => undefined),
  },
  {
    breaks: 'a budget counts nothing of what is asked for',
    foundBy: ['BI1'],
    crowd: 'budgeted',
    seed: 4,
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
    seed: 10,
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
    seed: 4,
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
    seed: 4,
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
    seed: 21,
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
    seed: 2,
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
    breaks: 'what is asked for is reserved only when it was answered',
    foundBy: ['BI1'],
    crowd: 'budgeted',
    seed: 12,
    patch: () => {
      const asked = new Map<ObjectKey, () => void>();
      const undo = [
        replaced(
          Reservations.prototype,
          'take',
          (take): Reservations['take'] =>
            function late(this: Reservations, ...given) {
              const [key] = given;
              const isFirst = this.microsOf(key).micros === 0n;
              const estimate = take.apply(this, given);
              if (!isFirst) return estimate;
              this.end(key);
              asked.set(key, () => void take.apply(this, given));
              return estimate;
            },
        ),
        replaced(
          Reservations.prototype,
          'heard',
          (heard): Reservations['heard'] =>
            function late(this: Reservations, key, atMs) {
              asked.get(key)?.();
              asked.delete(key);
              heard.call(this, key, atMs);
            },
        ),
      ];
      return () => undo.forEach((each) => each());
    },
  },
  {
    breaks: 'services are stopped as soon as a limit is passed',
    foundBy: ['BI3'],
    crowd: 'budgeted',
    seed: 5,
    patch: () =>
      replaced(
        Shedding.prototype,
        'inputs',
        (inputs): Shedding['inputs'] =>
          function hasty(this: Shedding, ...given) {
            return { ...inputs.call(this, ...given), elapsedMs: () => Number.POSITIVE_INFINITY };
          },
      ),
  },
  {
    breaks: 'nobody remembers how many were stopped in the last minute',
    foundBy: ['BI3'],
    crowd: 'budgeted',
    seed: 13,
    patch: forgetsStops,
  },
  {
    breaks: 'services are stopped for a budget that asks for no stops',
    foundBy: ['BI3'],
    crowd: 'budgeted',
    seed: 2,
    patch: () =>
      replaced(
        Budgets.prototype,
        'shedFor',
        (): Budgets['shedFor'] =>
          function eager(this: Budgets, key) {
            if (this.partOf(key).burn === 0n) return undefined;
            const about = { uid: '', askedAt: 0, phase: 'asked', micros: '0', budget: 'team' } as const;
            return { object: key, since: 0, ...about };
          },
      ),
  },
  {
    breaks: 'work in a service is not seen before it is stopped for a budget',
    foundBy: ['BI3', 'S5'],
    crowd: 'budgeted',
    seed: 47,
    patch: () => {
      const undo = [
        replaced(
          ControlApi.prototype,
          'activities',
          (activities): ControlApi['activities'] =>
            async function careless(this: ControlApi, ...given) {
              const answer = await activities.apply(this, given);
              return answer.kind === 'applied' ? { ...answer, value: [] } : answer;
            },
        ),
        replaced(
          Shedding.prototype,
          'inputs',
          (inputs): Shedding['inputs'] =>
            function blind(this: Shedding, ...given) {
              const all = inputs.call(this, ...given);
              const members = [...all.members].map(
                ([key, each]) => [key, { ...each, obstacle: undefined }] as const,
              );
              return { ...all, members: new Map(members) };
            },
        ),
      ];
      return () => undo.forEach((each) => each());
    },
  },
  {
    breaks: 'what was stopped for a budget is never let go',
    foundBy: ['BI4', 'L1', 'L2'],
    crowd: 'budgeted',
    seed: 15,
    patch: () =>
      replaced(
        Budget.prototype,
        'takes',
        (takes): Budget['takes'] =>
          function stubborn(this: Budget, orders) {
            const named = new Set(orders.map(({ object }) => object));
            const kept = [...this.orders.values()].filter(({ object }) => !named.has(object));
            return takes.call(this, [...orders, ...kept]);
          },
      ),
  },
  {
    breaks: 'what is stopped for a budget is reported as Ready',
    foundBy: ['BI4', 'S12'],
    crowd: 'budgeted',
    seed: 5,
    sabotage: withStore((store) => ({
      save: (record: ObjectRecord) => {
        const { pausedFor } = record.kind as { readonly pausedFor?: string };
        if (!record.status || pausedFor !== 'Budget') return store.save(record);
        const before = store.record(record.key)?.status?.conditions.find(({ type }) => type === 'Ready');
        const { lastTransitionTime } = before?.status === 'True' ? before : {};
        const conditions = record.status.conditions.map((each) =>
          each.type === 'Ready'
            ? {
                ...each,
                status: 'True' as const,
                lastTransitionTime: lastTransitionTime ?? each.lastTransitionTime,
              }
            : each,
        );
        return store.save({ ...record, status: { ...record.status, conditions } });
      },
    })),
  },
];
