/**
 * One pass over one object: what has been observed, and what its kind (kind.ts) concludes from it. The
 * reconciler decides on the order of calls. An observation is replaced, never changed. A new look is made
 * when the observation or the record has changed.
 */
import type { Outcome, wire } from '../api/index.ts';
import { invariant } from '../base/index.ts';
import type { Target } from './mutation/index.ts';
import type { AccountSnapshot } from '../observed/index.ts';
import {
  catalogGate,
  heldByOwner,
  holdFor,
  waitFor,
  type Arrange,
  type CapacityDemand,
  type DescribedDuplicate,
  type Difference,
  type DriftBrake,
  type Gates,
  type InSync,
  type Observation,
  type Placement,
  type Plan,
  type Pricing,
  type RosterPlan,
  type Step,
} from './plan/index.ts';
import { annotations, parseObjectKey, traitsOf, type ObjectKey, type OwnerGate } from '../resources/index.ts';
import type { ObjectRecord } from '../state/index.ts';
import { handledToken, isReportedReady, type StatusInputs } from './status/index.ts';
import type { AccountHandle } from './accounts.ts';
import { besideEdit, isOutdated, planCommand } from './commands.ts';
import { giveUpAdvice, moveText } from './fleet/advice.ts';
import type { DriftWatch } from './observation/drift-watch.ts';
import type { AccountOfObject, AnyKind, AnyRemote, KindStatus } from './kind.ts';
import { Observer, type AnySeen, type ObserverOptions } from './observation/observer.ts';
import type { AnyView } from './observation/recognition.ts';
import * as recognition from './observation/recognition.ts';

export interface PassOptions extends ObserverOptions {
  readonly driftWatch: Pick<DriftWatch, 'brake'>;
}

/** No brakes: nothing has been read that could engage one. */
const noGates: Gates = { creation: undefined, deletion: undefined, spending: undefined };

export class Pass {
  readonly key: ObjectKey;
  readonly kind: AnyKind;
  readonly #options: PassOptions;
  readonly #observer: Observer;
  #isPeeking = false;
  #look: { readonly record: ObjectRecord; readonly seen: AnySeen; readonly look: unknown } | undefined;

