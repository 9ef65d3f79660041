/** What the planner of a volume is given. */
import type { wire } from '../../api/index.ts';
import type { DriftBrake, Gates, Observation, Owner, PlannedObject } from '../../engine/plan/index.ts';
import type { StorageVolumeSpec } from '../../resources/index.ts';
import type { ObjectRecord } from '../../state/index.ts';

/** The service to which a volume is attached, as far as this fleet knows it. */
export type AttachedService =
  | { readonly kind: 'none' }
  | {
      readonly kind: 'ours';
      readonly id: string;
      readonly name: string;
      readonly state: string | undefined;
    }
  | { readonly kind: 'foreign'; readonly id: string; readonly state: string | undefined };

export interface VolumeInputs {
  readonly object: PlannedObject<StorageVolumeSpec>;
  readonly record: ObjectRecord;
  readonly owner: Owner;
  readonly observation: Observation<wire.Volume>;
  readonly attachedTo: AttachedService;
  readonly volumesInAccount: number;
  readonly gates: Gates;
  readonly driftBrake: DriftBrake;
}
