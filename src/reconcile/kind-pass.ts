/**
 * What a pass does differently for each kind: which reads it makes, which planner it asks, what it tells. The
 * course of a pass is the same for all (reconciler.ts).
 */
import type { Outcome, wire } from '../api/index.ts';
import type { Clock, Random } from '../base/index.ts';
import type { Target } from '../execute/index.ts';
import type { AccountSnapshot, Readiness } from '../observed/index.ts';
import type {
  Difference,
  DescribedDuplicate,
  InSync,
  Observation,
  Plan,
  Pricing,
  Step,
} from '../plan/index.ts';
import type { ManagedKind, ObjectKey } from '../resources/index.ts';
import type { ObjectRecord, StateStore } from '../state/index.ts';
import type { StatusInputs } from '../status/index.ts';
import type { AccountHandle, Accounts } from './accounts.ts';
import type { DriftWatch } from './drift-watch.ts';
import type { Fleet } from './fleet.ts';
import type { Leases } from './leases.ts';
import type { Money } from './money.ts';

export interface KindOptions {
  readonly store: StateStore;
  readonly accounts: Accounts;
  readonly fleet: Fleet;
  readonly money: Money;
  readonly clock: Clock;
  readonly readiness: Readiness<ObjectKey>;
  readonly leases: Leases;
  readonly random: Random;
  readonly mode: 'manage' | 'preview';
  readonly driftWatch: Pick<DriftWatch, 'brake'>;
}

export interface KindPass {
  readonly kind: ManagedKind;
  record(): ObjectRecord;
  /** The account to work in, or what is wrong with it; neither for an object that needs none. */
  account(): { readonly handle: AccountHandle | undefined; readonly problem: Plan | undefined };
  /** It is wanted no more, and there is nothing at the provider to be looked at for it. */
  released(): boolean;
  /** It is wanted no more, and what it stands for is to stay: that needs no look at the provider. */
  isGivenUp(): boolean;
  /** The object is held, and nothing may be changed: what has to go on all the same; for so many milliseconds, where time ends it. */
  goOn?(account: AccountHandle | undefined): Promise<number | undefined>;
  /** Looks the object up in a snapshot that began after `notBeforeMs`. */
  observe(account: AccountHandle, notBeforeMs: number): Promise<void>;
  observation(): Observation<wire.Service | wire.Volume | wire.Template | wire.Registry>;
  plan(): Plan;
  /** What differs of it in an account read, without a request; of what is at the provider. */
  peek?(account: AccountHandle, snapshot: AccountSnapshot): readonly Difference[];
  /** Reads the object itself, just before it is acted upon; a plan when it could not be read. */
  refresh(account: AccountHandle): Promise<Plan | undefined>;
  readActivities(account: AccountHandle): Promise<Plan | undefined>;
  /** The other objects that have to go before this one can be created anew (exchanges.ts). */
  exchanges?(): readonly ObjectKey[];
  /** What the provider tells of the object's life. */
  events?(account: AccountHandle): Promise<Outcome<readonly wire.ServiceEvent[]>>;
  /** The object is in error for this reason, which the API does not show with it. */
  explain?(reason: string): void;
  /** Nothing but the count of restarts stands in the way of one that remediation has planned. */
  mayRemediate?(): boolean;
  /** Values that must not be repeated, whoever says them. */
  secrets?(): readonly string[];
  /** Ids of what is no object's, and may carry our mark without showing it. */
  unmarked?(snapshot?: AccountSnapshot): readonly string[];
  /** Whether a snapshot shows a thing with this id that does not carry the object's mark. */
  showsOther?(id: string, snapshot: AccountSnapshot): boolean;
  /** Others than what is recorded that carry the object's mark. */
  duplicates?(): readonly DescribedDuplicate[];
  /** Why the thing with this id can't be what a creation of ours made; undefined: it can. */
  claim?(id: string): string | undefined;
  target(): Target;
  /** What is paid before a step of its plan, and after it. */
  pricing?(step: Step): Pricing | undefined;
  /** What a deletion makes room for, which is paid after it. */
  roomFor?(step: Step): Pricing | undefined;
  /** What to remember once the object is as desired, which `plan` says. */
  settledRecord(plan: InSync): Partial<ObjectRecord>;
  told(plan: Plan): Pick<StatusInputs, 'health' | 'observed' | 'revision' | 'reconcileAt' | 'more'>;
}

/** Before anything has been looked at. */
export const notObserved: Observation<never> = { kind: 'pending', message: 'not looked at yet' };

/** For messages about what stands in the way of an object that is to go. */
export function giveUpAdvice({ deletionRequestedAt }: ObjectRecord): string {
  return deletionRequestedAt === undefined
    ? ''
    : '; to let the object go without it, say `deletionPolicy: Retain`';
}
