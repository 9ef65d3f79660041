/**
 * The parts of a kind. A pass is the same for all kinds (reconciler.ts, pass.ts): observe, plan, read again, plan again, send,
 * report. `defineKind` makes a kind of these parts:
 *
 * | part                              | content                                                                       | pure |
 * |-----------------------------------|-------------------------------------------------------------------------------|------|
 * | `remote`                          | how the things of the kind are listed, read and recognized; absent if there are none | yes, except `read` |
 * | `look`                            | everything that the planner may see, as one value                             | no   |
 * | `plan`                            | the next step                                                                 | yes  |
 * | `target`, `settled`               | what to record of a request, and of an object in sync                         | yes  |
 * | `pricing`, `roomFor`, `previewed`    | what a step costs                                                            | yes  |
 * | `demand`                          | what a step needs of the provider's stock                                     | yes  |
 * | `later`, `roster`                 | what follows a plan in later passes, for a plan file                          | yes  |
 * | `status`                          | what the status shows of the thing                                            | yes  |
 * | `children`                        | the objects that it owns                                                      | yes  |
 * | `command`                         | what an operator command changes                                              | yes  |
 * | `shed`                            | how it can be made cheaper for a while, for a budget                          | no   |
 * | `account`, `released`, `observe`, `whileHeld` | the counterparts for a kind without a thing at the provider       | no   |
 *
 * A kind without `remote` plans no step: nothing could show what became of its request. It gives values to the planner of the kind whose thing
 * it concerns (CONTRIBUTING.md).
 *
 * A `Look` is made from a view: the object, its record and the current observation. A pass makes at most three of them for a
 * mutation: from the account read, from fresh reads, and just before the request is sent. Everything else is a function of one.
 */
import type { ActionName } from '../actions/index.ts';
import type { ControlApi, Outcome, ProbeResult, wire } from '../api/index.ts';
import type { Clock, Random } from '../base/index.ts';
import type { RecordedMutation, Target } from './mutation/index.ts';
import type {
  AccountSnapshot,
  Listing,
  Measurements,
  Readiness,
  ReadinessTarget,
} from '../observed/index.ts';
import type {
  Arrange,
  CapacityDemand,
  DriftBrake,
  Gates,
  InSync,
  Observation,
  Placement,
  Plan,
  PlannedObject,
  Pricing,
  RosterPlan,
  Step,
} from './plan/index.ts';
import type { CommonSpec, ManagedKind, ObjectKey, OperatorCommand } from '../resources/index.ts';
import type { AskedBy, ObjectRecord, OwnerRevision, StateStore } from '../state/index.ts';
import type { StatusInputs } from './status/index.ts';
import type { AccountHandle, Accounts } from './accounts.ts';
import type { CommandEffect } from './commands.ts';
import type { Fleet } from './fleet/fleet.ts';
import type { HeldThings } from './held.ts';
import type { ActivityRegistrations } from './activity-registrations.ts';
import type { Marks } from './fleet/marks.ts';
import type { Money, ObjectNews } from './money/money.ts';
import type { CapacityMemory } from './outcomes/capacity-memory.ts';
import type { Observed } from './observation/observe.ts';
import type { Notices } from './problems/notices.ts';

export type AnyRemote = wire.Service | wire.Volume | wire.Template | wire.Registry;

/** Shared by all passes of a process. */
export interface KindOptions {
  readonly store: StateStore;
  readonly accounts: Accounts;
  readonly fleet: Fleet;
  readonly money: Money;
  readonly capacity: CapacityMemory;
  readonly clock: Clock;
  readonly readiness: Readiness<ObjectKey>;
  readonly measurements: Measurements<ObjectKey>;
  readonly notices: Notices;
  readonly registrations: ActivityRegistrations;
  readonly random: Random;
  readonly mode: 'manage' | 'preview';
  /** It ends as soon as all is done. */
  readonly isOneShot?: boolean;
  /** The process ends: what is stored from time to time is stored now. */
  readonly stopping: () => boolean;
}

