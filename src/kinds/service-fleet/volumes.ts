/**
 * Volumes of replicas (`storage.perReplica`). Pure. Each slot has a StorageVolume `FLEET-data-SLOT`. It belongs to the number, and
 * not to the replica: it stays when the replica is replaced, and is attached to the next one with that number.
 *
 *     (none) ── a replica is added in the slot ──> in use <──> kept: no replica has the number
 *                                                    │           │
 *       a scale-in or `retire` ended, `retire: Delete` └──> retired <┘  the fleet is deleted
 *                                                          └── its service is gone ──> no object any more, and deleted
 *
 * A repair or a rollout never retires a volume, and neither does a move. What was written down as retired stays so.
 *
 * | case | |
 * |---|---|
 * | another size is asked for | the volume of a replica grows when the replica gets that revision; it never shrinks |
 * | a revision is taken back | a volume that has not grown yet stays as it is |
 * | no candidate is where the volume is | the replica stays where it is, or its number waits (`PlacementBound`) |
 * | the account has 50 volumes | the creation waits, and its replica with it. The fleet names the volume (`LimitReached`) |
 * | a replica leaves before its volume was made | the volume is not made any more |
 * | a volume was deleted at the provider | a kept one is forgotten. A replica that lacks its own is repaired, and another one gets a new volume |
 * | a document has the name of a volume | the document wins. A replica keeps that volume, and the number is not used again |
 * | `perReplica` leaves the document | replicas are replaced by such without volume. The volumes are kept |
 * | state lost | volumes are found by their marks, as replicas are (found.ts) |
 */
import { isFormOfName, isSameRegion } from '../../engine/plan/index.ts';
import type { OwnerRevision } from '../../state/index.ts';
import { revisionOf, volumeSizeOf } from './revisions.ts';
import type { ServiceFleetSpec } from './schema.ts';
import type { FleetState, ReplicaPlace, RosterEntry, VolumeEntry } from './state.ts';

/** What is known of the StorageVolume of a slot. */
export interface VolumeFacts {
  /** Something of it is, or may be, at the provider. */
  readonly isMade: boolean;
  /** In GB. Undefined: nothing shows it, or a change of it is under way. */
  readonly shownGb: number | undefined;
  /** Where the API shows it. */
  readonly geography: string | undefined;
  /** Why it is not as it is to be. */
  readonly pending: string | undefined;
}

export interface FleetVolumes {
  /** By slot. */
  readonly facts: ReadonlyMap<number, VolumeFacts>;
  /** Slots whose volume is that of a document, with the place of each. */
  readonly taken: ReadonlyMap<number, string>;
  /** Slots whose volume is still being deleted. */
  readonly leaving: ReadonlySet<number>;
}

interface Known {
  readonly state: FleetState;
  readonly volumes: FleetVolumes;
  readonly object: { readonly spec: ServiceFleetSpec };
}

export function volumeName(fleet: string, slot: number): string {
  return `${fleet}-data-${slot}`;
}

/** As the roster with these revisions requires them. */
export function volumesAfter(
  { state, volumes: { facts, taken }, object }: Known,
  roster: readonly RosterEntry[],
  revisions: readonly OwnerRevision[],
): VolumeEntry[] {
  const bySlot = new Map(
    (state.volumes ?? []).map((volume) => {
      const sizeGb = Math.max(volume.sizeGb, facts.get(volume.slot)?.shownGb ?? 0);
      return [volume.slot, { ...volume, sizeGb }];
    }),
  );
  for (const { slot, phase, place, revision } of roster) {
    if (!place.volume || phase !== 'wanted' || taken.has(slot)) continue;
    const asked = volumeSizeOf(revisionOf(revisions, revision));
    const known = bySlot.get(slot);
    const { isMade = false, shownGb } = facts.get(slot) ?? {};
    const sizeGb = known
      ? Math.max(asked ?? 0, shownGb ?? known.sizeGb)
      : (asked ?? object.spec.storage?.perReplica?.sizeGb ?? 0);
    bySlot.set(slot, {
      ...(known && isMade ? { ...known, region: place.region } : newIn(slot, place)),
      sizeGb,
    });
  }
  return [...bySlot.values()].toSorted((one, other) => one.slot - other.slot);
}

