/**
 * What is kept about accounts, services and volumes. Records are immutable: a change is a new record, so that
 * a rolled-back transaction needs only the old reference. Two kinds of time occur: `...AtMs` of operations,
 * idleness and charging are on the platform's clock (platform-clock.ts); `createdAtMs` is real wall time.
 *
 * Environment values and registry secrets are not part of any record. They are in tables of their own.
 */
import type { ServiceResources, TemplateSpec } from '../../api/wire.ts';

type ServiceState = 'provisioning' | 'running' | 'sleeping' | 'paused' | 'error' | 'deleting';
type VolumeStatus = 'provisioning' | 'ready' | 'expanding' | 'deleting' | 'error';
export type VolumeMode = 'independent' | 'service';

export type ServiceOperationKind = 'provision' | 'stop' | 'sleep' | 'remove';
export type VolumeOperationKind = 'volume-provision' | 'volume-expand' | 'volume-delete';
export type OperationKind = ServiceOperationKind | VolumeOperationKind;

/** Work that the runtime has been asked for and has not reported back. */
export interface Operation<Kind extends OperationKind> {
  readonly id: string;
  readonly kind: Kind;
  readonly startedAtMs: number;
  /** Of a `provision`: the container runs, and only its resources are to change. */
  readonly isResize?: true;
  /** Of a `sleep`: the record was patched meanwhile, so the container is not as it should be. */
  readonly isPatched?: true;
}

export interface AccountRecord {
  readonly id: string;
  /** The account itself, so that all records are scoped alike. */
  readonly accountId: string;
  readonly name: string;
  readonly email: string;
  readonly emailVerified: boolean;
  /** The sum of the ledger. What has accrued since `accruedAtMs` is not in it yet. */
  readonly balanceMicros: number;
  readonly ledgerCount: number;
  /** What everything that is charged now costs per hour. */
  readonly hourlyMicros: number;
  readonly accruedMicros: number;
  /** The fraction of a micro-USD beyond `accruedMicros`, in 1/3,600,000. */
  readonly accruedRemainder: number;
  readonly accruedAtMs: number;
}

/** Which credentials an image is pulled with: those that the registry had at that revision. */
export interface RegistryAccess {
  readonly registryId: string;
  readonly revision: number;
}

export interface ServiceRecord {
  readonly id: string;
  readonly accountId: string;
  readonly name: string;
  readonly region: string;
  readonly geography: string;
  readonly image: string;
  readonly command: readonly string[] | null;
  readonly resources: ServiceResources;
  readonly httpPort: number | null;
  readonly environmentNames: readonly string[];
  readonly sleepAfterMinutes: number | null;
  readonly volumeId: string | null;
  readonly gpuModel: string | null;
  /** Captured by the latest launch (§4 rule 5); null when no registry matched. */
  readonly registryAccess: RegistryAccess | null;
  readonly state: ServiceState;
  /**
   * While `provisioning`: it ran before, or may have, and the former container runs until the image of the next one is there. While `deleting`: it
   * has compute until it is gone.
   */
  readonly runsMeanwhile?: boolean;
  readonly revision: number;
  readonly endpoint: string | null;
  /** The price of the compute while it is allocated. */
  readonly hourlyMicros: number;
  readonly error: string | null;
  readonly operation: Operation<ServiceOperationKind> | null;
  readonly idleSinceMs: number;
  readonly createdAtMs: number;
}

export interface VolumeRecord {
  readonly id: string;
  readonly accountId: string;
  readonly name: string;
  readonly mode: VolumeMode;
  readonly serviceId: string | null;
  readonly region: string;
  readonly geography: string;
  readonly status: VolumeStatus;
  readonly revision: number;
  readonly sizeGb: number;
  readonly requestedSizeGb: number;
  readonly provisioned: boolean;
  readonly hourlyMicros: number;
  readonly error: string | null;
  readonly operation: Operation<VolumeOperationKind> | null;
  readonly createdAtMs: number;
}

/** A specification with its defaults filled in. */
export type TemplateFields = {
  readonly [Field in keyof TemplateSpec]-?: Exclude<TemplateSpec[Field], undefined>;
};

export interface TemplateRecord extends TemplateFields {
  readonly id: string;
  /** Empty for a built-in template. */
  readonly accountId: string;
  readonly revision: number;
  /** Null for a built-in template. */
  readonly createdAtMs: number | null;
}

export interface RegistryRecord {
  readonly id: string;
  readonly accountId: string;
  /** Normalised: `ghcr.io/acme/trainer`. */
  readonly repository: string;
  /** Advances with each rotation, and so names the credentials too. */
  readonly revision: number;
  readonly createdAtMs: number;
  readonly rotatedAtMs: number | null;
}

/** Compute is held from the moment it is asked for until it is given back. */
export function holdsCompute({ state }: ServiceRecord): boolean {
  return state === 'provisioning' || state === 'running' || state === 'error';
}

/** What counts for quotas and capacity: a container that is being deleted may live until the end of its grace. */
export function takesCompute(service: ServiceRecord): boolean {
  return holdsCompute(service) || (service.state === 'deleting' && service.runsMeanwhile === true);
}

/** Whether two versions of a service take the same compute in the same place; false, too, where it was stated anew. */
export function takesTheSame(before: ServiceRecord, after: ServiceRecord): boolean {
  if (!takesCompute(before) && !takesCompute(after)) return true;
  return (
    takesCompute(before) === takesCompute(after) &&
    before.resources === after.resources &&
    before.region === after.region &&
    before.geography === after.geography &&
    before.gpuModel === after.gpuModel
  );
}

/** On its way to `paused` or `sleeping`. */
export function isStopping(service: ServiceRecord): boolean {
  return service.operation?.kind === 'stop' || service.operation?.kind === 'sleep';
}

/** The state as text, with what is under way. */
export function stateText(service: ServiceRecord): string {
  if (service.operation?.kind === 'stop') return `${service.state} and stopping`;
  if (service.operation?.kind === 'sleep') return `${service.state} and falling asleep`;
  return service.state;
}

/**
 * What a service costs per hour now: its compute, from the moment it runs until it is given back. A launch that replaces
 * what runs does not interrupt that: who launches again and again, or an image that never comes, pays.
 */
export function serviceCharge(service: ServiceRecord | undefined): number {
  if (!service) return 0;
  const { state, runsMeanwhile = false, hourlyMicros } = service;
  const isRunning = state === 'running' || state === 'error' || (state === 'provisioning' && runsMeanwhile);
  return isRunning ? hourlyMicros : 0;
}

/** What a volume costs per hour now: its storage, from the moment it exists until its deletion is accepted. */
export function volumeCharge(volume: VolumeRecord | undefined): number {
  return volume?.provisioned && volume.status !== 'deleting' ? volume.hourlyMicros : 0;
}
