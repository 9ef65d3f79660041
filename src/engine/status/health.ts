/** Common to the statuses of all kinds: whether a thing is usable, and its own fields. */
import { clampedMicros, providerText, type Observation } from '../plan/index.ts';
import type { Reason } from '../../reasons/index.ts';
import type { Health } from './conditions.ts';

/** By the rule of burn (engine/plan/money.ts): the current cost, not the cost if it ran. */
export function shownMicros(burn: bigint | undefined): number | undefined {
  return burn === undefined ? undefined : clampedMicros(burn);
}

export function notReady(reason: Reason, message: string): Health {
  return { ready: 'False', reason, message };
}

export function present(values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(values)
      .filter(([, value]) => value !== undefined && value !== null)
      .map(([name, value]) => [name, typeof value === 'string' ? providerText(value) : value]),
  );
}

export const available: Health = { ready: 'True', reason: 'Available', message: '' };

export function absent(
  noun: string,
  observation: Exclude<Observation<unknown>, { kind: 'present' }>,
): Health {
  return observation.kind === 'pending'
    ? { ready: 'False', reason: 'AwaitingObservation', message: observation.message }
    : { ready: 'False', reason: 'NotThere', message: `the ${noun} does not exist` };
}
