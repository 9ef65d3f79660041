/** What a manager is made of. */
import type { EndpointProbe, PrometheusAddress, Transport, TransportLimits } from '../api/index.ts';
import type { Clock, Random } from '../base/index.ts';
import type { DesiredSnapshot, DesiredSource } from '../desired/index.ts';
import type {
  DerivedObjects,
  Grace,
  Jobs,
  ObjectNews,
  PassResult,
  ReconcilerOptions,
  StepGuard,
  StepPolicy,
} from '../engine/index.ts';
import type { ObjectKey } from '../resources/index.ts';
import type { StateStore } from '../state/index.ts';
import type { Logger, Metrics } from '../telemetry/index.ts';
import type { EnvironmentAccount } from './account-keys.ts';
import type { NoticeTerms } from './notices/announcer.ts';

export interface ManagerOptions {
  readonly source: DesiredSource;
  readonly store: StateStore;
  readonly environment: EnvironmentAccount;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** The network to the control API and to the endpoints of services. A simulation provides its own. */
  readonly createTransport?: (clock: Clock, limits?: TransportLimits) => Transport;
  readonly createEndpointProbe?: (clock: Clock) => EndpointProbe;
  /** Where analyses query a Prometheus. Undefined: their queries have no result. */
  readonly analysisPrometheus?: PrometheusAddress | undefined;
  /** How long a request with an unknown outcome may still take effect. */
  readonly settleMs: number;
  /** How long an object must be missing from the source before it counts as removed. */
  readonly grace: Grace;
  /** The operator has confirmed a mass change. */
  readonly allowMassChange: boolean;
  /** The operator has confirmed that what the source lacks is deleted. Undefined: as `allowMassChange`. */
  readonly allowRemovals?: boolean;
  /** The identity that the operator has confirmed, for any account. */
  readonly acceptedIdentity?: string;
  /** Whether this process may send changes now. If undefined, it always may. */
  readonly mayAct?: () => boolean;
  /** Whether it may send heartbeats although it may send no changes. */
  readonly maySendHeartbeats?: () => boolean;
  /** Whether passes are suspended until `resume`. Passes of tasks continue. */
  readonly isSuspended?: () => boolean;
  /** The states of Jobs in the cluster. Undefined in a folder. */
  readonly jobs?: Jobs;
  /** What makes the resources of owned objects. Undefined in a folder. */
  readonly ownedResources?: (derived: DerivedObjects) => NonNullable<ReconcilerOptions['ownedResources']>;
  /**
   * The objects that this process plans and changes, with all that these need (`selection.ts`). The records of all
   * others, and what they stand for, stay as they are. Undefined: all.
   */
  readonly isSelected?: ((key: ObjectKey) => boolean) | undefined;
  /** The rules of `--policy` about what may be sent. */
  readonly policy?: StepPolicy | undefined;
  /** `preview`: plan only. */
  readonly mode: 'manage' | 'preview';
  /** Of a preview: what follows the first step of each object is planned, too, for a plan file or a policy. Default: it is. */
  readonly foresees?: boolean;
  /** Only what it lets pass is done. */
  readonly guard?: StepGuard | undefined;
  /** It ends as soon as all is done; default: it lasts. */
  readonly isOneShot?: boolean;
  /** The flags that name this state on the command line, for messages that suggest a command. */
  readonly commandFlags?: string;
  /** Problems are announced, and counted. Undefined: they are not. */
  readonly notices?: NoticeTerms | undefined;
  readonly onPass?: (key: ObjectKey, result: PassResult, durationMs: number) => void;
  /** It is tried again. */
  readonly onFailedPass?: (key: ObjectKey, error: unknown) => void;
  readonly onAccountNews?: (account: string, news: ObjectNews) => void;
  readonly onSource?: (snapshot: DesiredSnapshot) => void;
}
