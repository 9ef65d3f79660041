/**
 * The number of replicas that a plan shows: without those that are there for a while only, and with those whose place another one takes. Pure.
 *
 * | replicas                                               | count  |
 * |--------------------------------------------------------|--------|
 * | wanted                                                 | yes    |
 * | wanted, and added by a rollout or a move back          | no     |
 * | leave, and another one takes the place: a rollout, a repair, a move, a command | yes, up to the wanted number |
 * | leave because fewer are wanted                         | no     |
 */
import type { Difference } from '../../engine/plan/index.ts';
import { activePhases } from './failure.ts';
import { countDifference, inPhase, type FleetInputs } from './inputs.ts';
import { hasProbe } from './move-back.ts';

type Known = Pick<FleetInputs, 'replicas' | 'wanted' | 'state' | 'addedBefore'>;

/** So many of the wanted ones leave again with the rollout, or the move, that has added them. */
export function addedForNow({ replicas, wanted, state, addedBefore }: Known): number {
  if (wanted.count === 0) return 0;
  const { rollout } = state;
  const running = inPhase(replicas, 'wanted');
  const newer = running.filter(
    ({ entry }) => entry.revision === rollout?.revision && entry.updated === undefined,
  ).length;
  // A rollback keeps what the rollout before it has added.
  const most = rollout && activePhases.has(rollout.phase) ? newer : running.length;
  const ofRollout = addedBefore ?? Math.min(rollout?.surge ?? 0, most);
  return Math.min(Math.max(ofRollout, hasProbe({ replicas, state }) ? 1 : 0), running.length);
}

export function numberShown(inputs: Known): number {
  const { replicas, wanted } = inputs;
  const running = inPhase(replicas, 'wanted').length;
  if (running >= wanted.count) return Math.max(wanted.count, running - addedForNow(inputs));
  const replacing = replicas.filter(({ entry }) => entry.phase !== 'wanted' && entry.cause !== 'scale');
  return Math.min(wanted.count, running + replacing.length);
}

/** Another number that the document asks for. */
export function countDifferences(inputs: Known): Difference[] {
  const number = numberShown(inputs);
  return number === inputs.wanted.count ? [] : [countDifference(inputs.wanted, number)];
}
