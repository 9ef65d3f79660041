/**
 * What is particular to a kind. The course of a pass is the same for all kinds (reconciler.ts, pass.ts): observe, plan, read again, plan
 * again, send, report. `defineKind` makes a kind of these parts:
 *
 * | part                              | what it says                                                                  | pure |
 * |-----------------------------------|-------------------------------------------------------------------------------|------|
 * | `remote`                          | how the things of the kind are listed, read and recognized; absent if there are none | yes, but for `read` |
 * | `look`                            | everything that the planner may see, as one value                             | no   |
 * | `plan`                            | what is to be done next                                                       | yes  |
 * | `target`, `settled`               | what the record is to remember of a request, and of an object in sync         | yes  |
 * | `pricing`, `roomFor`              | what a step costs                                                             | yes  |
 * | `status`                          | what the status shows of the thing                                            | yes  |
 * | `account`, `released`, `observe`, `whileHeld` | what a kind without a thing at the provider does otherwise        | no   |
 *
 * A look is made from a view: the object, its record and what has been seen of it at this moment. A pass makes at most three looks for a
 * mutation: from the account read, from fresh reads, and before the request leaves. Everything else is a function of a look.
 */
import type { ActionName } from '../actions/index.ts';
import type { ControlApi, Outcome, ProbeResult, wire } from '../api/index.ts';
import type { Clock, Random } from '../base/index.ts';
import type { Target } from './mutation/index.ts';
import type { AccountSnapshot, Listing, Readiness, ReadinessTarget } from '../observed/index.ts';
import type {
  DriftBrake,
  Gates,
  InSync,
  Observation,
  Placement,
  Plan,
  PlannedObject,
  Pricing,
  Step,
} from './plan/index.ts';
import type { CommonSpec, ManagedKind, ObjectKey } from '../resources/index.ts';
import type { ObjectRecord, StateStore } from '../state/index.ts';
import type { StatusInputs } from './status/index.ts';
import type { AccountHandle, Accounts } from './accounts.ts';
import type { Fleet } from './fleet/fleet.ts';
import type { HeldThings } from './held.ts';
import type { ActivityRegistrations } from './activity-registrations.ts';
import type { Marks } from './fleet/marks.ts';
import type { Money } from './money/money.ts';
import type { Observed } from './observation/observe.ts';

export type AnyRemote = wire.Service | wire.Volume | wire.Template | wire.Registry;

/** What all passes of a process share. */
export interface KindOptions {
  readonly store: StateStore;
  readonly accounts: Accounts;
  readonly fleet: Fleet;
  readonly money: Money;
  readonly clock: Clock;
  readonly readiness: Readiness<ObjectKey>;
  readonly registrations: ActivityRegistrations;
  readonly random: Random;
  readonly mode: 'manage' | 'preview';
}

/** What a pass has seen so far. */
export interface Seen<Remote, Local> {
  readonly observation: Observation<Remote>;
  readonly account: AccountHandle | undefined;
  readonly snapshot: AccountSnapshot | undefined;
  /** Read where something is to be created that the catalog has to offer. */
  readonly catalog: wire.Catalog | undefined;
  /** Read before a disruptive step. */
  readonly activities: readonly wire.Activity[] | undefined;
  /** What `observe` of a kind without a thing at the provider came to. */
  readonly local: Local | undefined;
}

/** What a kind is given of an object in its pass, as it is at this moment. */
export interface View<Spec, Remote, Local> extends KindOptions {
  readonly key: ObjectKey;
  readonly record: ObjectRecord;
  readonly object: PlannedObject<Spec>;
  readonly seen: Seen<Remote, Local>;
  /** The record as it is by now, when something has been saved since. */
  readonly latest: () => ObjectRecord;
  /** `placement`: what the catalog has to offer for a creation. What a step costs is asked of the kind's `pricing`. */
  gates(placement?: Placement): Gates;
  /** `key`: of another object than this one, that is observed for its sake. */
  driftBrake(key?: ObjectKey): DriftBrake;
}

export type Subject<Spec> = Pick<View<Spec, unknown, unknown>, 'record' | 'object' | 'fleet'>;

