/** Computes the output of `plan`: one pass over every object, with one read of each account. No change is sent. */
import { actions, type Verb } from '../actions/index.ts';
import { rfc3339 } from '../base/index.ts';
import type { DesiredSnapshot } from '../desired/index.ts';
import {
  variableChanges,
  type Arrange,
  type Difference,
  type Plan,
  type Step,
  type VariableChanges,
  type Wait,
  type OwnedChange,
} from '../engine/plan/index.ts';
import { entryOf, type Reason } from '../reasons/index.ts';
import type { PassResult } from '../engine/index.ts';
import { planBudgets, type ObservedBudget } from './plan-budgets.ts';
import { changeCost, totalCost, type ChangeCost, type PlanCost } from './plan-costs.ts';
import { replicaCounts, type ReplicaCounts } from './replica-counts.ts';
import {
  shownDuplicate,
  shownProblem,
  type BesideDocuments,
  type ShownDuplicate,
  type ShownProblem,
  type UnreadAccount,
} from './plan-trouble.ts';
import { endsInPlan, unforeseenOf, waitingCosts, type WaitingCost } from './waiting-costs.ts';
import { annotations, parseObjectKey, type ObjectKey } from '../resources/index.ts';

/**
 * The verbs of the plan output. `scale` changes the number of replicas. `replace` is a deletion followed by a creation. With `leave`, the thing stays
 * at the provider, unmanaged.
 */
export type ChangeAction = Verb | 'scale' | 'replace' | 'leave' | 'protect' | 'release';

/** Groups of the summary. */
type ChangeGroup = 'create' | 'update' | 'replace' | 'delete' | 'leave';

const groups: Partial<Record<ChangeAction, ChangeGroup>> = {
  create: 'create',
  protect: 'create',
  replace: 'replace',
  delete: 'delete',
  leave: 'leave',
};

export interface Change extends ObjectName {
  readonly action: ChangeAction;
  readonly reason: Reason;
  /** The change corrects drift: somebody else changed it, not the document. */
  readonly drift: boolean;
  readonly differences: readonly ShownDifference[];
  /** Absent if no variable is added, removed or known to change. */
  readonly variables?: VariableChanges;
  /** Absent if nothing changes, or no cost is known. */
  readonly cost?: ChangeCost;
  /** It may interrupt what runs in the service. */
  readonly disruptive?: true;
  /** The protection that it overrides. */
  readonly overrides?: string;
  /** Tasks (`Kind/namespace/name`) whose release in this plan it waits for. */
  readonly after?: readonly ObjectKey[];
  /** What it deletes holds data, which is deleted with it. */
  readonly destroysData?: true;
  /** Of a ServiceFleet: what becomes of its replicas. */
  readonly replicas?: readonly OwnedChange[];
}

export interface ShownDifference {
  readonly path: string;
  readonly desired: unknown;
  readonly observed: unknown;
  /** Of drift: what the provider's events report. */
  readonly cause?: string;
  /** The Secret, ConfigMap or object that the value is taken from. */
  readonly from?: string;
}

/** A change that is not made now, and why. */
export interface Held extends ObjectName {
  readonly reason: Reason;
  readonly message: string;
  /** The actions that would be taken otherwise. */
  readonly actions: readonly ChangeAction[];
  readonly drift: boolean;
  readonly differences: readonly ShownDifference[];
  readonly variables?: VariableChanges;
}

/** What is to be done is not known yet: an outcome or an observation is missing. */
export interface Unclear extends ObjectName {
  readonly reason: Reason;
  readonly message: string;
}