/** What a pass has observed so far. */
export interface Seen<Remote, Local> {
  readonly observation: Observation<Remote>;
  /** When the read that it is from was asked for (monotonic milliseconds). Undefined before the first one. */
  readonly askedAtMs: number | undefined;
  readonly account: AccountHandle | undefined;
  readonly snapshot: AccountSnapshot | undefined;
  /** Read if something is to be created that the catalog has to offer. */
  readonly catalog: wire.Catalog | undefined;
  /** Read before a disruptive step. */
  readonly activities: readonly wire.Activity[] | undefined;
  /** Unix milliseconds at which they were asked for. */
  readonly activitiesAskedAt: number | undefined;
  /** The result of `observe`, for a kind without a thing at the provider. */
  readonly local: Local | undefined;
}

/** The current state of an object in its pass, as its kind sees it. */
export interface View<Spec, Remote, Local, State extends object = object> extends KindOptions {
  readonly key: ObjectKey;
  readonly record: ObjectRecord<State>;
  readonly object: PlannedObject<Spec>;
  readonly seen: Seen<Remote, Local>;
  /** The current record, including what was saved since. */
  readonly latest: () => ObjectRecord<State>;
  /** `placement`: what the catalog has to offer for a creation. The kind's `pricing` has the cost of a step. */
  gates(placement?: Placement): Gates;
  /** `key`: another object that is observed for this one. */
  driftBrake(key?: ObjectKey): DriftBrake;
}

export type Subject<Spec> = Pick<View<Spec, unknown, unknown>, 'record' | 'object' | 'fleet'>;

/** The things at the provider that a kind manages. */
export interface RemoteThings<Spec, Remote extends { readonly id: string }, Look> {
  /** The things in an account read, and whether they were read at all. */
  listing(snapshot: AccountSnapshot): Listing<Remote>;
  read(api: ControlApi, id: string): Promise<Outcome<Remote>>;
  readonly marks: Marks<Remote>;
  /** The action that makes one. */
  readonly creation: { readonly name: ActionName };
  /** For `inventory` and `import`; absent: they leave the kind out. */
  readonly held?: HeldThings<Remote>;
  /** The things that may be an object's. All, if absent. */
  candidates?(
    items: ReadonlyMap<string, Remote>,
    account: AccountHandle | undefined,
  ): ReadonlyMap<string, Remote>;
  /**
   * For things that carry no marks. `madeId`: an operator has named this as the thing that was made for the
   * object.
   */
  identify?(
    view: View<Spec, Remote, unknown>,
    items: ReadonlyMap<string, Remote>,
    madeId: string | undefined,
  ): Observed<Remote>;
  /** Whether an unidentified or unusable entry could be what a creation for the object made. */
  couldBe(entry: Remote | wire.Unidentified<Remote>, subject: Subject<Spec>): boolean;
  /** Whether it may carry a mark without showing it. */
  hidesMarks(value: Remote): boolean;
  /** Of what hides its marks: whether its name may be the object's. Without this function it may. */
  isNamedLike?(value: Remote | wire.Unidentified<Remote>, subject: Subject<Spec>): boolean;
  /** Why it can't be what a creation for the object made, even if an operator claims that. Undefined if it can. */
  refutes?(value: Remote, subject: Subject<Spec>): string | undefined;
  /** What to record, in addition to its id, when a thing is found for the object. */
  found?(look: Look, byMark: boolean): Partial<ObjectRecord>;
  /** An existing thing may be deleted and created again. */
  replaces?(spec: Spec): boolean;
  /** The catalog has to offer what a creation requests. */
  readonly needsCatalog?: true;
  /** The activities in it, read before a disruptive step. `onSend` is called when the request's turn has come. */
  activities?(api: ControlApi, id: string, onSend: () => void): Promise<Outcome<readonly wire.Activity[]>>;
  /** The provider's events about it. */
  events?(api: ControlApi, id: string): Promise<Outcome<readonly wire.ServiceEvent[]>>;
}

/** What a kind adds to the target of a request (engine/mutation/executor.ts). */
export interface KindTarget<Remote> extends Pick<Target, 'digests'> {
  readonly restartToken?: string | undefined;
  /** The part of the record that is saved with it. */
  readonly record?: Partial<ObjectRecord>;
  /** Digests of the fields as the API shows them. */
  readonly shownIn?: (value: Remote) => Readonly<Record<string, string>>;
  /** See `Target.formsIn`. */
  readonly formsIn?: (value: Remote) => readonly string[];
}

