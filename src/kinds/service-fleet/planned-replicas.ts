/** What becomes of each replica, in a plan. Pure. */
import type { Arrange, OwnedChange } from '../../engine/plan/index.ts';
import { inPhase, type FleetInputs } from './inputs.ts';
import { isShownLeaving } from './leaving-shown.ts';
import type { FleetLook } from './look.ts';
import { boundReplicas } from './placement.ts';
import { isShownRepaired } from './repair.ts';
import type { Replica } from './replica.ts';
import { revised } from './revising.ts';
import { hasContent } from './revisions.ts';
import { childName } from './roster.ts';
import { nextSlots } from './slots.ts';
import type { FleetState } from './state.ts';
import { victims } from './victims.ts';
import { isGrowthForbidden } from './volumes.ts';

/** Those that are added at once, all that leave, and in a rollout all that differ, and all that are added or leave with it. */
export function plannedReplicas(look: FleetLook, plan: Arrange): OwnedChange[] {
  const before = new Map(look.state.roster.map((entry) => [entry.slot, entry]));
  const { roster = [] }: FleetState = plan.state;
  const moved = roster.flatMap(({ slot, phase, cause }): OwnedChange[] => {
    const known = before.get(slot);
    const name = childName(look.name, slot);
    if (!known) return [{ name, action: 'create' }];
    const action = plan.change === 'leave' ? 'leave' : cause === 'repair' ? 'replace' : 'delete';
    return known.phase === 'wanted' && phase !== 'wanted' ? [{ name, action }] : [];
  });
  // Of a command, and of a number that waits, no replica is chosen yet.
  const isChosen = roster.some(({ slot, phase }) => before.get(slot)?.phase !== phase);
  if (plan.change === 'scale') {
    const own = isChosen && !plan.handled ? [] : [...removedWith(look, plan), ...addedWith(look, plan)];
    const leaving = look.replicas.filter((replica) => isShownLeaving(plan, replica));
    return [
      ...moved,
      ...own,
      ...repairedWith(look, plan, moved),
      ...leaving.map(({ entry }) => removalOf(look, entry.slot)),
    ];
  }
  if (plan.change !== 'update') return moved;
  const leaving = leavingWith(look, plan);
  const wayOf = waysOf(look, plan);
  const differing = inPhase(look.replicas, 'wanted').flatMap((replica): OwnedChange[] => {
    const name = childName(look.name, replica.entry.slot);
    if (moved.some((other) => other.name === name)) return [];
    const action = leaving.includes(replica) ? 'delete' : wayOf(replica);
    return action ? [{ name, action }] : [];
  });
  return [...moved, ...differing, ...addedWith(look, plan)];
}

/** What becomes of a replica that stays wanted, as a rollout divides them (rollout.ts). */
function waysOf(look: FleetLook, plan: Arrange): (replica: Replica) => 'update' | 'replace' | undefined {
  const { mode } = look.object.spec.update;
  const bound = boundReplicas(look);
  // The revision that they are to have may be made by this plan.
  const next = look.problem ?? revised(look);
  const { target } = 'kind' in next ? look : next;
  return (replica) => {
    const { entry, isMisplaced, rejection } = replica;
    const isMoved = (isMisplaced && !bound.includes(replica)) || rejection !== undefined;
    if (isMoved || isShownRepaired(plan, replica)) return 'replace';
    if (!isToChange(look, replica)) return undefined;
    if (mode === 'Replace') return 'replace';
    return isGrowthForbidden(look, entry, target) ? undefined : 'update';
  };
}

function repairedWith(look: FleetLook, plan: Arrange, moved: readonly OwnedChange[]): OwnedChange[] {
  const repaired = inPhase(look.replicas, 'wanted').filter((replica) => isShownRepaired(plan, replica));
  return repaired.flatMap(({ entry }): OwnedChange[] => {
    const name = childName(look.name, entry.slot);
    return moved.some((other) => other.name === name) ? [] : [{ name, action: 'replace' }];
  });
}

function addedWith(look: FleetLook, plan: Arrange): OwnedChange[] {
  return nextSlots(look, Math.max(0, moreWith(plan))).map((slot) => {
    return { name: childName(look.name, slot), action: 'create' };
  });
}

function removedWith(look: FleetLook, plan: Arrange): OwnedChange[] {
  return leavingWith(look, plan).map(({ entry }) => removalOf(look, entry.slot));
}

function removalOf(look: FleetLook, slot: number): OwnedChange {
  return { name: childName(look.name, slot), action: 'delete' };
}

/** It gets what the document requires later. One that has its turn already shows that itself. */
export function isToChange(
  { update, present }: Pick<FleetInputs, 'update' | 'present'>,
  { content, isAsDocument }: Replica,
): boolean {
  return update && hasContent(update, present) ? content === 'outdated' : !isAsDocument;
}

/** By how much the number of replicas grows with this change; negative: it falls. */
export function moreWith({ differences }: Pick<Arrange, 'differences'>): number {
  const count = differences.find(({ path }) => path === 'replicas');
  return Number(count?.desired ?? 0) - Number(count?.observed ?? 0);
}

/** Of a rollout: the replicas that leave because fewer are wanted. Work in them may make others leave. */
export function leavingWith(
  { replicas }: Pick<FleetInputs, 'replicas'>,
  plan: Pick<Arrange, 'differences'>,
): readonly Replica[] {
  const proven = inPhase(replicas, 'wanted').filter(({ isUnproven }) => !isUnproven);
  return victims(proven).slice(0, Math.max(0, -moreWith(plan)));
}

/**
 * Storage of its own is deleted with a replica that leaves or is replaced, whatever the document asks for now. Of volumes: those that no
 * replica has, or of those that leave.
 */
export function losesData(
  { object, state: before }: Pick<FleetInputs, 'object' | 'state'>,
  owned: readonly OwnedChange[],
  { state }: Pick<Arrange, 'state'>,
): boolean {
  const { volumes = [] }: FleetState = state;
  const earlier = new Set(before.volumes?.flatMap(({ slot, retired }) => (retired ? [slot] : [])));
  const isRetired = volumes.some(({ slot, retired }) => retired && !earlier.has(slot));
  const own = new Set(
    before.roster.flatMap(({ slot, place }) =>
      place.volumeGb === undefined ? [] : [childName(object.name, slot)],
    ),
  );
  const retires = object.spec.storage?.perReplica?.retire === 'Delete';
  const loses = ({ name, action }: OwnedChange) =>
    action === 'delete' ? retires || own.has(name) : action === 'replace' && own.has(name);
  return isRetired || owned.some(loses);
}
