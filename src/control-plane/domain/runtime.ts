/**
 * What runs the containers and holds the storage. The control plane decides and keeps the records; a runtime
 * carries out, and reports back. It is asked only after the decision is durable, and asked again after a
 * restart, so each operation must be safe to begin twice. A report that names an operation which the record
 * no longer has is ignored: the record has moved on.
 */
import type { Logger } from 'pino';
import type { ServiceResources } from '../../api/wire.ts';
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import type { Sensitive } from '../../base/sensitive.ts';
import type { ObservedBounds } from './capacity.ts';
import type { PlatformClock } from './platform-clock.ts';
import type { Quota } from './quotas.ts';
import type { ServiceRecord, VolumeOperationKind, VolumeRecord } from '../store/records.ts';

export interface PullCredentials {
  readonly username: string;
  readonly password: string;
}

/** What a service is launched with: all of it as it was when the launch was decided. */
export interface Launch {
  readonly image: string;
  readonly command: readonly string[] | null;
  readonly environment: Sensitive<Readonly<Record<string, string>>>;
  readonly resources: ServiceResources;
  /** Of the GPU catalog; null without GPUs. */
  readonly gpuModel: string | null;
  readonly httpPort: number | null;
  /** It is ready. */
  readonly volumeId: string | null;
  /** For pulling the image from a private repository; never logged, kept or passed on. */
  readonly credentials: Sensitive<PullCredentials> | null;
}

type Work =
  /** `isResize`: a container runs, and only its resources are to change. It may run on with them, or be replaced. */
  | { readonly kind: 'provision'; readonly launch: Launch; readonly isResize: boolean }
  | { readonly kind: 'stop' | 'sleep' }
  /** With the volume that belongs to the service, if there is one. */
  | { readonly kind: 'remove'; readonly ownedVolumeId: string | null }
  /** With the size that the volume is to have. */
  | { readonly kind: VolumeOperationKind; readonly sizeGb: number };

export interface Place {
  readonly region: string;
  readonly geography: string;
}

export type RuntimeRequest = Work & {
  /** Of the operation: the same when it is begun again. */
  readonly id: string;
  readonly startedAtMs: number;
  readonly accountId: string;
  /** The service or volume. */
  readonly subjectId: string;
  /** Where it is, by the names of the configuration. */
  readonly place: Place;
};

export interface Report {
  readonly subjectId: string;
  readonly operationId: string;
  /** Where a service answers, when it was provisioned or continues after all. */
  readonly endpoint?: string;
  /** Of a `sleep`: the service was in use until now, and continues to run. */
  readonly staysRunning?: true;
  /** Why the operation failed; absent when it succeeded. */
  readonly error?: string;
}

export interface Execution {
  readonly command: readonly string[];
  readonly timeoutSeconds: number;
}

export interface ExecutionResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  /** Whether output was cut off, or the command was ended by its time-out. */
  readonly truncated: boolean;
}

export interface Runtime {
  /**
   * Once, before the first `begin`: the content of the records. What other services left behind is removed. `onEnded`
   * reports containers that should run and do not.
   */
  resume(services: Iterable<ServiceRecord>, volumes: Iterable<VolumeRecord>): void;
  /** Why a service with this image or these variables is not accepted, as `FIELD: sentence`; absent: all are. */
  refusal?(image: string, environmentNames: readonly string[]): string | undefined;
  /** Why a volume can't become larger where it is; absent: every one can. */
  growthRefusal?(volume: VolumeRecord): string | undefined;
  /** Replaces what was begun for the same subject. Reports later, never during the call. */
  begin(request: RuntimeRequest): void;
  /** What the containers of the service have written, oldest first; also when none runs now. */
  logs(service: ServiceRecord): Promise<string>;
  /** Runs a command in the container of a running service. */
  exec(service: ServiceRecord, execution: Execution): Promise<ExecutionResult>;
  /** The use of resources over the last `minutes`, as a JSON object. */
  metrics(service: ServiceRecord, minutes: number): Promise<object>;
  /** What a browser session shows: a page about the service, or what answers at its endpoint; absent where there are none. */
  readonly browser?: 'page' | 'endpoint';
  /** Leaves what runs as it is. */
  close(): void;
}

/**
 * The environment of a runtime, and its listener. If `on...` throws, the report was not accepted, and has to be
 * repeated.
 */
export interface RuntimeHost {
  readonly time: PlatformClock;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Of this control plane, the same after a restart: several of them may share one engine. */
  readonly installation: string;
  onReports(this: void, reports: readonly Report[]): void;
  /** The container of a running service has ended without being asked to. */
  onEnded(this: void, serviceId: string, reason: string): void;
  /** These running services were in use just now. */
  onUsed(this: void, serviceIds: readonly string[]): void;
  /** What there is behind the runtime, where the configuration does not state it. */
  onBounds(this: void, bounds: ObservedBounds): void;
  onFailure(this: void, error: unknown): void;
  /** What an account may have. */
  quotaOf(this: void, accountId: string): Quota;
}

export type RuntimeFactory = (host: RuntimeHost) => Runtime;
