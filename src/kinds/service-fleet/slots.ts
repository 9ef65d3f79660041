/** Numbers for replicas that are added. */
import type { FleetInputs } from './inputs.ts';
import { freeSlots } from './roster.ts';

/** The lowest ones whose names nothing else has, and of whose last objects nothing is left. */
export function nextSlots(
  {
    state,
    taken,
    leaving,
    volumes,
    object,
  }: Pick<FleetInputs, 'state' | 'taken' | 'leaving' | 'volumes' | 'object'>,
  count: number,
): number[] {
  const ofVolumes = object.spec.storage?.perReplica ? [...volumes.taken.keys(), ...volumes.leaving] : [];
  return freeSlots(state.roster, new Set([...taken.keys(), ...leaving, ...ofVolumes]), count);
}
