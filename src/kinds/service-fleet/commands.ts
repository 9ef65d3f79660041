/**
 * What the operator commands of a fleet change in its record. Pure. Their form: schema-commands.ts; when they are decided on: engine/commands.ts.
 *
 * | command           | effect                                                                                       | outdated when                       |
 * |-------------------|----------------------------------------------------------------------------------------------|-------------------------------------|
 * | `retire:SLOT@UID` | the replica drains, at the pace of `scaleIn`, and is not taken back. The floor does not count | the slot has another replica, or none |
 * | `scale:N[:TIME]@gG` | the number of replicas by hand (`Scaled`, counts.ts)                                        | the document has changed, or TIME is over |
 *
 * Those of a rollout: rollout-commands.ts.
 */
import type { CommandEffect } from '../../engine/index.ts';
import { parseRfc3339, rfc3339 } from '../../base/index.ts';
import type { OperatorCommand } from '../../resources/index.ts';
import { scaledWith, wantedReplicas } from './counts.ts';
import { countDifference, inPhase, scaleInPace } from './inputs.ts';
import type { FleetLook } from './look.ts';
import { rolloutCommands } from './rollout-commands.ts';
import { withEntries } from './roster.ts';
import { uidMark } from './schema-commands.ts';

type Effects = Readonly<
  Record<string, (look: FleetLook, command: OperatorCommand) => CommandEffect | undefined>
>;

const effects: Effects = { retire, scale, ...rolloutCommands };

/** Undefined: not before the account is read, and the roster is known. */
export function fleetCommand(look: FleetLook, command: OperatorCommand): CommandEffect | undefined {
  if (look.unread !== undefined || look.isFound) return undefined;
  return effects[command.verb]?.(look, command) ?? undefined;
}

function retire(look: FleetLook, { argument, target }: OperatorCommand): CommandEffect | undefined {
  const slot = Number(argument);
  const replica = look.replicas.find(({ entry }) => entry.slot === slot);
  const uid = look.uids.get(slot);
  if (!replica || uid === undefined || uidMark(uid) !== target)
    return { result: 'Outdated', message: `there is no replica ${slot} with the uid ${target} any more` };
  const { entry } = replica;
  const { state } = look;
  if (entry.phase === 'retiring')
    return { result: 'Done', message: `replica ${slot} is being deleted already`, state };
  const isDraining = entry.phase === 'draining';
  const pace = scaleInPace(look);
  if (!isDraining && pace.left === 0) return undefined;
  const { spared: _spared, ...rest } = entry;
  const since = isDraining ? entry.since : look.nowMs;
  const roster = withEntries(state.roster, [{ ...rest, phase: 'draining', since, cause: 'retire' }]);
  return {
    result: 'Done',
    message: `replica ${slot} drains, and is removed`,
    state: { ...state, roster, ...(isDraining ? {} : { pace: pace.begin(1) }) },
    change: 'scale',
    differences: [{ path: `replica ${slot}`, desired: '(removed)', observed: '(wanted)', drift: false }],
  };
}

function scale(look: FleetLook, { argument = '', target }: OperatorCommand): CommandEffect {
  const { generation, object, nowMs, state, replicas } = look;
  if (target !== `g${generation}`) {
    const message = `the document has changed since: it has the generation ${generation}, not ${target.slice(1)}`;
    return { result: 'Outdated', message };
  }
  const [, count = '', time] = /^(\d+)(?::(.*))?$/.exec(argument) ?? [];
  const until = time === undefined ? undefined : parseRfc3339(time);
  if (until !== undefined && until <= nowMs)
    return { result: 'Outdated', message: `its time was over at ${time}` };
  const { spec } = object;
  const asked = { replicas: Number(count), of: spec.replicas };
  const scaled = scaledWith(
    state.scaled,
    spec,
    { ...asked, ...(until === undefined ? {} : { until }) },
    nowMs,
  );
  const wanted = wantedReplicas(spec, nowMs, scaled);
  const running = inPhase(replicas, 'wanted').length;
  const limit = wanted.count === asked.replicas ? '' : `; limits and schedules make that ${wanted.count}`;
  const end = until === undefined ? '' : ` until ${rfc3339(until)}`;
  return {
    result: 'Done',
    message: `${asked.replicas} replicas${end}${limit}`,
    state: { ...state, scaled },
    ...(wanted.count === running ? {} : { change: 'scale', differences: [countDifference(wanted, running)] }),
  };
}
