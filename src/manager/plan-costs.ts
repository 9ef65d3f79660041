/** What the changes of a plan cost, each and together. Pure. */
import { clampedMicros, type Cost } from '../engine/plan/index.ts';
import type { ObjectKey } from '../resources/index.ts';

/** Micro-USD per hour. */
export interface ChangeCost {
  readonly beforeMicros: number;
  readonly afterMicros: number;
  readonly deltaMicros: number;
  /** Where the amounts come from (docs/concepts/money.md, "Prices"). With `unknown` they are too small. */
  readonly basis: Cost['basis'];
}

/** Of all changes together, without those that are held. */
export interface PlanCost {
  readonly currency: 'USD';
  /** The cost of everything in the accounts, including unmanaged things. */
  readonly nowHourlyMicros: number;
  readonly thenHourlyMicros: number;
  readonly deltaHourlyMicros: number;
  /** Changes with an unknown cost. */
  readonly unpriced: number;
  /** Changes with a cost, known or unknown. */
  readonly changes: number;
  /** Of Budgets. Absent without any. */
  readonly budgets?: readonly PlanBudget[];
}

export interface PlanBudget {
  readonly namespace: string;
  readonly name: string;
  readonly limit: string;
  readonly limitMicros: number;
  readonly nowMicros: number;
  readonly thenMicros: number;
  readonly verdict: 'ok' | 'near' | 'exceeded';
  /** Objects (`Kind/namespace/name`) that will wait for it. */
  readonly waiting: readonly ObjectKey[];
}

export function changeCost({ beforeMicros, afterMicros, basis }: Cost): ChangeCost {
  return {
    beforeMicros: clampedMicros(beforeMicros),
    afterMicros: clampedMicros(afterMicros),
    deltaMicros: clampedMicros(afterMicros - beforeMicros),
    basis,
  };
}

/** `burnMicros`: the current cost of the accounts per hour. */
export function totalCost(
  changes: readonly { readonly cost?: ChangeCost }[],
  burnMicros: bigint,
  budgets: readonly PlanBudget[],
): PlanCost {
  const costs = changes.flatMap(({ cost }) => cost ?? []);
  const delta = costs.reduce((sum, { deltaMicros }) => sum + BigInt(deltaMicros), 0n);
  const then = burnMicros + delta;
  return {
    currency: 'USD',
    nowHourlyMicros: clampedMicros(burnMicros),
    thenHourlyMicros: clampedMicros(then > 0n ? then : 0n),
    deltaHourlyMicros: clampedMicros(delta),
    unpriced: costs.filter(({ basis }) => basis === 'unknown').length,
    changes: costs.length,
    ...(budgets.length === 0 ? {} : { budgets }),
  };
}
