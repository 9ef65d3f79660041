/**
 * What a preview shows of a fleet. It is one pass, and the step of that pass may show nothing, or wait. What the document leads to is
 * shown all the same: `apply` gets to it without another question. The first row that applies:
 *
 * | the fleet                                          | the plan                                                       |
 * |----------------------------------------------------|----------------------------------------------------------------|
 * | is held, or its replicas are found again           | as it is                                                       |
 * | is removed                                         | all replicas that leave, and all volumes that are deleted      |
 * | waits for its template                             | as it is                                                       |
 * | begins a rollout, or is created                    | as it is                                                       |
 * | has replicas that differ, and get their turn later | the rest of the rollout, with another number                   |
 * | has too many replicas                              | all that leave, whatever they wait for                         |
 * | adds replicas that take the place of others        | no other number                                                |
 * | has too few, and its step shows nothing, or waits  | those that are added, once there is room for them              |
 * | lets replicas leave by a step that shows nothing   | those (leaving-shown.ts)                                       |
 *
 * In each of these rows but the first four, replicas that stay broken are shown as replaced, also those whose
 * `repair.afterSeconds` are not over. What drains already is an object of its own in the plan.
 *
 * What a rollout or a move back has added for a while leaves with it, and what takes the place of a replica comes with it: neither is
 * shown. Pure.
 */
import type { Arrange, Difference, Plan, Wait } from '../../engine/plan/index.ts';
import { activePhases } from './failure.ts';
import { arrange, countDifference, inNewPhase, inPhase, slotsText, type FleetInputs } from './inputs.ts';
import { withLeaving } from './leaving-shown.ts';
import { countDifferences, numberShown } from './number-shown.ts';
import { planFleet } from './plan.ts';
import { leavingWith } from './planned-replicas.ts';
import { comingRepairs, repairDifferences, repairText } from './repair.ts';
import type { Replica } from './replica.ts';
import { revised } from './revising.ts';
import { revisionDifferences, rolloutOf } from './rollout.ts';
import { drained, removable, scale } from './scaling.ts';
import { victims } from './victims.ts';
import { retiredWith, retiredWithFleet } from './volumes.ts';

export function previewFleet(look: FleetInputs): Plan {
  const plan = planFleet(look);
  if ((plan.kind !== 'wait' && plan.kind !== 'arrange') || isRecall(plan)) return plan;
  if (look.object.deleting) return removal(look) ?? plan;
  const inputs = look.problem ? look.problem : revised(look);
  if ('kind' in inputs) return plan;
  return withRepairs(inputs, withLeaving(inputs, previewRunning(inputs, plan)));
}

function previewRunning(inputs: FleetInputs, plan: Arrange | Wait): Plan {
  const change = plan.kind === 'arrange' && plan.reason !== 'Repairing' ? plan.change : undefined;
  if (change === 'create' || change === 'update') return plan;
  const shown = restOfRollout(inputs) ?? scaleIn(inputs);
  if (shown) return shown;
  if (plan.kind === 'wait') return laterScaleOut(inputs) ?? plan;
  return change === undefined
    ? (scaleOut(inputs, plan) ?? laterScaleOut(inputs) ?? plan)
    : scaledOut(inputs, plan);
}

/** Those that leave anyway are not replaced. */
function withRepairs(inputs: FleetInputs, plan: Plan): Plan {
  if (plan.kind !== 'wait' && plan.kind !== 'arrange') return plan;
  const { change, reason } = plan.kind === 'arrange' ? plan : { change: undefined, reason: undefined };
  const isOther = change !== undefined && reason !== 'Repairing';
  const leaving = plan.kind === 'arrange' && isOther ? leavingWith(inputs, plan) : [];
  const shown = new Set(plan.differences.map(({ path }) => path));
  const repaired = comingRepairs(inputs).filter(
    (replica) => !leaving.includes(replica) && !shown.has(`replica ${replica.entry.slot}`),
  );
  if (repaired.length === 0) return plan;
  const differences = repairDifferences(repaired);
  if (plan.kind === 'arrange' && isOther) {
    const { unjudged: _, ...judged } = plan;
    return { ...judged, differences: [...plan.differences, ...differences] };
  }
  return arrange(inputs, [], { ...repairText(repaired), change: 'update', differences });
}

function isRecall(plan: Plan): boolean {
  return plan.kind === 'arrange' && plan.recalls === true;
}

