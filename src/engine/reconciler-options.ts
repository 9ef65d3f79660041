/** What the reconciler is made of. */
import type { Clock, Random } from '../base/index.ts';
import type { Measurements, Readiness } from '../observed/index.ts';
import type { ObjectKey } from '../resources/index.ts';
import type { StateStore } from '../state/index.ts';
import type { Logger, Metrics } from '../telemetry/index.ts';
import type { Accounts } from './accounts.ts';
import type { ExchangeOptions } from './admission/exchanges.ts';
import type { ActivityRegistrations } from './activity-registrations.ts';
import type { Fleet } from './fleet/fleet.ts';
import type { Kinds } from './kind.ts';
import type { Money } from './money/money.ts';
import type { CapacityMemory } from './outcomes/capacity-memory.ts';
import type { Owner } from './plan/index.ts';
import type { Notices } from './problems/notices.ts';
import type { StepGuard } from './step-guard.ts';
import type { StepPolicy } from './step-policy.ts';

export interface ReconcilerOptions extends Pick<ExchangeOptions, 'isSelected'> {
  readonly store: StateStore;
  readonly owner: Owner;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly accounts: Accounts;
  readonly fleet: Fleet;
  readonly money: Money;
  readonly capacity: CapacityMemory;
  readonly kinds: Kinds;
  readonly readiness: Readiness<ObjectKey>;
  readonly measurements: Measurements<ObjectKey>;
  readonly notices: Notices;
  readonly registrations: ActivityRegistrations;
  /** In a cluster: makes the resources of what an object owns as its roster requires, once that is durable. */
  readonly ownedResources?: { sync(owner: ObjectKey): Promise<void> } | undefined;
  /** The rules of `--policy`. A preview is judged by whoever asks for it. */
  readonly policy?: StepPolicy | undefined;
  /** Only what it lets pass is done. Undefined: everything that is planned. */
  readonly guard?: StepGuard | undefined;
  /** After an unknown outcome: how long the request may still take effect. */
  readonly settleMs: number;
  /** No further requests are sent. */
  readonly stopping: () => boolean;
  /** `preview`: plan only. No change is sent. */
  readonly mode: 'manage' | 'preview';
  /** Of a preview: what follows the first step is planned, too. */
  readonly foresees: boolean;
  readonly isOneShot: boolean;
  /** The flags that name this state on the command line, for messages that suggest a command. */
  readonly commandFlags?: string | undefined;
}
