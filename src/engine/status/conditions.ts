/**
 * Conditions as a pure function of the plan and the observation.
 *
 * | condition      | True when                                                                       |
 * |----------------|---------------------------------------------------------------------------------|
 * | Ready          | a read after the last mutation shows the object usable and as this generation requires |
 * | Reconciling    | something is in progress, or awaited, that continues by itself                   |
 * | Stalled        | somebody has to change something, or a wait takes too long (progress.ts)         |
 * | Synced         | no field differs, apart from drift that is only to be reported                   |
 * | Drifted        | somebody else changed an applied field                                           |
 * | Protected      | an activity in the service keeps a disruptive change waiting                     |
 * | OutcomeUnknown | the outcome of a mutation is unknown, and evidence is being sought               |
 * | Duplicated     | another thing carries the object's mark: a copy, or a second one                 |
 * | Available      | of a ServiceFleet: no fewer replicas are available than it allows               |
 * | RolledBack     | of a ServiceFleet: a revision failed, and the replicas have an earlier one       |
 * | Accepted, Allocated | the API has accepted it; compute or storage is held for it (allocation.ts)  |
 * | TemplateOutdated | of a service with a template: its values differ from those that the service copied |
 * | SpendingAllowed | of an Account: what costs more may be created, started and grown                |
 * | WithinBudget   | of a Budget: no limit is passed                                                 |
 * | Shedding       | of a Budget with `mode: Shed`: something is stopped for it                      |
 *
 * `Protected`, `OutcomeUnknown` and `Duplicated` appear once they have been True. The others are always present.
 */
import { oneLine, rfc3339, unreachable } from '../../base/index.ts';
import { nothingVisible, protectedReason, type Difference, type Plan } from '../plan/index.ts';
import { entryOf, type Reason } from '../../reasons/index.ts';
import type { Condition, ConditionStatus, ConditionType } from '../../resources/index.ts';
import type { DriftEntry } from '../../state/index.ts';
import { blindness } from './blindness.ts';
import type { Overdue } from './progress.ts';

export interface Health {
  /** Whether the observed thing is usable, apart from differences. */
  readonly ready: 'True' | 'False';
  readonly reason: Reason;
  readonly message: string;
}

export interface ConditionInputs {
  readonly plan: Plan;
  readonly health: Health;
  readonly outcomeUnknown: string | undefined;
  /** The wait takes too long, or needs an operator. */
  readonly overdue: Overdue | undefined;
  readonly drift: readonly DriftEntry[];
  readonly generation: number;
  readonly previous: readonly Condition[];
  /** Conditions that only some kinds have. */
  readonly more?: readonly (readonly [ConditionType, Statement])[];
  /** Other things that carry the object's mark, with a sentence for each. */
  readonly duplicates?: readonly string[];
  /** RFC 3339. */
  readonly now: string;
}

export interface Statement {
  readonly status: ConditionStatus;
  readonly reason: Reason;
  readonly message: string;
}

const no = (reason: Reason): Statement => ({ status: 'False', reason, message: '' });

export function buildConditions(inputs: ConditionInputs): Condition[] {
  const { plan, previous, outcomeUnknown, overdue } = inputs;
  const statements: (readonly [ConditionType, Statement | undefined])[] = [
    ['Ready', readiness(inputs)],
    ['Reconciling', overdue ? no(overdue.reason) : reconciling(plan)],
    ['Stalled', stalled(plan, overdue)],
    ['Synced', synced(plan)],
    ['Drifted', drifted(inputs)],
    [
      'Protected',
      plan.kind === 'wait' && plan.reason === protectedReason
        ? { status: 'True', reason: 'ActivityUnreleased', message: plan.message }
        : undefined,
    ],
    [
      'OutcomeUnknown',
      outcomeUnknown === undefined
        ? undefined
        : { status: 'True', reason: 'AwaitingEvidence', message: outcomeUnknown },
    ],
    ['Duplicated', duplicated(inputs.duplicates ?? [])],
    ...(inputs.more ?? []),
  ];
  return statements.flatMap(([type, statement]) => {
    const before = previous.find((condition) => condition.type === type);
    if (!statement && !before) return [];
    return [withTransition(type, statement ?? no('NotApplicable'), before, inputs)];
  });
}

function withTransition(
  type: ConditionType,
  statement: Statement,
  before: Condition | undefined,
  { now, generation }: ConditionInputs,
): Condition {
  const unmoved = before?.status === statement.status;
  return {
    type,
    ...statement,
    message: shortened(statement.message),
    lastTransitionTime: unmoved ? before.lastTransitionTime : now,
    observedGeneration: generation,
  };
}

