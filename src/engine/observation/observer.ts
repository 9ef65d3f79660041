/**
 * What a pass observes of its object: in an account read, in a read of the thing, and in the provider's
 * events. Each observation replaces the one before. A thing that is found for the object is recorded at once
 * (see observe.ts).
 */
import { describeOutcome, type Outcome, type wire } from '../../api/index.ts';
import { canonicalId } from '../../base/index.ts';
import type { AccountSnapshot } from '../../observed/index.ts';
import { recheckMs, waitFor, type Observation, type Plan } from '../plan/index.ts';
import { annotations, stateTraitsOf, type ObjectKey } from '../../resources/index.ts';
import { ObjectGone, type ObjectRecord } from '../../state/index.ts';
import type { AccountHandle } from '../accounts.ts';
import { giveUpAdvice } from '../fleet/advice.ts';
import type { SourceView } from '../fleet/fleet.ts';
import type { AnyKind, AnyRemote, KindOptions, Seen } from '../kind.ts';
import { markedElsewhere, neverMade, usableSnapshot, type AbsenceProofs } from './observe.ts';
import type { AnyThings, AnyView } from './recognition.ts';
import * as recognition from './recognition.ts';

export interface ObserverOptions extends KindOptions {
  readonly absenceProofs: AbsenceProofs;
}

export type AnySeen = Seen<AnyRemote, unknown>;

/** What prevents a change of the object, for planners. */
export type Brakes = Pick<AnyView, 'gates' | 'driftBrake'>;

/** Before the first observation. */
const nothingSeen: Seen<never, never> = {
  observation: { kind: 'pending', message: 'not observed yet' },
  askedAtMs: undefined,
  account: undefined,
  snapshot: undefined,
  catalog: undefined,
  activities: undefined,
  activitiesAskedAt: undefined,
  local: undefined,
};

export class Observer {
  readonly key: ObjectKey;
  readonly kind: AnyKind;
  readonly #options: ObserverOptions;
  readonly #brakes: Brakes;
  seen: AnySeen = nothingSeen;
  #known: { readonly view: AnyView; readonly source: SourceView } | undefined;
  /** When the activities were asked for (monotonic milliseconds): the answer may be as old as that. */
  activitiesSinceMs: number | undefined;

  constructor(key: ObjectKey, kind: AnyKind, options: ObserverOptions, brakes: Brakes) {
    this.key = key;
    this.kind = kind;
    this.#options = options;
    this.#brakes = brakes;
  }

  record(): ObjectRecord {
    const record = this.#options.store.record(this.key);
    // In a cluster, it may vanish during its pass.
    if (!record) throw new ObjectGone(this.key);
    return record;
  }

  see(more: Partial<AnySeen>): void {
    this.seen = { ...this.seen, ...more };
  }

  /** The same one until a part of it changes: a pass asks for it some twenty times. */
  view(): AnyView {
    const { fleet } = this.#options;
    const record = this.record();
    const known = this.#known;
    const isCurrent = known?.source === fleet.source && known.view.record === record;
    if (isCurrent && known.view.seen === this.seen) return known.view;
    const object = isCurrent ? known.view.object : fleet.planned(record);
    const view = {
      ...this.#options,
      key: this.key,
      record,
      object,
      seen: this.seen,
      latest: () => this.record(),
      ...this.#brakes,
    };
    // It ends with time.
    const mayEnd = annotations.acceptDriftUntil in object.annotations;
    this.#known = mayEnd ? undefined : { view, source: fleet.source };
    return view;
  }

  /** Observes the object in a snapshot that began after `notBeforeMs`. */
  async observe(account: AccountHandle, notBeforeMs: number): Promise<void> {
    const { remote } = this.kind;
    this.see({ account });
    if (!remote) {
      this.see({ local: await this.kind.observe?.(this.view(), account) });
      return;
    }
    await this.#find(remote, account, notBeforeMs);
    const { record, object } = this.view();
    const creates = this.seen.observation.kind === 'absent' || remote.replaces?.(object.spec) === true;
    const leaves = record.deletionRequestedAt !== undefined;
    // The catalog matters only for creations.
    if (creates && !leaves && remote.needsCatalog) this.see({ catalog: await account.catalog.get() });
  }

