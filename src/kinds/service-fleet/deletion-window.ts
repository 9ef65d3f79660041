/**
 * A draining replica whose grace is over, and that may not be interrupted now: its deletion would wait, and what retires is not taken
 * back. So it drains on until it may be deleted. It can be taken back until then.
 *
 * | the replica                                    | drains until                       |
 * |------------------------------------------------|------------------------------------|
 * | does not serve                                 | its grace is over                  |
 * | may serve, with `disruption: Never`            | the template allows it             |
 * | may serve, and no disruption window is open    | one opens, or in a rollback its grace is over |
 */
import { rfc3339 } from '../../base/index.ts';
import { holdFor, type Hold } from '../../engine/plan/index.ts';
import { windowState } from '../../resources/index.ts';
import { inPhase, slotsText, type FleetInputs } from './inputs.ts';
import type { Replica } from './replica.ts';

export function mayRetire(inputs: FleetInputs, { mayServe }: Replica): boolean {
  const { isWindowClosed, state } = inputs;
  if (!mayServe) return true;
  if (isForbidden(inputs)) return false;
  return !isWindowClosed || state.rollout?.phase === 'RollingBack';
}

/** Unix milliseconds at which the next window opens. Undefined: nothing waits for one, or none opens any more. */
export function retiresAt(inputs: FleetInputs): number | undefined {
  if (held(inputs).length === 0) return undefined;
  const window = windowState(inputs.object.spec.template.spec.disruptionWindows, inputs.nowMs);
  return window.open || !Number.isFinite(window.opensAt) ? undefined : window.opensAt;
}

/** What draining replicas wait for, for messages. Empty: nothing of this. */
export function heldText(inputs: FleetInputs): string[] {
  const waiting = held(inputs);
  if (waiting.length === 0) return [];
  const slots = `not to be interrupted: ${slotsText(waiting)}`;
  if (isForbidden(inputs)) return [`${slots}, by \`disruption: Never\``];
  const at = retiresAt(inputs);
  return [at === undefined ? `${slots}, and no window opens any more` : `${slots}, until ${rfc3339(at)}`];
}

/** A person has to allow what is left to do. */
export function forbidden(inputs: FleetInputs): Hold | undefined {
  const waiting = held(inputs);
  if (waiting.length === 0 || !isForbidden(inputs)) return undefined;
  return holdFor(
    'DisruptionForbidden',
    `to be removed: ${slotsText(waiting)}, and \`disruption: Never\` forbids it; allow it with \`disruption: WhenUnprotected\``,
    { path: ['spec', 'template', 'spec', 'disruption'] },
  );
}

function isForbidden({ object }: FleetInputs): boolean {
  return object.spec.template.spec.disruption === 'Never';
}

function held(inputs: FleetInputs): Replica[] {
  return inPhase(inputs.replicas, 'draining').filter(
    (replica) => replica.isMade && !mayRetire(inputs, replica),
  );
}