/** In characters. Several conditions may have the same message, and all of a status stays below 32 KiB. */
const longestMessage = 4096;

function shortened(message: string): string {
  return message.length <= longestMessage ? message : `${message.slice(0, longestMessage - 1)}…`;
}

function readiness({ plan, health }: ConditionInputs): Statement {
  if ((plan.kind === 'wait' || plan.kind === 'hold') && entryOf(plan.reason).accountUnread) {
    return { status: 'Unknown', reason: plan.reason, message: plan.message };
  }
  switch (plan.kind) {
    case 'in-sync':
      return { status: health.ready, reason: health.reason, message: health.message };
    case 'act':
      return { status: 'False', reason: plan.step.reason, message: `next: ${plan.step.action.do}` };
    case 'arrange':
      // A command that changes nothing.
      if (plan.handled && plan.change === undefined)
        return { status: health.ready, reason: health.reason, message: health.message };
      return { status: 'False', reason: plan.reason, message: plan.message };
    case 'wait':
    case 'hold':
      if (entryOf(plan.reason).followsHealth)
        return { status: health.ready, reason: health.reason, message: health.message };
      return { status: 'False', reason: failureOf(plan) ?? plan.reason, message: plan.message };
    default:
      return unreachable(plan);
  }
}

function failureOf(plan: Plan): Reason | undefined {
  return plan.kind === 'wait' ? plan.failed : undefined;
}

function reconciling(plan: Plan): Statement {
  if (plan.kind === 'act') {
    return { status: 'True', reason: plan.step.reason, message: `next: ${plan.step.action.do}` };
  }
  if (plan.kind === 'wait' || plan.kind === 'arrange')
    return { status: 'True', reason: plan.reason, message: plan.message };
  return no(plan.kind === 'in-sync' ? 'Done' : 'Stalled');
}

function stalled(plan: Plan, overdue: Overdue | undefined): Statement {
  const cause = overdue ?? (plan.kind === 'hold' ? plan : undefined);
  return cause ? { status: 'True', reason: cause.reason, message: cause.message } : no('NotStalled');
}

function drifted({ drift, plan }: ConditionInputs): Statement {
  const { driftAcceptedUntil } = plan;
  const paths = drift.map(({ path }) => path).join(', ');
  if (blindness(plan) === 'no' && 'reason' in plan) {
    const message = drift.length === 0 ? 'not observed' : `not observed; it was changed before: ${paths}`;
    return { status: 'Unknown', reason: plan.reason, message };
  }
  if (drift.length === 0) return no('NoDrift');
  if (driftAcceptedUntil !== undefined) {
    const message = `accepted until ${rfc3339(driftAcceptedUntil)}: ${paths}`;
    return { status: 'True', reason: 'Accepted', message };
  }
  const isMoved = drift.every(({ kind }) => kind === 'RevisionMoved');
  return isMoved
    ? { status: 'True', reason: 'RevisionMoved', message: `${nothingVisible}; it may be: ${paths}` }
    : { status: 'True', reason: 'ChangedElsewhere', message: `changed by somebody else: ${paths}` };
}

function duplicated(found: readonly string[]): Statement | undefined {
  if (found.length === 0) return undefined;
  return { status: 'True', reason: 'MarkFoundElsewhere', message: found.join('. ') };
}

function synced(plan: Plan): Statement {
  if (plan.kind === 'in-sync') {
    const reported = plan.differences.length > 0;
    return {
      status: reported ? 'False' : 'True',
      reason: !reported
        ? 'AsDesired'
        : plan.driftAcceptedUntil === undefined
          ? 'DriftReported'
          : 'DriftAccepted',
      message: '',
    };
  }
  return plan.differences.length > 0
    ? {
        status: 'False',
        reason: 'Differs',
        message: `differs: ${plan.differences.map(shownDifference).join(', ')}`,
      }
    : { status: 'Unknown', reason: 'NotCompared', message: '' };
}

/** Values of an environment are in no difference. */
function shownDifference({ path, desired, observed, hidden }: Difference): string {
  const isChange = observed !== undefined && observed !== null && desired !== undefined && !hidden;
  return isChange ? `${path} (${briefly(observed)} → ${briefly(desired)})` : path;
}

const longestValue = 120;

function briefly(value: unknown): string {
  const text = oneLine(typeof value === 'string' ? value : JSON.stringify(value));
  return text.length > longestValue ? `${text.slice(0, longestValue - 1)}…` : text;
}
