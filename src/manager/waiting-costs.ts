/**
 * What objects that wait cost when they continue. `apply` waits for them, and a plan file has their steps, so `--max-cost-increase` counts them,
 * too. Pure.
 *
 * | the plan of an object                                       | counts                                     |
 * |-------------------------------------------------------------|--------------------------------------------|
 * | a wait with steps                                           | what they add together, if they add anything |
 * | a wait after which it is not known what follows             | as an unknown price                        |
 * | a wait for capacity or money, of which no step is known     | as an unknown price                        |
 * | a wait that other changes of the plan end                   | not here: its steps are changes            |
 * | the same, and its steps do not bring about all that differs | as an unknown price                        |
 * | a replica that waits for its fleet                          | not here: its fleet has the change         |
 * | what is removed by its owner in the same plan               | not at all                                 |
 * | held until a person changes something                       | not at all                                 |
 *
 * What would be saved does not count: it is not known when that is.
 */
import type { DesiredSnapshot } from '../desired/index.ts';
import type { PassResult } from '../engine/index.ts';
import { isUnforeseen, weakest, type Cost, type Wait } from '../engine/plan/index.ts';
import { entryOf, type Reason } from '../reasons/index.ts';
import { parseObjectKey, traitsOf, type ManagedKind, type ObjectKey } from '../resources/index.ts';
import { placeOf } from './plan-budgets.ts';
import { changeCost, type ChangeCost } from './plan-costs.ts';

export interface WaitingCost {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** Why it waits. */
  readonly reason: Reason;
  readonly cost: ChangeCost;
}

/** Other changes of the plan end the wait, so its steps are done. */
export function endsInPlan({ reason, steps: [first] }: Wait): boolean {
  return first !== undefined && (first.after !== undefined || entryOf(reason).inPlan === 'change');
}

/** What its steps do not bring about, of a wait after which more is known. */
export function unforeseenOf(plan: Wait): Wait[] {
  if (!isUnforeseen(plan)) return [];
  const paths = new Set(plan.steps.flatMap((step) => step.differences.map(({ path }) => path)));
  const differences = plan.differences.filter(({ path }) => !paths.has(path));
  return differences.length > 0 ? [{ ...plan, steps: [], differences }] : [];
}

/** `stuck`: what waits for an object that this plan leaves as it is. */
export function waitingCosts(
  results: ReadonlyMap<ObjectKey, PassResult>,
  objects: DesiredSnapshot['objects'],
  stuck: ReadonlySet<ObjectKey>,
): { readonly waitingCosts?: readonly WaitingCost[] } {
  const leaving = leavingIn(results);
  const found = [...results].flatMap(([key, { plan, follows = [], removed }]): WaitingCost[] => {
    if (removed || plan.kind !== 'wait' || entryOf(plan.reason).inPlan === 'owner') return [];
    if (leaving.has(placeOf(key))) return [];
    const cost =
      endsInPlan(plan) && !stuck.has(key)
        ? costBeside(plan)
        : plan.steps.length > 0
          ? (costOf([...plan.steps, ...follows]) ?? costBeside(plan))
          : costLater(key, plan, objects);
    return cost ? [{ ...parseObjectKey(key), reason: plan.reason, cost: changeCost(cost) }] : [];
  });
  if (found.length === 0) return {};
  const byName = (one: WaitingCost, other: WaitingCost) => (nameOf(one) < nameOf(other) ? -1 : 1);
  return { waitingCosts: found.toSorted(byName) };
}

/** What owners remove, or leave at the provider, as `namespace/name`. */
function leavingIn(results: ReadonlyMap<ObjectKey, PassResult>): ReadonlySet<string> {
  return new Set(
    [...results].flatMap(([key, { plan }]) => {
      const owned = plan.kind === 'arrange' ? (plan.owned ?? []) : [];
      const { namespace } = parseObjectKey(key);
      const left = owned.filter(({ action }) => action === 'delete' || action === 'leave');
      return left.map(({ name }) => `${namespace}/${name}`);
    }),
  );
}

function nameOf({ kind, namespace, name }: WaitingCost): string {
  return `${kind}/${namespace}/${name}`;
}

/** Undefined: they add nothing. */
function costOf(steps: Wait['steps']): Cost | undefined {
  const costs = steps.flatMap(({ cost }) => cost ?? []);
  const delta = costs.reduce((sum, { beforeMicros, afterMicros }) => sum + afterMicros - beforeMicros, 0n);
  const basis = weakest(costs.map((cost) => cost.basis));
  const beforeMicros = costs[0]?.beforeMicros ?? 0n;
  const known = { beforeMicros, afterMicros: beforeMicros + delta, basis, unknown: [] };
  if (delta > 0n) return known;
  return basis === 'unknown' ? unknownCost : undefined;
}

/** Of what its steps do not bring about. */
function costBeside(plan: Wait): Cost | undefined {
  return unforeseenOf(plan).length > 0 ? unknownCost : undefined;
}

const unknownCost: Cost = { beforeMicros: 0n, afterMicros: 0n, basis: 'unknown', unknown: [] };

/** Of a wait without steps. */
function costLater(
  key: ObjectKey,
  { reason, differences, stalled }: Wait,
  objects: DesiredSnapshot['objects'],
): Cost | undefined {
  if (!objects.has(key) || !hasPrice(parseObjectKey(key).kind)) return undefined;
  const { observed, awaits, forMoney, forBudget, unforeseen } = entryOf(reason);
  const isForMore = awaits !== undefined || forMoney === true || forBudget === true;
  const mayChange = differences.length > 0 && stalled !== true;
  return observed !== 'yes' || unforeseen || isForMore || mayChange ? unknownCost : undefined;
}

function hasPrice(kind: ManagedKind): boolean {
  const traits = traitsOf(kind);
  return 'asks' in traits || 'asksOfOwned' in traits;
}
