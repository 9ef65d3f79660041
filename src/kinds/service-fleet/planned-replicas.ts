/** What becomes of each replica, in a plan. Pure. */
import type { Arrange, OwnedChange } from '../../engine/plan/index.ts';
import { inPhase } from './inputs.ts';
import type { FleetLook } from './look.ts';
import { childName } from './roster.ts';
import type { FleetState } from './state.ts';

/** Those that are added or leave at once, and in a rollout all that differ. Removals that wait for their pace are not chosen yet. */
export function plannedReplicas(look: FleetLook, plan: Arrange): OwnedChange[] {
  const before = new Map(look.state.roster.map((entry) => [entry.slot, entry]));
  const { roster = [] }: FleetState = plan.state;
  const moved = roster.flatMap(({ slot, phase }): OwnedChange[] => {
    const known = before.get(slot);
    const name = childName(look.name, slot);
    if (!known) return [{ name, action: 'create' }];
    const action = plan.change === 'leave' ? 'leave' : 'delete';
    return known.phase === 'wanted' && phase !== 'wanted' ? [{ name, action }] : [];
  });
  if (plan.change !== 'update') return moved;
  // The revision that they are to have may be made by this plan.
  const { mode } = look.object.spec.update;
  const differing = inPhase(look.replicas, 'wanted').flatMap((replica): OwnedChange[] => {
    const { entry, isAsDocument, isMisplaced } = replica;
    if (isAsDocument && !isMisplaced) return [];
    const isReplaced = isMisplaced || mode === 'Replace';
    return [{ name: childName(look.name, entry.slot), action: isReplaced ? 'replace' : 'update' }];
  });
  return [...moved, ...differing];
}
