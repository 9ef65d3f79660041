/** What a plan would change in the budgets: before and after all that is wanted, what waits for them included. Pure. */
import type { BudgetNow, PassResult } from '../engine/index.ts';
import { clampedMicros, increasesOf, reached, type Plan, type Step } from '../engine/plan/index.ts';
import { entryOf } from '../reasons/index.ts';
import { parseObjectKey, type ObjectKey } from '../resources/index.ts';
import type { PlanBudget } from './plan-costs.ts';

/** A budget at the time of the plan. */
export type ObservedBudget = BudgetNow;

const hourMs = 3_600_000n;
const ceiling = 'perObjectHourlyMicros';

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
  { key, terms, figures, counts, objects }: ObservedBudget,
  results: ReadonlyMap<ObjectKey, PassResult>,
  isAwaitedBy: (key: ObjectKey) => boolean,
): PlanBudget[] {
  const { namespace, name } = parseObjectKey(key);
  const { burnMicros, spentMicros, monthLeftMs, balanceMicros } = figures;
  const members = [...results].filter(([each]) => counts(each));
  const delta = members.reduce((sum, [, result]) => sum + changeOf(result), 0n);
  const then = burnMicros + delta > 0n ? burnMicros + delta : 0n;
  const forecast = (burn: bigint) => spentMicros + (burn * BigInt(Math.floor(monthLeftMs))) / hourMs;
  const waiting = members
    .filter(([each, { plan }]) => plan.kind === 'wait' && entryOf(plan.reason).forBudget && isAwaitedBy(each))
    .map(([each]) => each);
  const { hourlyMicros, monthlyMicros, perObjectHourlyMicros: most, runwayHours } = terms.limits;
  const each = objects && eachOf(objects, members);
  // Its ceiling is asked first.
  const isTooLarge = (one: ObjectKey) => most !== undefined && (each?.after.get(one) ?? 0n) > BigInt(most);
  const line = (
    limit: string,
    limitMicros: bigint,
    nowMicros: bigint,
    thenMicros: bigint,
    owners: readonly ObjectKey[],
  ): PlanBudget => ({
    namespace,
    name,
    limit,
    limitMicros: clampedMicros(limitMicros),
    nowMicros: clampedMicros(nowMicros),
    thenMicros: clampedMicros(thenMicros),
    verdict: verdictOf(terms.warnAt, thenMicros, limitMicros),
    waiting: [...waiting, ...(terms.mode === 'Report' ? [] : owners)].filter(
      (one) => isTooLarge(one) === (limit === ceiling),
    ),
  });
  /** Of a limit that grows with the burn. */
  const lineOfBurn = (limit: string, limitMicros: bigint, at: (burn: bigint) => bigint): PlanBudget => {
    const owners = ownersBeyond(members, (more) => at(burnMicros + more) <= limitMicros);
    return line(limit, limitMicros, at(burnMicros), at(then), owners);
  };
  const lines: PlanBudget[] = [];
  if (hourlyMicros !== undefined)
    lines.push(lineOfBurn('hourlyMicros', BigInt(hourlyMicros), (burn) => burn));
  if (monthlyMicros !== undefined) lines.push(lineOfBurn('monthlyMicros', BigInt(monthlyMicros), forecast));
  if (most !== undefined && each) {
    const owners = ownersBeyond(members, () => false);
    lines.push(line(ceiling, BigInt(most), dearest(each.now), dearest(each.after), owners));
  }
  if (runwayHours !== undefined && balanceMicros !== undefined)
    lines.push(lineOfBurn('runwayHours', balanceMicros, (burn) => burn * BigInt(runwayHours)));
  return lines;
}

/**
 * Owners of which not all services will have room. A service of an owner waits by itself, once it has a record, so a plan has no wait of
 * it. `fits`: so much more per hour. What is sent at once comes first, then one owner after the other.
 */
function ownersBeyond(
  members: readonly (readonly [ObjectKey, PassResult])[],
  fits: (moreMicros: bigint) => boolean,
): ObjectKey[] {
  let taken = members.reduce((sum, [, { plan }]) => sum + (plan.kind === 'act' ? increasesOf(plan) : 0n), 0n);
  return members.flatMap(([key, { plan }]) => {
    const more = plan.kind === 'arrange' ? increasesOf(plan) : 0n;
    if (more <= 0n) return [];
    if (!fits(taken + more)) return [key];
    taken += more;
    return [];
  });
}

type Costs = ReadonlyMap<ObjectKey, bigint>;

/** What each object costs now, and after the plan. Of services that an owner is to have, there is one entry, by the owner's key. */
function eachOf(
  { now, owned }: NonNullable<BudgetNow['objects']>,
  members: readonly (readonly [ObjectKey, PassResult])[],
): { readonly now: Costs; readonly after: Costs } {
  const after = new Map(now);
  for (const [key, { plan, follows }] of members) {
    if (plan.kind !== 'arrange') {
      const micros = afterMicros(plan, follows);
      if (micros !== undefined) after.set(key, micros);
      continue;
    }
    const { namespace } = parseObjectKey(key);
    const changed = (plan.owned ?? []).filter(({ action }) => action !== 'leave');
    const names = new Set(changed.map(({ name }) => `${namespace}/${name}`));
    for (const one of now.keys()) if (names.has(placeOf(one))) after.delete(one);
    if (changed.some(({ action }) => action !== 'delete')) after.set(key, owned.get(key) ?? 0n);
  }
  return { now, after };
}

/** `namespace/name`. */
export function placeOf(key: ObjectKey): string {
  const { namespace, name } = parseObjectKey(key);
  return `${namespace}/${name}`;
}

/** In the end: a service that is created, and then stopped, costs less than while it runs. */
function changeOf({ plan, follows = [] }: PassResult): bigint {
  const costs = follows.flatMap(({ cost }) => cost ?? []);
  return costs.reduce((sum, cost) => sum + cost.afterMicros - cost.beforeMicros, increasesOf(plan));
}

/** Undefined: its cost stays, or is not known. */
function afterMicros(plan: Plan, follows: readonly Step[] = []): bigint | undefined {
  const steps = plan.kind === 'act' ? [plan.step, ...plan.later] : plan.kind === 'wait' ? plan.steps : [];
  return [...steps, ...follows].flatMap(({ cost }) => cost?.afterMicros ?? []).at(-1);
}

function dearest(costs: Costs): bigint {
  return [...costs.values()].reduce((most, micros) => (micros > most ? micros : most), 0n);
}

function verdictOf(warnAt: readonly number[], micros: bigint, limit: bigint): PlanBudget['verdict'] {
  if (micros > limit) return 'exceeded';
  return reached(warnAt, micros, limit) === undefined ? 'ok' : 'near';
}
