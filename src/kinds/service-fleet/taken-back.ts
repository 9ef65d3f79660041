/** Draining replicas that are wanted again. Those that are best to keep come first, while their candidates take them. */
import { inNewPhase, inPhase, type FleetInputs } from './inputs.ts';
import { isToLeave } from './repair.ts';
import type { Replica } from './replica.ts';
import type { Rollout } from './rollout.ts';
import { victims } from './victims.ts';

/**
 * During a rollout, one that was found again may drain because it is to be replaced, and is compared with nothing while
 * it drains.
 */
export function takenBack(inputs: FleetInputs, rollout: Rollout, most: number): Replica[] {
  const { replicas, state, markets } = inputs;
  const draining = inPhase(replicas, 'draining').filter(
    (replica) =>
      !rollout.isToReplace(replica) &&
      !isToLeave(replica) &&
      (!state.rollout || replica.content !== 'unknown'),
  );
  const counts = new Map<string | undefined, number>();
  for (const { candidate } of inPhase(replicas, 'wanted'))
    counts.set(candidate, (counts.get(candidate) ?? 0) + 1);
  const back: Replica[] = [];
  for (const replica of victims(draining).toReversed()) {
    const { candidate: name } = replica;
    const there = counts.get(name) ?? 0;
    const { maxReplicas } = markets.find(({ candidate }) => candidate.name === name)?.candidate ?? {};
    if (back.length >= most || (maxReplicas !== undefined && there >= maxReplicas)) continue;
    counts.set(name, there + 1);
    back.push(replica);
  }
  return back;
}

/** As after the step that takes them back. */
export function withWanted(inputs: FleetInputs, back: readonly Replica[]): FleetInputs {
  const replicas = inputs.replicas.map((replica) => {
    const [entry] = back.includes(replica) ? inNewPhase([replica], 'wanted', inputs.nowMs) : [];
    return entry ? { ...replica, entry } : replica;
  });
  return { ...inputs, replicas };
}
