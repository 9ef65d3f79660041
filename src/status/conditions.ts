/**
 * Conditions as a pure function of what was planned and observed.
 *
 * | condition      | True when                                                                       |
 * |----------------|---------------------------------------------------------------------------------|
 * | Ready          | a read after our last mutation shows the object as this generation wants it, and usable |
 * | Reconciling    | something is being done, or waited for, that goes on by itself                   |
 * | Stalled        | a person has to change something                                                 |
 * | Synced         | no field differs, apart from drift that is only to be reported                   |
 * | Drifted        | somebody else moved a field away from what was applied                            |
 * | Protected      | an activity in the service keeps a disruptive change waiting                      |
 * | OutcomeUnknown | a mutation's outcome is not known and is being looked for                         |
 *
 * `Protected` and `OutcomeUnknown` appear once they have been True; the others are always there.
 */
import { unreachable } from '../base/index.ts';
import { protectedReason, type Plan } from '../plan/index.ts';
import type { Condition, ConditionStatus, ConditionType } from '../resources/index.ts';

export interface Health {
  /** What the observed object is good for, were it as desired. */
  readonly ready: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
}

export interface ConditionInputs {
  readonly plan: Plan;
  readonly health: Health;
  readonly outcomeUnknown: string | undefined;
  readonly generation: number;
  readonly previous: readonly Condition[];
  /** RFC 3339. */
  readonly now: string;
}

interface Statement {
  readonly status: ConditionStatus;
  readonly reason: string;
  readonly message: string;
}

const no = (reason: string): Statement => ({ status: 'False', reason, message: '' });

export function buildConditions(inputs: ConditionInputs): Condition[] {
  const { plan, previous, outcomeUnknown } = inputs;
  const drifted = plan.differences.filter((difference) => difference.drift).map(({ path }) => path);
  const statements: [ConditionType, Statement | undefined][] = [
    ['Ready', readiness(inputs)],
    ['Reconciling', reconciling(plan)],
    [
      'Stalled',
      plan.kind === 'hold'
        ? { status: 'True', reason: plan.reason, message: plan.message }
        : no('NotStalled'),
    ],
    ['Synced', synced(plan)],
    [
      'Drifted',
      drifted.length > 0
        ? {
            status: 'True',
            reason: 'ChangedElsewhere',
            message: `changed by somebody else: ${drifted.join(', ')}`,
          }
        : no('NoDrift'),
    ],
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
    lastTransitionTime: unmoved ? before.lastTransitionTime : now,
    observedGeneration: generation,
  };
}

/** Reasons for which nothing can be said of the object at all. */
const blindReasons = new Set(['ApiUnreachable', 'CredentialRejected']);

function readiness({ plan, health }: ConditionInputs): Statement {
  if (plan.kind === 'wait' && blindReasons.has(plan.reason)) {
    return { status: 'Unknown', reason: plan.reason, message: plan.message };
  }
  switch (plan.kind) {
    case 'in-sync':
      return { status: health.ready, reason: health.reason, message: health.message };
    case 'act':
      return { status: 'False', reason: plan.step.reason, message: `next: ${plan.step.action.do}` };
    case 'wait':
    case 'hold':
      return { status: 'False', reason: plan.reason, message: plan.message };
    default:
      return unreachable(plan);
  }
}

function reconciling(plan: Plan): Statement {
  if (plan.kind === 'act') {
    return { status: 'True', reason: plan.step.reason, message: `next: ${plan.step.action.do}` };
  }
  if (plan.kind === 'wait') return { status: 'True', reason: plan.reason, message: plan.message };
  return no(plan.kind === 'in-sync' ? 'Done' : 'Stalled');
}

function synced(plan: Plan): Statement {
  if (plan.kind === 'in-sync') {
    const reported = plan.differences.length > 0;
    return {
      status: reported ? 'False' : 'True',
      reason: reported ? 'DriftReported' : 'AsDesired',
      message: '',
    };
  }
  const paths = plan.differences.map((difference) => difference.path);
  return paths.length > 0
    ? { status: 'False', reason: 'Differs', message: `differs: ${paths.join(', ')}` }
    : { status: 'Unknown', reason: 'NotCompared', message: '' };
}