/** Undefined: nothing more is decided about its replicas and volumes. */
function removal(inputs: FleetInputs): Arrange | undefined {
  const { replicas, object, nowMs } = inputs;
  const wanted = inPhase(replicas, 'wanted');
  const isLeft = object.spec.deletionPolicy === 'Retain';
  const volumes = retiredWithFleet(inputs);
  const count = volumes?.filter(({ retired }, index) => retired && !inputs.state.volumes?.[index]?.retired);
  const differences: Difference[] = [
    ...(wanted.length > 0 ? [{ path: 'replicas', desired: 0, observed: wanted.length, drift: false }] : []),
    ...(count ? [{ path: 'volumes', desired: 0, observed: count.length, drift: false }] : []),
  ];
  if (differences.length === 0) return undefined;
  const leaving = isLeft
    ? inNewPhase(wanted, 'retiring', nowMs)
    : inNewPhase(victims(wanted), 'draining', nowMs, 'scale', 'its document was removed');
  const what = wanted.length > 0 ? slotsText(wanted) : 'volumes that no replica has';
  const message = `${isLeft ? 'left at the provider' : 'to be deleted'}: ${what}`;
  const change = isLeft ? 'leave' : 'delete';
  const rest = isLeft ? { ...retiredWith(inputs, leaving), left: true as const } : volumes ? { volumes } : {};
  return arrange(inputs, leaving, { reason: 'ScalingIn', change, differences, message }, rest);
}

/** Replicas that have not got their turn. What has failed is not sent again; then only the place of a replica may differ. */
function restOfRollout(inputs: FleetInputs): Arrange | undefined {
  const { update, state, wanted, replicas } = inputs;
  const record = state.rollout?.revision === update?.number ? state.rollout : undefined;
  if (!update || wanted.count === 0 || record?.phase === 'Frozen') return undefined;
  const isReturn = update.outcome === 'Failed' && !(record && activePhases.has(record.phase));
  const { toUpdate, toReplace } = rolloutOf({ ...inputs, state: { ...state, rollout: undefined } });
  const updated: readonly Replica[] = isReturn ? [] : toUpdate;
  const replaced = isReturn ? toReplace.filter(({ isMisplaced }) => isMisplaced) : toReplace;
  const count = updated.length + replaced.length;
  if (count === 0) return undefined;
  const ways = [
    ...(updated.length > 0 ? [`${updated.length} in place`] : []),
    ...(replaced.length > 0 ? [`${replaced.length} replaced`] : []),
  ].join(', ');
  const observed = `${count} of ${inPhase(replicas, 'wanted').length} replicas differ (${ways})`;
  const differences = [
    { path: 'template', desired: '(as declared)', observed, drift: false },
    ...(isReturn ? [] : revisionDifferences(inputs, update)),
    ...countDifferences(inputs),
  ];
  const message = `still to be changed: ${ways}`;
  return arrange(inputs, [], { reason: 'RollingOut', message, change: 'update', differences });
}

/** All that leave, also those that wait for their pace, or for others to be available. */
function scaleIn(inputs: FleetInputs): Arrange | undefined {
  const { wanted } = inputs;
  const observed = numberShown(inputs);
  const surplus = Math.max(0, observed - wanted.count);
  const leaving = removable(inputs).slice(0, surplus);
  return leaving.length === 0 ? undefined : drained(inputs, leaving, { surplus, observed, change: 'scale' });
}

/** Those that only take the place of others are no change of the number. */
function scaledOut(inputs: FleetInputs, plan: Arrange): Arrange {
  const { wanted } = inputs;
  const number = numberShown(inputs);
  if (plan.reason !== 'ScalingOut') return plan;
  if (number === wanted.count) return { ...plan, change: undefined, differences: [] };
  return { ...plan, differences: [countDifference(wanted, number)] };
}

/** After the step, which may end what is left of a replica. */
function scaleOut(inputs: FleetInputs, { state }: Arrange): Arrange | undefined {
  const { roster } = state as FleetInputs['state'];
  const slots = new Set(roster.map(({ slot }) => slot));
  const replicas = inputs.replicas.filter(({ entry }) => slots.has(entry.slot));
  const after = {
    ...inputs,
    replicas,
    state: { ...inputs.state, roster: replicas.map(({ entry }) => entry) },
  };
  const step = scale(after, rolloutOf(after));
  return step?.change === undefined ? undefined : step;
}

/** Those that wait until others are gone, or for a place. None is chosen yet. */
function laterScaleOut(inputs: FleetInputs): Arrange | undefined {
  const { wanted } = inputs;
  const number = numberShown(inputs);
  if (number >= wanted.count) return undefined;
  const message = `${wanted.count - number} of ${wanted.count} replicas wait`;
  const differences = [countDifference(wanted, number)];
  return arrange(inputs, [], { reason: 'ScalingOut', message, change: 'scale', differences });
}
