/** What planners of all kinds are given. */
import type { wire } from '../api/index.ts';
import type { Sensitive } from '../base/index.ts';
import type { ContainerServiceSpec, StorageVolumeSpec } from '../resources/index.ts';
import type { ObjectRecord } from '../state/index.ts';
import type { Owner } from './ownership.ts';
import type { Gates, Observation } from './types.ts';

export interface PlannedObject<Spec> {
  readonly name: string;
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: Spec;
  readonly deleting: boolean;
}

/** The desired environment, or why it can't be put together. */
export type DesiredEnvironment =
  | { readonly kind: 'unmanaged' }
  | { readonly kind: 'given'; readonly values: Sensitive<Readonly<Record<string, string>>> }
  | { readonly kind: 'problem'; readonly path: readonly (string | number)[]; readonly message: string };

/** What a service has to know of the volume that it is to be attached to, or is attached to. */
export type VolumeView =
  | { readonly kind: 'none' }
  | { readonly kind: 'usable'; readonly id: string }
  /** It is to grow, or is growing, and may pause its service for that. */
  | {
      readonly kind: 'growing';
      readonly id: string;
      readonly message: string;
      /** It waits for its service to be paused; otherwise it is growing already. */
      readonly needsPause: boolean;
      readonly failed: boolean;
    }
  | { readonly kind: 'not-ready'; readonly id: string | undefined; readonly message: string }
  | {
      readonly kind: 'problem';
      readonly reason: string;
      readonly message: string;
      readonly path: readonly (string | number)[];
    };

export interface ServiceInputs {
  readonly object: PlannedObject<ContainerServiceSpec>;
  readonly record: ObjectRecord;
  readonly owner: Owner;
  readonly observation: Observation<wire.Service>;
  readonly environment: DesiredEnvironment;
  readonly volume: VolumeView;
  /** Deleting the service destroys storage (§3 rule 3). */
  readonly ownsStorage: boolean;
  readonly gates: Gates;
  /** Undefined until they have been read for this pass. */
  readonly activities: readonly wire.Activity[] | undefined;
}

/** The service to which a volume is attached, as far as this fleet knows it. */
export type AttachedService =
  | { readonly kind: 'none' }
  | { readonly kind: 'ours'; readonly name: string; readonly state: string | undefined }
  | { readonly kind: 'foreign'; readonly id: string; readonly state: string | undefined };

export interface VolumeInputs {
  readonly object: PlannedObject<StorageVolumeSpec>;
  readonly record: ObjectRecord;
  readonly owner: Owner;
  readonly observation: Observation<wire.Volume>;
  readonly attachedTo: AttachedService;
  readonly volumesInAccount: number;
  readonly gates: Gates;
}