export interface ObjectName {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

export interface PolicyWarning extends ObjectName {
  readonly rule: string;
  readonly message: string;
}

/** A plan of some objects. Nothing is known of the others, and nothing is done to them. */
export interface PartialPlan {
  readonly selected: readonly ObjectName[];
  /** What the selected ones need. */
  readonly included: readonly ObjectName[];
  /** The number of others. */
  readonly omitted: number;
}

/** What a cluster was planned with: documents that are taken as applied. */
export interface PlanOverlay {
  /** The folder. */
  readonly source: string;
  readonly documents: number;
  /** Checked by a dry run at the API server. */
  readonly dryRun: number;
  /** Checked by the built-in schemas alone. */
  readonly builtIn: number;
  readonly unchanged: number;
}

export interface FleetPlan extends BesideDocuments {
  /** Absent: it is the plan of what the source has. */
  readonly overlay?: PlanOverlay;
  /** Absent: it is the plan of the whole fleet. */
  readonly partial?: PartialPlan;
  readonly changes: readonly Change[];
  readonly held: readonly Held[];
  /** Some of those that wait. */
  readonly unclear: readonly Unclear[];
  readonly duplicates: readonly ShownDuplicate[];
  /** Of the rules of `--policy`. Absent without any. */
  readonly warnings?: readonly PolicyWarning[];
  readonly problems: readonly ShownProblem[];
  readonly unreadAccounts: readonly UnreadAccount[];
  readonly cost: PlanCost;
  /** What waits and may cost more when it continues, beside `cost`. Absent without any. */
  readonly waitingCosts?: readonly WaitingCost[];
  readonly summary: {
    readonly create: number;
    readonly update: number;
    readonly replace: number;
    readonly delete: number;
    readonly leave: number;
    readonly held: number;
    readonly drift: number;
    readonly duplicates: number;
    readonly unchanged: number;
    /** In progress, with nothing left to send. */
    readonly waiting: number;
    readonly problems: number;
    /** What becomes of the replicas of ServiceFleets. Absent: nothing. */
    readonly replicas?: ReplicaCounts;
    /** Objects of accounts that could not be read. Nothing else is reported about them. */
    readonly unseen?: number;
  };
}

function groupOf(action: ChangeAction): ChangeGroup {
  return groups[action] ?? 'update';
}

export function changeAction(step: Step): ChangeAction {
  return step.reason === 'Replace' ? 'replace' : actions[step.action.do].verb;
}

/** `burnMicros`: the current cost of the accounts per hour. `stuck`: what waits for an object that this plan leaves as it is. */
export function summarise(
  results: ReadonlyMap<ObjectKey, PassResult>,
  snapshot: DesiredSnapshot,
  burnMicros: bigint,
  stuck: ReadonlySet<ObjectKey> = new Set(),
  observedBudgets: readonly ObservedBudget[] = [],
): FleetPlan {
  const changes: Change[] = [];
  const held: Held[] = [];
  const unclear: Unclear[] = [];
  let unchanged = 0;
  let waiting = 0;
  const found: ShownDuplicate[] = [];
  for (const [key, { plan, follows = [], removed, leaves, duplicates = [] }] of [...results].sort(
    ([left], [right]) => (left < right ? -1 : 1),
  )) {
    found.push(...duplicates.map((duplicate) => shownDuplicate(key, duplicate)));
    if (removed) {
      // Otherwise, nothing remains but to forget it.
      if (leaves !== undefined) changes.push(leaving(key, leaves));
      continue;
    }
    const awaited = plan.kind === 'wait' ? entryOf(plan.reason).inPlan : undefined;
    if (awaited === 'protect' || awaited === 'release') {
      changes.push(ofTask(key, awaited));
    } else if (plan.kind === 'arrange' && plan.change) {
      changes.push(arranged(key, plan, plan.change));
    } else if (plan.kind === 'wait' && plan.removes) {
      held.push({ ...heldBack(key, plan), actions: ['delete'] });
    } else if (plan.kind === 'arrange' || awaited === 'owner') {
      waiting += 1;
    } else if (plan.kind === 'act') {
      for (const step of [plan.step, ...plan.later, ...follows]) changes.push(change(key, step));
    } else if (plan.kind === 'wait' && endsInPlan(plan) && !stuck.has(key)) {
      // It waits for another object of the fleet, which this plan changes.
      for (const step of [...plan.steps, ...follows]) changes.push(change(key, step));
      held.push(...unforeseenOf(plan).map((rest) => heldBack(key, rest)));
    } else if (plan.kind === 'in-sync' && plan.differences.length === 0) {
      unchanged += 1;
    } else if (plan.kind === 'wait' && plan.differences.length === 0 && plan.steps.length === 0) {
      waiting += 1;
      const { reason, message } = plan;
      if (isUnclear(reason)) unclear.push({ ...parseObjectKey(key), reason, message });
    } else {
      held.push(heldBack(key, plan));
    }
  }
  return {
    changes,
    held,
    unclear,
    duplicates: found,
    problems: snapshot.problems.map(shownProblem),
    unreadAccounts: [],
    cost: totalCost(changes, burnMicros, planBudgets(observedBudgets, results)),
    ...waitingCosts(results, snapshot.objects, stuck),
    summary: {
      ...countsOf(changes),
      ...replicaCounts(changes),
      held: held.length,
      drift: driftedIn([...changes, ...held]),
      duplicates: found.length,
      unchanged,
      waiting,
      problems: snapshot.problems.length,
    },
  };
}

/** It is not known what follows. */
function isUnclear(reason: Wait['reason']): boolean {
  const { observed, unforeseen } = entryOf(reason);
  return observed !== 'yes' || unforeseen === true;
}

function countsOf(changes: readonly Change[]): Readonly<Record<ChangeGroup, number>> {
  const count = (group: ChangeGroup) => changes.filter(({ action }) => groupOf(action) === group).length;
  return {
    create: count('create'),
    update: count('update'),
    replace: count('replace'),
    delete: count('delete'),
    leave: count('leave'),
  };
}

/** The number of objects. */
function driftedIn(entries: readonly (Change | Held)[]): number {
  const drifted = entries.filter(({ drift }) => drift);
  return new Set(drifted.map(({ kind, namespace, name }) => `${kind}/${namespace}/${name}`)).size;
}

function change(key: ObjectKey, step: Step): Change {
  return {
    ...parseObjectKey(key),
    action: changeAction(step),
    reason: step.reason,
    drift: step.differences.some((difference) => difference.drift),
    differences: step.differences.map(shown),
    ...variablesOf(step.differences),
    ...(step.cost ? { cost: changeCost(step.cost) } : {}),
    ...(step.disruptive ? { disruptive: true } : {}),
    ...(step.overrides === undefined ? {} : { overrides: step.overrides }),
    ...(step.after ? { after: step.after } : {}),
    ...(step.destroysData ? { destroysData: true } : {}),
  };
}

function ofTask(key: ObjectKey, action: 'protect' | 'release'): Change {
  const reason = action === 'protect' ? 'Wanted' : 'Over';
  return { ...parseObjectKey(key), action, reason, drift: false, differences: [] };
}

function arranged(
  key: ObjectKey,
  { reason, differences, cost, owned, destroysData }: Arrange,
  action: ChangeAction,
): Change {
  return {
    ...parseObjectKey(key),
    action,
    reason,
    drift: false,
    differences: differences.map(shown),
    ...(cost ? { cost: changeCost(cost) } : {}),
    ...(destroysData ? { destroysData } : {}),
    ...(owned ? { replicas: owned } : {}),
  };
}

function variablesOf(differences: readonly Difference[]): { variables?: VariableChanges } {
  const variables = variableChanges(differences);
  return variables ? { variables } : {};
}

/** `deletionPolicy: Retain`. */
function leaving(key: ObjectKey, id: string): Change {
  const differences = [{ path: 'managed', desired: false, observed: id }];
  return { ...parseObjectKey(key), action: 'leave', reason: 'Retained', drift: false, differences };
}

function heldBack(key: ObjectKey, plan: Exclude<Plan, { kind: 'act' | 'arrange' }>): Held {
  const said = plan.kind === 'in-sync' ? { ...leftAsItIs(plan), steps: [] } : plan;
  return {
    ...parseObjectKey(key),
    reason: said.reason,
    message: said.message,
    actions: said.steps.map(changeAction),
    drift: plan.differences.some((difference) => difference.drift),
    differences: plan.differences.map(shown),
    ...variablesOf(plan.differences),
  };
}

/** Drift that is not corrected. */
function leftAsItIs({ driftAcceptedUntil }: Plan): { reason: Reason; message: string } {
  if (driftAcceptedUntil === undefined) {
    const message =
      'changed by somebody else (or, where no state was kept, in the document); `driftPolicy: Report` leaves it so';
    return { reason: 'DriftReported', message };
  }
  const message = `changed by somebody else; accepted until ${rfc3339(driftAcceptedUntil)} (${annotations.acceptDriftUntil})`;
  return { reason: 'DriftAccepted', message };
}

/** Whether somebody has to act, or may have to. Drift that an operator accepted for now does not count. */
export function hasNews({ changes, held, unclear, duplicates }: FleetPlan): boolean {
  const isKnown = duplicates.length === 0 && unclear.length === 0;
  return changes.length > 0 || !isKnown || held.some(({ reason }) => reason !== 'DriftAccepted');
}

function shown({ path, desired, observed, cause, from }: Difference): ShownDifference {
  return {
    path,
    desired: desired ?? null,
    observed: observed ?? null,
    ...(cause === undefined ? {} : { cause }),
    ...(from === undefined ? {} : { from }),
  };
}
