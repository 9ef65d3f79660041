/** What the domain works with: made once by main.ts, passed to everything that decides. */
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import type { Activities } from './activities.ts';
import type { Capacity } from './capacity.ts';
import type { ControlPlaneConfig } from './config.ts';
import type { EventLog } from './events.ts';
import type { Ledger } from './ledger.ts';
import type { PlatformClock } from './platform-clock.ts';
import type { Operation, OperationKind } from '../store/records.ts';
import type { Quotas } from './quotas.ts';
import type { Registries } from './registries.ts';
import type { Runtime } from './runtime.ts';
import type { Store } from '../store/store.ts';

export interface Platform {
  readonly config: ControlPlaneConfig;
  readonly store: Store;
  readonly ledger: Ledger;
  readonly capacity: Capacity;
  readonly quotas: Quotas;
  readonly activities: Activities;
  readonly events: EventLog;
  readonly registries: Registries;
  readonly runtime: Runtime;
  /** Lifecycle, idleness and charges. */
  readonly time: PlatformClock;
  /** Everything that a client can compare with its own clock. */
  readonly clock: Clock;
  readonly random: Random;
}

export function newOperation<Kind extends OperationKind>(platform: Platform, kind: Kind): Operation<Kind> {
  return { id: platform.random.uuid(), kind, startedAtMs: platform.time.nowMs() };
}