/** An object that may be stopped for a budget, or have fewer replicas (money/shedding.ts). */
export interface ShedSubject<Spec, State extends object> {
  readonly fleet: Fleet;
  readonly record: ObjectRecord<State>;
  readonly object: PlannedObject<Spec>;
  /** The newest read of its account. */
  readonly snapshot: AccountSnapshot | undefined;
  /** Unix milliseconds. */
  readonly nowMs: number;
}

export interface ShedWay {
  /** Its own, and those that it gives to what it owns. */
  readonly annotations: Readonly<Record<string, string>>;
  /** It is to run. */
  readonly isWanted: boolean;
  /** Why it must not be stopped now. What only its own pass can find out is not in it. */
  readonly obstacle: string | undefined;
  /** The newest read shows that it costs nothing for compute. */
  readonly isDown: boolean;
  /** A stop for a budget was requested, or has been made. */
  readonly isStopping: boolean;
  /** The newest read shows that it runs. */
  readonly isUp: boolean;
  /** What a stop saves; micro-USD per hour. */
  readonly savesMicros: bigint;
  /** Of an object that owns replicas: how many are wanted, and at least. */
  readonly replicas?: { readonly wanted: number; readonly least: number };
  /** Of such an object: so many replicas are not leaving. */
  readonly staying?: number;
}

/** An object that owns others, as its children follow from it. */
export interface Owner<Spec, State> {
  readonly name: string;
  readonly spec: Spec;
  readonly state: State;
  readonly revisions: readonly OwnerRevision[];
}

/** An object of the same namespace that another one owns. */
export interface OwnedObject {
  readonly kind: ManagedKind;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: object;
  /** Where its spec stands in the owner's document. */
  readonly specPath: readonly string[];
  /** What of the spec reaches it only when its owner allows it. Undefined: all of it reaches it at once. */
  readonly content: Readonly<Record<string, unknown>> | undefined;
  /** That content, as it is recorded. Undefined: nobody knows yet what the object has. It is compared, and not changed. */
  readonly revision: OwnerRevision | undefined;
  /** It may be interrupted, to correct what others changed in it. */
  readonly mayCorrect: boolean;
  /** It needs no restart if its last one was for this token, and not for that of its spec. */
  readonly restartedFor?: string | undefined;
  /** It is to be removed since then (Unix milliseconds). Nothing is changed in it any more, and its activities are read. */
  readonly drainingSince: number | undefined;
}

export interface Previewed {
  readonly cost: Arrange['cost'] | undefined;
  readonly owned: Arrange['owned'] | undefined;
  readonly destroysData?: true;
}

/** The account to work in, or what is wrong with it. Neither for an object that needs none. */
export interface AccountOfObject {
  readonly handle: AccountHandle | undefined;
  readonly problem: Plan | undefined;
}

/** What a status shows in addition to the look. `secrets`: values that must not be repeated from any source, asked for with such a text. */
export interface BesideLook {
  readonly probed: ProbeResult | undefined;
  readonly secrets: () => readonly string[];
}

export interface KindStatus<State extends object = object> extends Pick<
  StatusInputs,
  'health' | 'observed' | 'revision' | 'more'
> {
  /** The kind's part of the record, if it has to remember what is reported. */
  readonly kind?: State;
  /** What is reported once: in a cluster as Events, and in the log. The kind's part remembers that it was. */
  readonly news?: readonly ObjectNews[];
}

export interface Kind<
  Spec,
  Remote extends { readonly id: string },
  Look,
  Local = undefined,
  State extends object = object,