function newIn(slot: number, { account, region, geography }: ReplicaPlace): Omit<VolumeEntry, 'sizeGb'> {
  return { slot, account, region, ...(geography === undefined ? {} : { geography }) };
}

/** Some volume shows more than was asked for: it was made larger elsewhere, and can't be made smaller. */
export function hasGrownElsewhere({ state, volumes: { facts } }: Known): boolean {
  return (state.volumes ?? []).some(({ slot, sizeGb }) => (facts.get(slot)?.shownGb ?? 0) > sizeGb);
}

/** Whether a replica in the slot can be there. Without a volume, or with one that is not made yet, it can be anywhere. */
export function mayBeAt(
  { state, volumes: { facts } }: Omit<Known, 'object'>,
  slot: number,
  { account, region, geography, volume }: ReplicaPlace,
): boolean {
  const known = state.volumes?.find((each) => each.slot === slot);
  const { isMade, geography: shown } = facts.get(slot) ?? {};
  if (!volume || !known || !isMade) return true;
  const there = shown ?? known.geography ?? anywhere;
  const isAny = [geography ?? anywhere, there].includes(anywhere);
  return (
    account === known.account &&
    isSameRegion(region, known.region) &&
    (isAny || isFormOfName(geography, there))
  );
}

const anywhere = 'auto';

/** No candidate is where the volume of the slot is. */
export function isBound(
  known: Omit<Known, 'object'>,
  slot: number,
  places: readonly ReplicaPlace[],
): boolean {
  return places.length > 0 && places.every((place) => !mayBeAt(known, slot, place));
}

/** Its volume would have to grow in place, and nobody may pause it for that. */
export function isGrowthForbidden(
  { object, volumes: { facts } }: Known,
  { slot, place }: RosterEntry,
  target: OwnerRevision | undefined,
): boolean {
  const { shownGb } = facts.get(slot) ?? {};
  const asked = volumeSizeOf(target);
  const { storage, update } = object.spec;
  const isNeeded = asked !== undefined && shownGb !== undefined && asked > shownGb;
  const isInPlace = place.volume === true && update.mode !== 'Replace';
  return isNeeded && isInPlace && storage?.perReplica?.expansion === 'Never';
}

const finalCauses: ReadonlySet<RosterEntry['cause']> = new Set(['scale', 'retire'] as const);

/** Those of replicas that leave for good, once these retire. One that was never made is not made any more, whatever the cause. */
export function retiredWith(
  { state, object, volumes: { facts } }: Known,
  leaving: readonly RosterEntry[],
): Pick<FleetState, 'volumes'> {
  const isDeleted = object.spec.storage?.perReplica?.retire === 'Delete';
  const isRetired = ({ slot, cause }: RosterEntry) =>
    facts.get(slot)?.isMade ? isDeleted && finalCauses.has(cause) : true;
  const slots = new Set(leaving.filter(isRetired).map(({ slot }) => slot));
  if (!state.volumes) return {};
  return { volumes: state.volumes.map((volume) => (slots.has(volume.slot) ? retire(volume) : volume)) };
}

function retire(volume: VolumeEntry): VolumeEntry {
  return { ...volume, retired: true };
}

/** With the fleet, all volumes that no replica has go, too. Undefined: nothing changes. */
export function retiredWithFleet({
  state,
  object,
}: Pick<Known, 'state' | 'object'>): VolumeEntry[] | undefined {
  const { storage, deletionPolicy } = object.spec;
  const used = new Set(state.roster?.map(({ slot }) => slot));
  const left = (state.volumes ?? []).filter(({ slot, retired }) => !used.has(slot) && !retired);
  const isDeleted = storage?.perReplica?.retire === 'Delete' && deletionPolicy === 'Delete';
  if (!isDeleted || left.length === 0) return undefined;
  return state.volumes?.map((volume) => (left.includes(volume) ? retire(volume) : volume));
}

/** Without those that end now: retired ones whose replica is gone, ones that documents have, and kept ones that were deleted elsewhere. */
export function remaining(
  { state, volumes: { facts, taken } }: Known,
  roster: readonly RosterEntry[],
): readonly VolumeEntry[] {
  const used = new Set(roster.map(({ slot }) => slot));
  return (state.volumes ?? []).filter(({ slot, retired }) => {
    const isOver = retired === true || facts.get(slot)?.pending === 'DataLost';
    return !taken.has(slot) && (used.has(slot) || !isOver);
  });
}