  async #find(things: AnyThings, account: AccountHandle, notBeforeMs: number): Promise<void> {
    const { absenceProofs, store } = this.#options;
    const usable = usableSnapshot(account, notBeforeMs);
    if ('pending' in usable) {
      this.see({ observation: { kind: 'pending', message: usable.pending } });
      return;
    }
    const { snapshot } = usable;
    this.see({ snapshot, askedAtMs: snapshot.startedAtMs });
    const observed = recognition.recognize(things, this.view(), snapshot);
    const { observation, found, byMark, elsewhere = [] } = observed;
    this.see({ observation });
    if (found !== undefined && observation.kind === 'present') {
      await this.#bind(things, account, found, byMark, observation.value);
    }
    if (observation.kind === 'present') absenceProofs.forget(this.key);
    if (this.record().distrusted && recognition.isProven(this.view(), observed)) {
      // Its creation parameters have to be observed again.
      const { kind } = this.record();
      await store.save({
        ...this.record(),
        distrusted: undefined,
        kind: stateTraitsOf(this.key).withoutClaims?.(kind) ?? kind,
      });
    }
    const record = this.record();
    const isLeaving = record.deletionRequestedAt !== undefined;
    if (observation.kind !== 'absent') return;
    const hidden = recognition.mayBeHidden(things, this.view(), snapshot);
    if (hidden !== undefined) {
      this.see({ observation: { kind: 'pending', message: hidden } });
      return;
    }
    if (record.externalId !== undefined) {
      const { externalId: id } = record;
      const askedAtMs = this.#options.clock.monotonicMs();
      const read = await things.read(account.api, id);
      const activities = () => things.activities?.(account.api, id, () => {});
      const confirmed = await absenceProofs.confirm(record, account, snapshot, read, activities);
      this.see({ observation: confirmed, askedAtMs });
      const isConfirmed = 'confirmed' in confirmed && confirmed.confirmed;
      // The thing that replaces a deleted one may have been made already. The same is true for an object
      // without an id.
      if (isConfirmed && elsewhere.length > 0 && !isLeaving) {
        return this.#takeAdopted(things, account, snapshot, elsewhere);
      }
      if (!isConfirmed || !record.deletedByUs) return;
    }
    if (absenceProofs.needsOneObservation) return;
    const observeIn = (before: AccountSnapshot) =>
      recognition.recognize(things, this.view(), before).observation;
    const fromMs = Math.max(notBeforeMs, absenceProofs.left.shownByMs(record, account));
    this.see({ observation: neverMade(account.informer.previous, fromMs, observeIn) });
    account.informer.wantSecond();
  }

  async #bind(
    things: AnyThings,
    account: AccountHandle,
    id: string,
    byMark: boolean,
    value: AnyRemote,
  ): Promise<void> {
    const view = this.view();
    await this.#options.store.save({
      ...view.record,
      externalId: id,
      deletedByUs: false,
      ...things.found?.(this.kind.look(view), byMark),
      unproven: byMark && !recognition.isMadeHere(things, view, value),
      account: account.name,
    });
  }

  /**
   * The recorded thing is gone, and others carry the object's mark. Only the one that the document adopts is
   * taken.
   */
  async #takeAdopted(
    things: AnyThings,
    account: AccountHandle,
    snapshot: AccountSnapshot,
    elsewhere: readonly string[],
  ): Promise<void> {
    const view = this.view();
    const { adopt } = view.object.spec;
    const isAdopted = adopt !== undefined && elsewhere.includes(canonicalId(adopt.id));
    const { observation, found, byMark } = isAdopted
      ? recognition.recognize(things, view, snapshot, adopt.id)
      : markedElsewhere(view.record, elsewhere);
    this.see({ observation });
    if (found === undefined || observation.kind !== 'present') return;
    await this.#bind(things, account, found, byMark, observation.value);
  }

  /** Reads the thing itself just before it is changed. Returns a plan if it could not be read. */
  async refresh(account: AccountHandle): Promise<Plan | undefined> {
    const { remote } = this.kind;
    const { observation } = this.seen;
    if (!remote || observation.kind !== 'present') return undefined;
    const { id } = observation.value;
    const askedAtMs = this.#options.clock.monotonicMs();
    const outcome = await remote.read(account.api, id);
    if (outcome.kind === 'applied') {
      this.see({ observation: { kind: 'present', value: outcome.value }, askedAtMs });
      return undefined;
    }
    const advice = giveUpAdvice(this.record());
    if (outcome.kind === 'refused' && outcome.status === 404) {
      const message = `the account shows ${id}, and reading it by its id: ${describeOutcome(outcome)}${advice}`;
      return waitFor('ReadsDisagree', message);
    }
    const message = `reading ${id} before changing it: ${describeOutcome(outcome)}${advice}`;
    return waitFor('Unreadable', message, { recheckAfterMs: recheckMs.progress * 2 });
  }

  async readActivities(account: AccountHandle): Promise<Plan | undefined> {
    const id = this.#idOfPresent();
    const { clock } = this.#options;
    let activitiesAskedAt = clock.wallMs();
    let sinceMs = clock.monotonicMs();
    // It may wait long for its turn.
    const onSend = () => {
      activitiesAskedAt = clock.wallMs();
      sinceMs = clock.monotonicMs();
    };
    const outcome =
      id === undefined ? undefined : await this.kind.remote?.activities?.(account.api, id, onSend);
    if (!outcome) return undefined;
    if (outcome.kind === 'applied') {
      this.see({ activities: outcome.value, activitiesAskedAt });
      this.activitiesSinceMs = sinceMs;
      return undefined;
    }
    const message = `reading activities before a disruptive change: ${describeOutcome(outcome)}`;
    return waitFor('ActivitiesUnreadable', message, { recheckAfterMs: recheckMs.protection });
  }

  /** The provider's events about the thing. Undefined for a kind without events. */
  async events(account: AccountHandle): Promise<Outcome<readonly wire.ServiceEvent[]> | undefined> {
    const id = this.#idOfPresent();
    return id === undefined ? undefined : this.kind.remote?.events?.(account.api, id);
  }

  #idOfPresent(): string | undefined {
    const { observation } = this.seen;
    return observation.kind === 'present' ? observation.value.id : undefined;
  }

  /** Whether its kind has events. */
  get reportsEvents(): boolean {
    return this.kind.remote?.events !== undefined;
  }

  /** The thing is in an error state for this reason, which the API does not show with it. */
  explain(error: string): void {
    const { observation } = this.seen;
    if (observation.kind !== 'present') return;
    this.see({ observation: { kind: 'present', value: { ...observation.value, error } } });
  }

  /** For the status: the last observation, even while a newer one is awaited. */
  lastSeen(): Observation<AnyRemote> {
    const { observation, account } = this.seen;
    const { externalId } = this.record();
    const snapshot = account?.informer.current;
    const { remote } = this.kind;
    if (observation.kind !== 'pending' || externalId === undefined || !snapshot || !remote)
      return observation;
    const value = recognition.shown(remote, snapshot).get(externalId);
    return value ? { kind: 'present', value } : observation;
  }

  /** What an account read shows, without a request. */
  peek(things: AnyThings, account: AccountHandle, snapshot: AccountSnapshot): void {
    this.see({ account, snapshot });
    this.see({ observation: recognition.recognize(things, this.view(), snapshot).observation });
  }
}
