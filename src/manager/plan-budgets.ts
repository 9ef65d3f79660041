/** What a plan would change in the budgets: before and after all that is wanted, what waits for them included. Pure. */
import type { PassResult } from '../engine/index.ts';
import { clampedMicros, increasesOf, reached, type BudgetFigures } from '../engine/plan/index.ts';
import { entryOf } from '../reasons/index.ts';
import { parseObjectKey, type BudgetTerms, type ObjectKey } from '../resources/index.ts';
import type { PlanBudget } from './preview.ts';

/** A budget at the time of the plan. */
export interface ObservedBudget {
  readonly key: ObjectKey;
  readonly terms: BudgetTerms;
  readonly figures: BudgetFigures;
  readonly counts: (key: ObjectKey) => boolean;
  /** Whether the object waits for it, and not for another budget. */
  readonly isAwaitedBy: (key: ObjectKey) => boolean;
}

const hourMs = 3_600_000n;

export function planBudgets(
  budgets: readonly ObservedBudget[],
  results: ReadonlyMap<ObjectKey, PassResult>,
): PlanBudget[] {
  return budgets
    .toSorted((left, right) => (left.key < right.key ? -1 : 1))
    .flatMap((budget) => linesOf(budget, results, (key) => isAwaited(budget, key, budgets)));
}

/** A fleet waits for what its replicas would cost, and no budget knows it by name. */
function isAwaited(budget: ObservedBudget, key: ObjectKey, budgets: readonly ObservedBudget[]): boolean {
  return budget.isAwaitedBy(key) || !budgets.some((each) => each.isAwaitedBy(key));
}

function linesOf(
  { key, terms, figures, counts }: ObservedBudget,
  results: ReadonlyMap<ObjectKey, PassResult>,
  isAwaitedBy: (key: ObjectKey) => boolean,
): PlanBudget[] {
  const { namespace, name } = parseObjectKey(key);
  const { burnMicros, spentMicros, monthLeftMs, balanceMicros } = figures;
  const members = [...results].filter(([each]) => counts(each));
  const delta = members.reduce((sum, [, { plan }]) => sum + increasesOf(plan), 0n);
  const then = burnMicros + delta > 0n ? burnMicros + delta : 0n;
  const forecast = (burn: bigint) => spentMicros + (burn * BigInt(Math.floor(monthLeftMs))) / hourMs;
  const waiting = members
    .filter(([each, { plan }]) => plan.kind === 'wait' && entryOf(plan.reason).forBudget && isAwaitedBy(each))
    .map(([each]) => each);
  const { hourlyMicros, monthlyMicros, runwayHours } = terms.limits;
  const line = (limit: string, limitMicros: bigint, nowMicros: bigint, thenMicros: bigint): PlanBudget => ({
    namespace,
    name,
    limit,
    limitMicros: clampedMicros(limitMicros),
    nowMicros: clampedMicros(nowMicros),
    thenMicros: clampedMicros(thenMicros),
    verdict: verdictOf(terms.warnAt, thenMicros, limitMicros),
    waiting,
  });
  const lines: PlanBudget[] = [];
  if (hourlyMicros !== undefined) lines.push(line('hourlyMicros', BigInt(hourlyMicros), burnMicros, then));
  if (monthlyMicros !== undefined)
    lines.push(line('monthlyMicros', BigInt(monthlyMicros), forecast(burnMicros), forecast(then)));
  if (runwayHours !== undefined && balanceMicros !== undefined) {
    const hours = BigInt(runwayHours);
    lines.push(line('runwayHours', balanceMicros, burnMicros * hours, then * hours));
  }
  return lines;
}

function verdictOf(warnAt: readonly number[], micros: bigint, limit: bigint): PlanBudget['verdict'] {
  if (micros > limit) return 'exceeded';
  return reached(warnAt, micros, limit) === undefined ? 'ok' : 'near';
}
