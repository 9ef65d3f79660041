/**
 * One pass over one object: what has been seen of it, and what its kind (kind.ts) makes of that. The reconciler decides in which order it is
 * asked. What is seen is replaced, never changed; a look is made anew when something else has been seen, or the record has changed.
 */
import type { Outcome, wire } from '../api/index.ts';
import type { Target } from './mutation/index.ts';
import type { AccountSnapshot } from '../observed/index.ts';
import {
  catalogGate,
  holdFor,
  waitFor,
  type DescribedDuplicate,
  type Difference,
  type DriftBrake,
  type Gates,
  type InSync,
  type Observation,
  type Placement,
  type Plan,
  type Pricing,
  type Step,
} from './plan/index.ts';
import { annotations, parseObjectKey, type ObjectKey } from '../resources/index.ts';
import type { ObjectRecord } from '../state/index.ts';
import type { StatusInputs } from './status/index.ts';
import type { AccountHandle } from './accounts.ts';
import { giveUpAdvice } from './fleet/advice.ts';
import type { DriftWatch } from './observation/drift-watch.ts';
import type { AccountOfObject, AnyKind, AnyRemote } from './kind.ts';
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
    if (record.externalId !== undefined && record.account !== undefined && record.account !== handle.name) {
      const message = `${record.externalId} lives in the account ${record.account} and can't move to ${handle.name}; take the change back`;
      return { handle, problem: holdFor('ImmutableFieldChanged', message, { path }) };
    }
    // A list that can't be read says nothing of what is in it, as an account that can't be read.
    const { current } = handle.informer;
    const listing = current && this.kind.remote?.listing(current);
    const problem = listing?.kind === 'failed' ? waitFor('ApiUnreachable', listing.message) : undefined;
    return { handle, problem };
  }

  /** It is wanted no more, and there is nothing at the provider to be looked at for it. */
  released(): boolean {
    const view = this.#observer.view();
    if (this.kind.released) return this.kind.released(view);
    const { deletionRequestedAt, externalId, creationInDoubt, distrusted } = view.record;
    if (deletionRequestedAt === undefined || this.#options.store.openIntent(this.key)) return false;
    const isNothing = externalId === undefined && !creationInDoubt && distrusted === undefined;
    return isNothing || this.isGivenUp();
  }

  /** It is wanted no more, and what it stands for is to stay: that needs no look at the provider. */
  isGivenUp(): boolean {
    const { record, object } = this.#observer.view();
    if (record.deletionRequestedAt === undefined || this.#options.store.openIntent(this.key)) return false;
    return this.kind.remote !== undefined && object.spec.deletionPolicy === 'Retain';
  }

  /** The object is held, and nothing may be changed: what has to go on all the same; for so many milliseconds, where time ends it. */
  async goOn(account: AccountHandle | undefined): Promise<number | undefined> {
    const goesOn = await this.kind.whileHeld?.(this.#observer.view(), account);
    if (goesOn) this.#observer.see({ local: goesOn.local });
    return goesOn?.forMs;
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

  events(account: AccountHandle): Promise<Outcome<readonly wire.ServiceEvent[]> | undefined> {
    return this.#observer.events(account);
  }

  get reportsEvents(): boolean {
    return this.#observer.reportsEvents;
  }

  explain(error: string): void {
    this.#observer.explain(error);
  }

  // ---- what follows from it --------------------------------------------------------------------------

  plan(): Plan {
    this.#look = undefined;
    return this.kind.plan(this.#lookNow());
  }

  /** What the latest plan was made from, unless something has changed since. */
  #lookNow(): unknown {
    const view = this.#observer.view();
    const known = this.#look;
    if (known && known.record === view.record && known.seen === view.seen) return known.look;
    const look = this.kind.look(view);
    this.#look = { record: view.record, seen: view.seen, look };
    return look;
  }

  /** What differs in a snapshot, whatever becomes of it; without a request. */
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
      account && !this.#isPeeking ? this.#options.driftWatch.brake(key, account, difference) : undefined;
  }

  #gates(placement: Placement | undefined): Gates {
    const { account, snapshot, catalog } = this.#observer.seen;
    const { fleet, money } = this.#options;
    // Whatever the pass began with: what a request that had to wait may cost is asked when its turn comes.
    const latest = account?.informer.current ?? snapshot;
    if (!account || !latest) return noGates;
    const gates = fleet.gates(account, latest);
    const creation = gates.creation ?? (placement && catalogGate(placement, catalog));
    return { ...gates, creation, increase: (step) => money.gate(account, this.key, this.pricing(step)) };
  }

  /** What is paid before a step of its plan, and after it. */
  pricing(step: Step): Pricing | undefined {
    return this.kind.pricing?.(this.#lookNow(), step);
  }

  /** What a deletion makes room for, which is paid after it. */
  roomFor(step: Step): Pricing | undefined {
    return this.kind.roomFor?.(this.#lookNow(), step);
  }

  target(): Target {
    const { account, observation } = this.#observer.seen;
    const { digests, restartToken, record, shownIn, formsIn } = this.kind.target?.(this.#lookNow()) ?? {
      digests: {},
    };
    const value = observation.kind === 'present' ? observation.value : undefined;
    return {
      record: { ...this.record(), ...(account ? { account: account.name } : {}), ...record },
      revision: value?.revision,
      state: value === undefined ? undefined : ((value.state ?? value.status) as string | undefined),
      digests,
      restartToken,
      ...(shownIn && {
        shownBefore: value === undefined ? {} : shownIn(value),
        shownIn: (answer) => shownIn(answer as AnyRemote),
      }),
      ...(formsIn && { formsIn: (answer) => formsIn(answer as AnyRemote) }),
    };
  }

  /** What to remember once the object is as desired, which `plan` says. */
  settledRecord(plan: InSync): Partial<ObjectRecord> {
    return this.kind.settled?.(this.#lookNow(), plan) ?? {};
  }

  /** Nothing but the count of restarts stands in the way of one that remediation has planned. */
  mayRemediate(): boolean {
    return this.kind.mayRemediate?.(this.#lookNow()) ?? false;
  }

  /** The other objects that have to go before this one can be created anew (exchanges.ts). */
  exchanges(): readonly ObjectKey[] {
    // In a cluster the object may go by itself during its pass.
    return this.#options.store.record(this.key) ? (this.kind.exchanges?.(this.#observer.view()) ?? []) : [];
  }

  secrets(): readonly string[] {
    return this.kind.secrets?.(this.#observer.view()) ?? [];
  }

  /** For the status: what was last seen counts also while a newer observation is waited for. */
  told(): Pick<StatusInputs, 'health' | 'observed' | 'revision' | 'reconcileAt' | 'more'> {
    const observation = this.#observer.lastSeen();
    if (observation !== this.#observer.seen.observation) this.#observer.see({ observation });
    const { readiness } = this.#options;
    const look = this.#lookNow();
    const target = this.kind.probe?.(look);
    if (!target) readiness.unwatch(this.key);
    const probed = target && readiness.watch(this.key, target);
    const view = this.#observer.view();
    const secrets = this.kind.secrets?.(view) ?? [];
    const reconcileAt = view.object.annotations[annotations.reconcileAt];
    return { ...this.kind.status(look, { probed, secrets }), reconcileAt };
  }

  // ---- what it may be taken for ----------------------------------------------------------------------

  /** Of the latest snapshot. */
  duplicates(): readonly DescribedDuplicate[] {
    const { remote } = this.kind;
    return remote ? recognition.duplicates(remote, this.#observer.view()) : [];
  }

  /** Ids of what is no object's, and may carry the object's mark without showing it. */
  unmarked(snapshot = this.#observer.seen.snapshot): readonly string[] {
    const { remote } = this.kind;
    return remote && snapshot ? recognition.unmarked(remote, this.#observer.view(), snapshot) : [];
  }

  /** Whether a snapshot shows a thing with this id that does not carry the object's mark. */
  showsOther(id: string, snapshot: AccountSnapshot): boolean {
    const { remote } = this.kind;
    return remote !== undefined && recognition.showsOther(remote, this.#observer.view(), id, snapshot);
  }

  /** Why the thing with this id can't be what a creation of ours made; undefined: it can. */
  claim(id: string): string | undefined {
    const { remote } = this.kind;
    return remote && recognition.refutation(remote, this.#observer.view(), id);
  }
}
