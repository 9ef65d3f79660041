/**
 * The times in a roster when the wall clock was set back. A time that lies ahead would keep a replica draining, or a pause
 * waiting, for as long as the clock was set back. Such a time becomes the present one: a wait begins anew at most, and activities
 * have to be read again.
 */
import type { Arrange } from '../../engine/plan/index.ts';
import { arrange, type FleetInputs } from './inputs.ts';
import type { RosterEntry } from './state.ts';

export function afterClockSetBack(inputs: FleetInputs): Arrange | undefined {
  const { state, nowMs } = inputs;
  const ahead = state.roster.filter(({ since, updated = 0 }) => since > nowMs || updated > nowMs);
  const isRolloutAhead = state.rollout !== undefined && state.rollout.since > nowMs;
  // Two operators may have clocks that differ by some seconds.
  const isPaceAhead = state.pace !== undefined && state.pace.at > nowMs;
  if (ahead.length === 0 && !isRolloutAhead && !isPaceAhead) return undefined;
  return arrange(
    inputs,
    ahead.map((entry) => begunAnew(entry, nowMs)),
    { reason: 'RollingOut', message: 'the clock was set back: times ahead begin anew', change: undefined },
    {
      ...(isRolloutAhead && state.rollout ? { rollout: { ...state.rollout, since: nowMs } } : {}),
      ...(isPaceAhead && state.pace ? { pace: { ...state.pace, at: nowMs } } : {}),
    },
  );
}

function begunAnew(entry: RosterEntry, nowMs: number): RosterEntry {
  const { since, updated } = entry;
  return {
    ...entry,
    since: Math.min(since, nowMs),
    ...(updated === undefined ? {} : { updated: Math.min(updated, nowMs) }),
  };
}
