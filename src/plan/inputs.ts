/** What planners of all kinds are given. */
import type { wire } from '../api/index.ts';
import type { Sensitive } from '../base/index.ts';
import type { ReasonOf } from '../reasons/index.ts';
import type {
  ContainerServiceSpec,
  ImageRegistrySpec,
  ServiceTemplateSpec,
  StorageVolumeSpec,
  TemplateValues,
} from '../resources/index.ts';
import type { ObjectRecord } from '../state/index.ts';
import type { DriftBrake } from './drift-brake.ts';
import type { Owner } from './ownership.ts';
import type { Gates, Observation, RegistryCredentials } from './types.ts';

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
      readonly reason: ReasonOf<'held'>;
      readonly message: string;
      readonly path: readonly (string | number)[];
    };

/** What a service is given by the template that it refers to. */
export type TemplateView =
  | { readonly kind: 'none' }
  | { readonly kind: 'usable'; readonly values: TemplateValues }
  | { readonly kind: 'not-ready'; readonly message: string }
  | {
      readonly kind: 'problem';
      readonly reason: ReasonOf<'held'>;
      readonly message: string;
      readonly path: readonly (string | number)[];
    };

/** What it took of it: see service-template.ts. */
export type TemplateState =
  | Exclude<TemplateView, { readonly kind: 'usable' }>
  | {
      readonly kind: 'resolved';
      readonly name: string;
      readonly requiredEnvironment: readonly string[];
      /** Fields for which the template gives other values now. */
      readonly outdated: readonly string[];
      /** The template is not there any more: why. */
      readonly missing: string | undefined;
    };

/** The access to the repository of a service's image, as far as an ImageRegistry of the fleet gives it. */
export type RegistryView =
  | { readonly kind: 'none' }
  | { readonly kind: 'usable'; readonly name: string }
  | { readonly kind: 'not-ready'; readonly name: string };

export interface ServiceInputs {
  readonly object: PlannedObject<ContainerServiceSpec>;
  readonly record: ObjectRecord;
  readonly owner: Owner;
  readonly observation: Observation<wire.Service>;
  readonly environment: DesiredEnvironment;
  readonly volume: VolumeView;
  /** What a service created in the place of the one that is there would be attached to. */
  readonly replacementVolume: VolumeView;
  /** What it gives is in the spec of `object` already. */
  readonly template: TemplateState;
  readonly registry: RegistryView;
  /** The volume that is attached to the service, when it is no object of its own. */
  readonly attachedVolume: wire.Volume | undefined;
  readonly volumesInAccount: number;
  /** Deleting the service destroys storage (§3 rule 3). */
  readonly ownsStorage: boolean;
  readonly gates: Gates;
  readonly driftBrake: DriftBrake;
  /** The ProtectedTasks that protect it and are not over, for people; registered or not. */
  readonly declaredTasks: readonly string[];
  /** Undefined until they have been read for this pass. */
  readonly activities: readonly wire.Activity[] | undefined;
  /** Of the account: how many services it has in this fleet, and how many are being restarted by remediation. */
  readonly remediations: { readonly services: number; readonly underWay: number };
  /** Unix milliseconds. */
  readonly nowMs: number;
}

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

export interface TemplateInputs {
  readonly object: PlannedObject<ServiceTemplateSpec>;
  readonly record: ObjectRecord;
  readonly owner: Owner;
  readonly observation: Observation<wire.Template>;
  /** Built-in ones not counted. */
  readonly templatesInAccount: number;
  readonly gates: Gates;
  readonly driftBrake: DriftBrake;
}

/** The credentials of a registry, or why they can't be put together. */
export type DesiredCredentials =
  | { readonly kind: 'unmanaged' }
  | { readonly kind: 'given'; readonly values: RegistryCredentials }
  | { readonly kind: 'problem'; readonly path: readonly (string | number)[]; readonly message: string };

export interface LinkedService {
  readonly id: string;
  readonly name: string | undefined;
  readonly state: string | undefined;
  /** Those that its latest launch captured. */
  readonly credentials: 'Current' | 'Outdated' | 'Unknown';
}

export interface RegistryInputs {
  readonly object: PlannedObject<ImageRegistrySpec>;
  readonly record: ObjectRecord;
  readonly owner: Owner;
  readonly observation: Observation<wire.Registry>;
  readonly credentials: DesiredCredentials;
  readonly linked: readonly LinkedService[];
  readonly registriesInAccount: number;
  readonly gates: Gates;
  readonly driftBrake: DriftBrake;
  /** Unix milliseconds. */
  readonly nowMs: number;
}