/** The things that a kind stands for. */
export interface RemoteThings<Spec, Remote extends { readonly id: string }, Look> {
  /** Those of an account read, and whether they were read at all. */
  listing(snapshot: AccountSnapshot): Listing<Remote>;
  read(api: ControlApi, id: string): Promise<Outcome<Remote>>;
  readonly marks: Marks<Remote>;
  /** The action that makes one. */
  readonly creation: { readonly name: ActionName };
  readonly held: HeldThings<Remote>;
  /** Of those that are shown, the ones that may be an object's; all, unless it says otherwise. */
  candidates?(
    items: ReadonlyMap<string, Remote>,
    account: AccountHandle | undefined,
  ): ReadonlyMap<string, Remote>;
  /** For things that carry no marks. `madeId`: an operator says that this is what was made for the object. */
  identify?(
    view: View<Spec, Remote, unknown>,
    items: ReadonlyMap<string, Remote>,
    madeId: string | undefined,
  ): Observed<Remote>;
  /** Whether an entry that can't be identified, or used, could be what a creation for the object made. */
  couldBe(entry: Remote | wire.Unidentified<Remote>, subject: Subject<Spec>): boolean;
  /** Whether it may carry the object's mark without showing it. */
  hidesMarks(value: Remote, subject: Subject<Spec>): boolean;
  /** Why it can't be what a creation for the object made, whatever an operator says; undefined: it can. */
  refutes?(value: Remote, subject: Subject<Spec>): string | undefined;
  /** What to remember, beside its id, when a thing is found for the object. */
  found?(look: Look, byMark: boolean): Partial<ObjectRecord>;
  /** What exists may be deleted, to be created anew. */
  replaces?(spec: Spec): boolean;
  /** The catalog has to offer what a creation asks for. */
  readonly needsCatalog?: true;
  /** Before a disruptive step, who is at work in it is read. */
  activities?(api: ControlApi, id: string): Promise<Outcome<readonly wire.Activity[]>>;
  /** What the provider reports of its life. */
  events?(api: ControlApi, id: string): Promise<Outcome<readonly wire.ServiceEvent[]>>;
}

/** What a kind adds to the target of a request (engine/mutation/executor.ts). */
export interface KindTarget<Remote> extends Pick<Target, 'digests'> {
  readonly restartToken?: string | undefined;
  /** Of the record that is written down with it. */
  readonly record?: Partial<ObjectRecord>;
  /** The fields as the API shows them, as digests. */
  readonly shownIn?: (value: Remote) => Readonly<Record<string, string>>;
  /** See `Target.formsIn`. */
  readonly formsIn?: (value: Remote) => readonly string[];
}

/** The account to work in, or what is wrong with it; neither for an object that needs none. */
export interface AccountOfObject {
  readonly handle: AccountHandle | undefined;
  readonly problem: Plan | undefined;
}

/** What a status shows beside the look. `secrets`: values that must not be repeated, whoever says them. */
export interface BesideLook {
  readonly probed: ProbeResult | undefined;
  readonly secrets: readonly string[];
}

export type KindStatus = Pick<StatusInputs, 'health' | 'observed' | 'revision' | 'more'>;

export interface Kind<Spec, Remote extends { readonly id: string }, Look, Local = undefined> {
  readonly name: ManagedKind;
  readonly remote?: RemoteThings<Spec, Remote, Look>;
  /** It goes on, also while the account can't be read. */
  readonly needsNoAccountRead?: true;

  look(view: View<Spec, Remote, Local>): Look;
  plan(look: Look): Plan;
  target?(look: Look): KindTarget<Remote>;
  /** What to remember once the object is as desired, which `plan` says. */
  settled?(look: Look, plan: InSync): Partial<ObjectRecord>;
  /** What an hour costs before a step of its plan, and after it. */
  pricing?(look: Look, step: Step): Pricing | undefined;
  /** What a deletion makes room for, which is paid after it. */
  roomFor?(look: Look, step: Step): Pricing | undefined;
  /** The endpoint that is probed from here on; undefined: none is. */
  probe?(look: Look): ReadinessTarget | undefined;
  status(look: Look, beside: BesideLook): KindStatus;
  /** Nothing but the count of restarts stands in the way of one that remediation has planned. */
  mayRemediate?(look: Look): boolean;
  /** The other objects that have to go before this one can be created anew (exchanges.ts). */
  exchanges?(view: View<Spec, Remote, Local>): readonly ObjectKey[];
  /** Values that must not be repeated, whoever says them. */
  secrets?(view: View<Spec, Remote, Local>): readonly string[];

  /** Where it is not the one that `spec.accountRef` names. */
  account?(view: View<Spec, Remote, Local>): AccountOfObject;
  /** The object is wanted no more, and nothing is left to be done for it; of a kind without `remote`. */
  released?(view: View<Spec, Remote, Local>): boolean;
  /** What a pass does before it plans; of a kind without `remote`. */
  observe?(view: View<Spec, Remote, Local>, account: AccountHandle): Promise<Local | undefined>;
  /** The object is held, and nothing may be changed: what goes on all the same. `forMs`: until then, where time ends it. */
  whileHeld?(
    view: View<Spec, Remote, Local>,
    account: AccountHandle | undefined,
  ): Promise<{ readonly local: Local | undefined; readonly forMs: number | undefined } | undefined>;
}

/** A kind of which the engine needs to know no more. */
export type AnyKind = Kind<CommonSpec, AnyRemote, unknown, unknown>;

export type Kinds = Readonly<Record<ManagedKind, AnyKind>>;

/** The types of its parts are checked against each other here; to the engine a look is just handed on. */
export function defineKind<Spec, Remote extends AnyRemote, Look, Local = undefined>(
  kind: Kind<Spec, Remote, Look, Local>,
): AnyKind {
  return kind as unknown as AnyKind;
}
