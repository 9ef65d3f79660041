/**
 * What of a fleet's roster belongs to a plan file. A fleet has one entry, and its steps say how many replicas are added, updated and
 * drained, how many there are in the end, and what they have then. A replica has a request of its own later, for one of these.
 *
 * | step of the file | what may become of the roster, and of the replicas                                              |
 * |------------------|-------------------------------------------------------------------------------------------------|
 * | `add` n          | n replicas are made                                                                             |
 * | `drain` n        | n replicas drain and are deleted                                                                |
 * | `update` n       | n replicas get the content: in place, or another one is made and one is deleted for each. While |
 * |                  | that lasts, so many more may be there (`maxSurge`)                                              |
 * | `repair` n       | n replicas that stay broken are deleted, and others are made in their place                     |
 * | `return` n       | if the update fails, those that have it get back what there was before (`onFailure: Rollback`)  |
 * | `leave` n        | n replicas stay at the provider, and are forgotten                                              |
 * | `command`        | what the operator command asks for: one replica leaves, and another one is made                 |
 *
 * So a fleet of three that is created adds 3. Scaled to five, it adds 2; back to three, it drains 2. Rolled out, it updates 3, and may
 * return 3. Where its document has an earlier content again, that is an update to that one. Other changes of a roster, such as a
 * move to another candidate or a schedule that opens meanwhile, are in no file that does not say so. Pure.
 */
import type { RosterMoves } from '../engine/plan/index.ts';
import type { PlannedObject, PlannedStep } from './format.ts';

/** The steps of an entry by their names. */
export interface RosterSteps {
  readonly add: number;
  readonly update: number;
  readonly repair: number;
  readonly drain: number;
  readonly leave: number;
  readonly commands: readonly string[];
  /** How many there are in the end, and with what; and what they may have instead. */
  readonly goals: ReadonlySet<string>;
}

/** Undefined: it is not the entry of a fleet. */
export function rosterSteps({
  steps,
  later,
}: Pick<PlannedObject, 'steps' | 'later'>): RosterSteps | undefined {
  const counted = steps.filter(({ count }) => count !== undefined);
  if (counted.length === 0) return undefined;
  const of = (name: string) => counted.find(({ action }) => action === name)?.count ?? 0;
  return {
    add: of('add'),
    update: of('update'),
    repair: of('repair'),
    drain: of('drain'),
    leave: of('leave'),
    commands: steps.filter(({ action }) => action === 'command').map(commandOf),
    goals: new Set([...counted, ...later].map(({ fingerprint }) => fingerprint)),
  };
}

function commandOf({ fields }: PlannedStep): string {
  const text = fields[0]?.desired;
  return typeof text === 'string' ? text : '';
}

/** How many may be made, get the content and leave in all. */
function bounds({ add, update, repair, drain, leave, commands }: RosterSteps) {
  const byCommand = commands.length;
  return {
    add: add + update + repair + byCommand,
    update: update > 0 ? update + add : byCommand,
    repair,
    drain: drain + update + repair + byCommand,
    leave,
  };
}

/** The file has all that is needed now. */
export function coversRoster(planned: RosterSteps, present: PlannedObject): boolean {
  const now = rosterSteps(present);
  if (!now) return false;
  const most = bounds(planned);
  return (
    present.steps.every(({ fingerprint }) => planned.goals.has(fingerprint)) &&
    now.commands.every((command) => planned.commands.includes(command)) &&
    now.add <= most.add &&
    now.update <= most.update &&
    now.drain <= most.drain &&
    now.leave <= most.leave
  );
}

export interface RosterNow {
  /** How many there are to be in the end. */
  readonly replicas: number;
  readonly goal: string;
  readonly command: string | undefined;
  readonly moves: Pick<RosterMoves, 'wanted' | 'leaving'>;
  /** Of those that it adds and updates. */
  readonly added: readonly string[];
  readonly updated: readonly string[];
}

/** Why a change of the roster does not belong to the entry. Undefined: it does. `planned` undefined: there is no entry. */
export function refusedMove(planned: RosterSteps | undefined, now: RosterNow): string | undefined {
  const { moves, added, updated, command } = now;
  const changes = added.length + updated.length + moves.leaving.length;
  if (command !== undefined && planned?.commands.includes(command) !== true) {
    return `the command ${command} is not in the plan file`;
  }
  if (changes === 0) return undefined;
  if (!planned) return 'no change of its replicas is in the plan file';
  if (!planned.goals.has(now.goal)) {
    return `it is to have ${now.replicas} replicas or another content now, and the plan file has other ones`;
  }
  const { update, commands } = planned;
  const most = bounds(planned);
  const surge = update > 0 ? update : 0;
  if (added.length > 0 && (most.add === 0 || moves.wanted > now.replicas + surge)) {
    return `${added.length} more replicas are not in the plan file`;
  }
  if (updated.length > 0 && most.update === 0) return 'no update of its replicas is in the plan file';
  if ([...added, ...updated].some((goal) => !planned.goals.has(goal))) {
    return 'replicas would get a content that is not in the plan file';
  }
  for (const { cause, unmade } of moves.leaving) {
    const isPlanned =
      unmade ||
      (cause === 'scale' && most.drain > 0) ||
      (cause === 'rollout' && update > 0) ||
      (cause === 'repair' && most.repair > 0) ||
      (cause === 'retire' && commands.length > 0) ||
      (cause === 'left' && planned.leave > 0);
    if (!isPlanned) return `a replica would leave (${cause}), which is not in the plan file`;
  }
  return undefined;
}