  constructor(key: ObjectKey, kind: AnyKind, options: PassOptions) {
    this.key = key;
    this.kind = kind;
    this.#options = options;
    this.#observer = new Observer(key, kind, options, {
      gates: (placement) => this.#gates(placement),
      driftBrake: (other) => this.#driftBrake(other),
    });
  }

  record(): ObjectRecord {
    return this.#observer.record();
  }

  observation(): Observation<AnyRemote> {
    return this.#observer.seen.observation;
  }

  account(): AccountOfObject {
    const view = this.#observer.view();
    return this.kind.account?.(view) ?? this.#accountOfSpec(view);
  }

  #accountOfSpec({ record, object }: AnyView): AccountOfObject {
    const { namespace } = parseObjectKey(this.key);
    const path = ['spec', 'accountRef', 'name'];
    const resolved = this.#options.accounts.resolve(namespace, object.spec.accountRef?.name ?? '');
    if (resolved.kind === 'problem') {
      const left =
        record.externalId === undefined ? '' : `; ${record.externalId} is left as it is until then`;
      const message = `${resolved.message}${left}${giveUpAdvice(record)}`;
      return { handle: undefined, problem: holdFor(resolved.reason, message, { path }) };
    }
    const { handle } = resolved;
    const { externalId, account: from } = record;
    if (externalId !== undefined && from !== undefined && from !== handle.name) {
      const message = moveText({ externalId, from, to: handle, store: this.#options.store });
      return { handle, problem: holdFor('ImmutableFieldChanged', message, { path }) };
    }
    // Nothing is concluded about the items of a list that can't be read. The same is true for an account.
    const { current } = handle.informer;
    const listing = current && this.kind.remote?.listing(current);
    const problem = listing?.kind === 'failed' ? waitFor('ApiUnreachable', listing.message) : undefined;
    return { handle, problem };
  }

  /** A removed object that needs no observation of the provider. `isReadable`: it has an account to look for it in. */
  released(isReadable: boolean): boolean {
    const view = this.#observer.view();
    if (this.kind.released) return this.kind.released(view);
    const { deletionRequestedAt, externalId, creationInDoubt, distrusted } = view.record;
    if (deletionRequestedAt === undefined || this.#options.store.openIntent(this.key)) return false;
    const isNothing = externalId === undefined && !creationInDoubt && distrusted === undefined;
    return (isNothing && !isReadable) || this.isGivenUp();
  }

  /** A removed object whose thing is retained. That needs no observation of the provider. */
  isGivenUp(): boolean {
    const { record, object } = this.#observer.view();
    if (record.deletionRequestedAt === undefined || this.#options.store.openIntent(this.key)) return false;
    return this.kind.remote !== undefined && object.spec.deletionPolicy === 'Retain';
  }

  /**
   * The object is held and nothing may be changed. Does what has to continue in any case. Resolves with the
   * milliseconds until time ends that. Nothing is observed for it, so its status has what the last account read shows.
   */
  async whileHeld({ handle, problem }: AccountOfObject): Promise<number | undefined> {
    const held = await this.kind.whileHeld?.(this.#observer.view(), handle);
    if (held) this.#observer.see({ local: held.local });
    if (handle && !problem && !handle.informer.failure) this.#observer.see({ account: handle });
    return held?.forMs;
  }

  observe(account: AccountHandle, notBeforeMs: number): Promise<void> {
    return this.#observer.observe(account, notBeforeMs);
  }

  refresh(account: AccountHandle): Promise<Plan | undefined> {
    return this.#observer.refresh(account);
  }

  readActivities(account: AccountHandle): Promise<Plan | undefined> {
    return this.#observer.readActivities(account);
  }

  get activitiesSinceMs(): number | undefined {
    return this.#observer.activitiesSinceMs;
  }

  events(account: AccountHandle): Promise<Outcome<readonly wire.ServiceEvent[]> | undefined> {
    return this.#observer.events(account);
  }

  get reportsEvents(): boolean {
    return this.#observer.reportsEvents;
  }

  explain(error: string): void {
    this.#observer.explain(error);
  }

  // ---- conclusions -----------------------------------------------------------------------------------

  plan(): Plan {
    this.#look = undefined;
    const commanded = this.#commanded();
    if (commanded && this.#options.mode !== 'preview') return commanded;
    const view = this.#observer.view();
    const after = commanded && this.kind.look({ ...view, record: { ...view.record, kind: commanded.state } });
    const plan = this.kind.plan(commanded ? after : this.#currentLook());
    if (commanded) return besideEdit(commanded, plan);
    invariant(
      plan.kind !== 'act' || this.kind.remote,
      `a ${this.kind.name} has no thing that it could change`,
    );
    const { observation } = this.#observer.seen;
    const gate = this.#gate();
    // A preview shows the correction itself.
    const isLeft = !this.kind.remote || (gate?.correction && this.#options.mode === 'preview');
    return this.#withOutdatedCommand(isLeft ? plan : heldByOwner(plan, observation, gate));
  }

  /** The step that an operator command asks for. */
  #commanded(): Arrange | undefined {
    const { record, object, fleet, store, mode } = this.#observer.view();
    const verbs = traitsOf(this.kind.name).commands;
    const isPaused = object.annotations[annotations.paused] === 'true';
    if (!verbs || isPaused) return undefined;
    const decided = planCommand(
      {
        annotation: object.annotations[annotations.command],
        left: store.command(this.key),
        last: record.lastCommand,
      },
      { verbs, place: fleet.snapshot.cluster ? 'cluster' : 'folder', deleting: object.deleting },
      (command) => this.kind.command?.(this.#currentLook(), command),
    );
    if (!decided) return undefined;
    const { effect, handled } = decided;
    const { change, differences = [], state = record.kind } = effect.result === 'Done' ? effect : {};
    // A preview shows what it changes, and else what the next step is.
    if (mode === 'preview' && change === undefined) return undefined;
    const { message } = effect;
    return { kind: 'arrange', reason: 'Commanded', message, change, differences, state, handled };
  }

  #withOutdatedCommand(plan: Plan): Plan {
    const { object, record } = this.#observer.view();
    const { lastCommand: last } = record;
    const annotation = object.annotations[annotations.command];
    if (plan.kind !== 'in-sync' || object.deleting || !last || !isOutdated({ annotation, last })) return plan;
    const path = ['metadata', 'annotations', annotations.command];
    return holdFor('CommandOutdated', `"${last.command}" was not carried out: ${last.message}`, { path });
  }

  #gate(): OwnerGate | undefined {
    return this.#observer.view().object.gate;
  }

  /** If it is to be removed, its activities decide when. */
  async readWhileDraining(account: AccountHandle): Promise<Plan | undefined> {
    const { readings } = this.#options.fleet;
    if ((this.#gate()?.since ?? 0) <= 0) {
      readings.forget(this.key);
      return undefined;
    }
    const unread = await this.readActivities(account);
    const { activities, activitiesAskedAt: askedAt } = this.#observer.seen;
    if (activities && askedAt !== undefined) readings.read(this.key, { activities, askedAt });
    return unread;
  }

  /** The look that the latest plan was made from, or a new one if something has changed since. */
  #currentLook(): unknown {
    const view = this.#observer.view();
    const known = this.#look;
    if (known && known.record === view.record && known.seen === view.seen) return known.look;
    const look = this.kind.look(view);
    this.#look = { record: view.record, seen: view.seen, look };
    return look;
  }

  /** The differences in a snapshot, regardless of what follows from them. Without a request. */
  peek(account: AccountHandle, snapshot: AccountSnapshot): readonly Difference[] {
    const { remote } = this.kind;
    if (!remote) return [];
    this.#isPeeking = true;
    this.#observer.peek(remote, account, snapshot);
    return this.observation().kind === 'present' ? this.plan().differences : [];
  }

  #driftBrake(key = this.key): DriftBrake {
    const { account } = this.#observer.seen;
    return (difference) =>
      account && !this.#isPeeking
        ? this.#options.driftWatch.brake(key, account, difference, this.key)
        : undefined;
  }

  #gates(placement: Placement | undefined): Gates {
    const { account, snapshot, catalog } = this.#observer.seen;
    const { fleet, money } = this.#options;
    // The newest snapshot, even if the pass began with another one: the cost of a delayed request is
    // evaluated when it is sent.
    const latest = account?.informer.current ?? snapshot;
    if (!account || !latest) return noGates;
    const gates = fleet.gates(account, latest);
    const creation = gates.creation ?? (placement && catalogGate(placement, catalog));
    return { ...gates, creation, increase: (step) => money.gate(account, this.key, this.pricing(step)) };
  }

  /** The cost before and after a step of its plan. */
  pricing(step: Step): Pricing | undefined {
    return this.kind.pricing?.(this.#currentLook(), step);
  }

  /** With what only a preview shows. */
  previewed(plan: Arrange): Arrange {
    const { cost, owned = [], destroysData } = this.kind.previewed?.(this.#currentLook(), plan) ?? {};
    const shown = { ...plan, ...(cost ? { cost } : {}), ...(owned.length > 0 ? { owned } : {}) };
    return destroysData ? { ...shown, destroysData } : shown;
  }

  /** The steps that follow those of the plan in later passes. */
  later(plan: Plan): readonly Step[] {
    const mayFollow = plan.kind === 'act' || plan.kind === 'wait';
    return mayFollow ? (this.kind.later?.(this.#currentLook(), plan) ?? []) : [];
  }

  /** What its roster leads to. */
  roster(plan: Plan): RosterPlan | undefined {
    return this.kind.roster?.(this.#currentLook(), plan);
  }

  /** The room that a deletion makes for a creation after it. */
  roomFor(step: Step): Pricing | undefined {
    return this.kind.roomFor?.(this.#currentLook(), step);
  }

  /** What a step of its plan needs of the provider's stock. */
  demand(step: Step): CapacityDemand | undefined {
    return this.kind.demand?.(this.#currentLook(), step);
  }

  target(): Target {
    const { account, observation } = this.#observer.seen;
    const { digests, restartToken, record, shownIn, formsIn } = this.kind.target?.(this.#currentLook()) ?? {
      digests: {},
    };
    const value = observation.kind === 'present' ? observation.value : undefined;
    return {
      record: {
        ...this.record(),
        ...(account ? { account: account.name } : {}),
        ...record,
        ...this.#leavingContent(),
      },
      revision: value?.revision,
      state: value === undefined ? undefined : ((value.state ?? value.status) as string | undefined),
      digests,
      restartToken,
      ...(this.kind.remembers && {
        remember: (state, mutation) => this.kind.remembers?.(state, mutation) ?? state,
      }),
      ...(shownIn && {
        shownBefore: value === undefined ? {} : shownIn(value),
        shownIn: (answer) => shownIn(answer as AnyRemote),
      }),
      ...(formsIn && { formsIn: (answer) => formsIn(answer as AnyRemote) }),
    };
  }

  /** On the way to another content, an owned object has neither that one nor the one before. */
  #leavingContent(): Pick<ObjectRecord, 'derived'> | undefined {
    const { derived } = this.record();
    const { content } = this.#options.fleet.snapshot.objects.get(this.key)?.derived ?? {};
    const isLeaving = derived?.settled !== undefined && content !== undefined && content !== derived.settled;
    return isLeaving ? { derived: { owner: derived.owner } } : undefined;
  }

  /** What to record when the object matches its spec, according to `plan`. */
  settledRecord(plan: InSync): Partial<ObjectRecord> {
    const { derived } = this.#options.fleet.snapshot.objects.get(this.key) ?? {};
    const settled = derived && { derived: { owner: derived.owner, settled: derived.content } };
    return { ...this.kind.settled?.(this.#currentLook(), plan), ...settled };
  }

  /** Only the number of restarts prevents one that remediation has planned. */
  mayRemediate(): boolean {
    return this.kind.mayRemediate?.(this.#currentLook()) ?? false;
  }

  /** The other objects that have to be deleted before this one can be created again (exchanges.ts). */
  exchanges(): readonly ObjectKey[] {
    // In a cluster, the object may vanish during its pass.
    return this.#options.store.record(this.key) ? (this.kind.exchanges?.(this.#observer.view()) ?? []) : [];
  }

  secrets(): readonly string[] {
    return this.kind.secrets?.(this.#observer.view()) ?? [];
  }

  /** For the status: the last observation, even while a newer one is awaited. */
  statusInputs(): KindStatus & Pick<StatusInputs, 'reconcileAt' | 'isUnseen'> {
    const observation = this.#observer.lastSeen();
    if (observation !== this.#observer.seen.observation) this.#observer.see({ observation });
    const { readiness } = this.#options;
    const look = this.#currentLook();
    const target = this.kind.probe?.(look);
    if (!target) readiness.unwatch(this.key);
    const probed = target && readiness.watch(this.key, target, isReportedReady(this.record()));
    const view = this.#observer.view();
    const secrets = () => this.kind.secrets?.(view) ?? [];
    const reconcileAt = handledToken(view.object.annotations[annotations.reconcileAt]);
    const isUnseen = this.kind.remote !== undefined && observation.kind === 'pending';
    return { ...this.kind.status(look, { probed, secrets }), reconcileAt, isUnseen };
  }

  // ---- recognition -----------------------------------------------------------------------------------

  /** In the latest snapshot. */
  duplicates(): readonly DescribedDuplicate[] {
    const { remote } = this.kind;
    return remote ? recognition.duplicates(remote, this.#observer.view()) : [];
  }

  /** Ids of things that belong to no object, and may carry the object's mark without showing it. */
  unmarked(snapshot = this.#observer.seen.snapshot): readonly string[] {
    const { remote } = this.kind;
    return remote && snapshot ? recognition.unmarked(remote, this.#observer.view(), snapshot) : [];
  }

  /** Whether a snapshot shows a thing with this id but without the object's mark. */
  showsOther(id: string, snapshot: AccountSnapshot): boolean {
    const { remote } = this.kind;
    return remote !== undefined && recognition.showsOther(remote, this.#observer.view(), id, snapshot);
  }

  /** Why the thing with this id can't be what a creation for this object made. Undefined if it can. */
  claim(id: string): string | undefined {
    const { remote } = this.kind;
    return remote && recognition.refutation(remote, this.#observer.view(), id);
  }
}