> {
  readonly name: ManagedKind;
  readonly remote?: RemoteThings<Spec, Remote, Look>;
  /** Its passes continue while the account can't be read. */
  readonly needsNoAccountRead?: true;
  /** It stores from time to time what grows, and has one more pass when the process ends. */
  readonly storesAtEnd?: true;

  look(view: View<Spec, Remote, Local, State>): Look;
  plan(look: Look): Plan;
  target?(look: Look): KindTarget<Remote>;
  /** What its part of the record remembers of a mutation. */
  remembers?(state: State, mutation: RecordedMutation): State;
  /** What to record when the object matches its spec, according to `plan`. */
  settled?(look: Look, plan: InSync): Partial<ObjectRecord>;
  /** The hourly cost before and after a step of its plan. */
  pricing?(look: Look, step: Step): Pricing | undefined;
  /** What a preview shows of a change of the objects that it owns. */
  previewed?(look: Look, plan: Arrange): Previewed;
  /** The room that a deletion makes for a creation after it. */
  roomFor?(look: Look, step: Step): Pricing | undefined;
  /** What a creation or a start needs of the provider's stock. Undefined for other steps. */
  demand?(look: Look, step: Step): CapacityDemand | undefined;
  /** The steps of later passes, behind those of a plan that acts or waits, by its planner. Absent: none follow. */
  later?(look: Look, plan: Plan): readonly Step[];
  /** Of a kind that owns others: what its roster leads to. Undefined: that is not known yet. */
  roster?(look: Look, plan: Plan): RosterPlan | undefined;
  /** The endpoint that is probed from here on. Undefined: none. */
  probe?(look: Look): ReadinessTarget | undefined;
  status(look: Look, beside: BesideLook): KindStatus<State>;
  /** Only the number of restarts prevents one that remediation has planned. */
  mayRemediate?(look: Look): boolean;
  /** The other objects that have to be deleted before this one can be created again (exchanges.ts). */
  exchanges?(view: View<Spec, Remote, Local, State>): readonly ObjectKey[];
  /** Values that must not be repeated from any source. */
  secrets?(view: View<Spec, Remote, Local, State>): readonly string[];

  /** The objects that it owns: a function of its document and its part of the record alone. Undefined: not known yet. */
  children?(owner: Owner<Spec, State>): readonly OwnedObject[] | undefined;

  /** All objects that an object of the kind may ever own, by its name alone. What carries the mark of one of them is the owner's. */
  mayOwn?(owner: ObjectKey): readonly ObjectKey[];

  /** Why it has, changes or removes an object that it owns: recorded with the request, for people (plan/why.ts). */
  asks?(owner: Pick<Owner<Spec, State>, 'name' | 'state'>, child: string, action: string): AskedBy;

  /** What an operator command changes in its part of the record. Undefined: that can't be decided yet. */
  command?(look: Look, command: OperatorCommand): CommandEffect | undefined;

  /** How it can be made cheaper for a while. Absent, or undefined: not at all. */
  shed?(subject: ShedSubject<Spec, State>): ShedWay | undefined;

  /** The account, if it is not the one in `spec.accountRef`. Asked first, and again just before a request is sent. */
  account?(view: View<Spec, Remote, Local, State>): AccountOfObject;
  /** A removed object that needs nothing more: it is forgotten without an observation. For a kind without `remote`. */
  released?(view: View<Spec, Remote, Local, State>): boolean;
  /**
   * What a pass does before it plans: `Local` is in the view of the look. For a kind without `remote`. It is not tied to reads: of a thing at the
   * provider it may see what was there before the last request.
   */
  observe?(view: View<Spec, Remote, Local, State>, account: AccountHandle): Promise<Local | undefined>;
  /** What continues while the object is held and nothing may be changed: in the place of `observe` and `plan`. `forMs`: when that ends, if time ends it. */
  whileHeld?(
    view: View<Spec, Remote, Local, State>,
    account: AccountHandle | undefined,
  ): Promise<{ readonly local: Local | undefined; readonly forMs: number | undefined } | undefined>;
}

/** A kind, as far as the engine knows it. */
export type AnyKind = Kind<CommonSpec, AnyRemote, unknown, unknown>;

export type Kinds = Readonly<Record<ManagedKind, AnyKind>>;

/** Checks that the types of the parts fit together. The engine only passes looks on. */
export function defineKind<
  Spec,
  Remote extends AnyRemote,
  Look,
  Local = undefined,
  State extends object = object,
>(kind: Kind<Spec, Remote, Look, Local, State>): AnyKind {
  return kind as unknown as AnyKind;
}
