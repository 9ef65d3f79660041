/** What the planner of a service is given. */
import type { wire } from '../../api/index.ts';
import type {
  DesiredEnvironment,
  DriftBrake,
  Gates,
  Observation,
  Owner,
  PlannedObject,
} from '../../engine/plan/index.ts';
import type { ShedFor } from '../../engine/index.ts';
import type { ReasonOf } from '../../reasons/index.ts';
import type { ContainerServiceSpec, TemplateValues, ServiceState } from '../../resources/index.ts';
import type { ObjectRecord } from '../../state/index.ts';

/** What a service has to know of the volume that it is to be attached to, or is attached to. */
export type VolumeView =
  | { readonly kind: 'none' }
  /** `growthWaits`: why it may not grow now, though it is to. */
  | { readonly kind: 'usable'; readonly id: string; readonly growthWaits?: string }
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

export type TemplateField = 'image' | 'command' | 'resources' | 'httpPort' | 'sleepAfterMinutes';

/** What a service is given by the template that it refers to. */
export type TemplateView =
  | { readonly kind: 'none' }
  | {
      readonly kind: 'usable';
      readonly values: TemplateValues;
      /** In a preview: `values` has them, and will not have them when the plan is done. */
      readonly takenOut?: readonly TemplateField[];
    }
  | {
      readonly kind: 'not-ready';
      readonly message: string;
      /** What it will give, without its resources: they are the API's default. Undefined: nobody knows. */
      readonly values?: TemplateValues;
    }
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
      /** Fields that it takes, in a preview, and which the template gives no more when the plan is done. */
      readonly takenOut?: readonly TemplateField[];
      /** The template is not there any more: why. */
      readonly missing: string | undefined;
    };

/** The access to the repository of a service's image, as far as an ImageRegistry of the fleet gives it. */
export type RegistryView =
  | { readonly kind: 'none' }
  | { readonly kind: 'usable'; readonly name: string }
  | { readonly kind: 'not-ready'; readonly name: string };

/** An order of a budget to stop the service. */
export interface ShedView extends ShedFor {
  /** It was stopped for a budget. */
  readonly wasStopped: boolean;
}

export interface ServiceInputs {
  readonly object: PlannedObject<ContainerServiceSpec>;
  readonly record: ObjectRecord<ServiceState>;
  readonly owner: Owner;
  readonly observation: Observation<wire.Service>;
  readonly environment: DesiredEnvironment;
  /** What the provider may repeat in an error. */
  readonly secretValues: () => readonly string[];
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
  /**
   * A declared task is registered in it, or this process holds an activity in it, and no heartbeat is refused since the read that shows the
   * service. The next heartbeat is sent at once if none was answered since then: to be asked only if something depends on it.
   */
  readonly holdsActivity: () => boolean;
  /** Undefined until they have been read for this pass. */
  readonly activities: readonly wire.Activity[] | undefined;
  /** Of the account: how many services it has in this fleet, and how many are being restarted by remediation. */
  readonly remediations: { readonly services: number; readonly underWay: number };
  /** It is to be stopped for a budget, or is. */
  readonly shed: ShedView | undefined;
  /** What is planned is a stop for a budget: no exception of its protection counts. */
  readonly isShedding?: true;
  /** Unix milliseconds. */
  readonly nowMs: number;
}
