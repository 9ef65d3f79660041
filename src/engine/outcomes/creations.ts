/**
 * Creations that no read has shown yet. A provider may apply a request long after the client gave up on it. It may also show
 * a thing long after it confirmed the creation. Neither may lead to a second thing.
 *
 *     answered ── a read shows it ──> seen
 *         └── not shown for `visibilitySeconds` ──> lost: it is created again
 *
 *     unknown ── something carries the object's mark ──> applied
 *        └── patience over, nothing is shown ──> unresolved
 *     unresolved ── the same request is needed ──> it is sent again, with the same key and bytes, if the balance is sufficient
 *              ├── another one is needed ──> the first is sent again and then patched, if its bytes are still in memory
 *              │                             and a patch can lead from it to what is needed
 *              ├── something carries the object's mark ──> applied
 *              ├── `visibilitySeconds` over, or an operator resolves it ──> it did not happen
 *              └── they are over, and something may carry the mark without showing it ──> an operator has to resolve it
 *     status wiped, in a cluster ──> unresolved: it is unknown whether there was a creation, and there is none to send again
 *
 * (`creationInDoubt` in the record.) A creation is unresolved, too, if the API refused its derived key as a known one. While a
 * creation is unresolved, no other key is used for its object, and the object is not forgotten. With `deletionPolicy: Retain`
 * it is forgotten when `visibilitySeconds` are over. The refusal of a repetition proves nothing about the first request.
 *
 * | not shown                                       | counts as gone after                                 |
 * |-------------------------------------------------|------------------------------------------------------|
 * | a thing that was seen and is older than the patience | the settle window                               |
 * | a thing that was seen and is younger            | when it is as old as that: replicas may lag behind   |
 * | a thing that was answered and never seen        | `visibilitySeconds` from the response                |
 * | a thing whose deletion was confirmed            | at once                                              |
 * | a thing whose deletion got no response          | as if it had not been deleted                        |
 * | a thing that an object left (`Retain`), for the next object of its name | as of the one that left it (left-behind.ts) |
 * | a creation without a response: to send it again | the patience                                         |
 * | a creation without a response: to use another key | `visibilitySeconds` from when its outcome last became unknown |
 *
 * A creation never made a thing that the account showed without the object's mark before the creation was first sent,
 * whatever the response is. If an earlier process sent it, this means before it is repeated. For things that show no
 * marks, the ids are recorded instead (engine/mutation/before-creation.ts).
 *
 * The patience is twelve settle windows (a minute), or what the provider was observed to need if that is longer (pace.ts).
 * All times are monotonic and of this process. A restart begins them again, for the clocks of two processes may differ. Only a
 * command that ends takes a thing for as old as the intent of its creation, or as its present state if another intent followed.
 */
import { effectOf, isCreation, type Effect } from '../../actions/index.ts';
import { canonicalId, type Clock } from '../../base/index.ts';
import { bodyDigest, knownBefore, type Target } from '../mutation/index.ts';
import type { AccountSnapshot } from '../../observed/index.ts';
import { shut, waitFor, type Act, type Action, type Plan, type Step } from '../plan/index.ts';
import type { ObjectKey } from '../../resources/index.ts';
import {
  isCreationLost,
  type Intent,
  type IntentOutcome,
  type ObjectRecord,
  type StateStore,
} from '../../state/index.ts';
import type { AccountHandle } from '../accounts.ts';
import { named, resolveAdvice } from '../fleet/advice.ts';
import { inCoarseSteps, longestMs, recheckMs, visibilityMs } from './creation-times.ts';
import { leadsTo } from './leads-to.ts';
import type { Money } from '../money/money.ts';
import { ProviderPace } from './pace.ts';
import type { Pass } from '../pass.ts';

export interface CreationOptions {
  readonly store: StateStore;
  readonly clock: Clock;
  readonly money: Money;
  readonly settleMs: number;
  readonly mode: 'manage' | 'preview';
  readonly isOneShot: boolean;
  readonly commandFlags?: string | undefined;
}

/** What was sent. Its environment may contain secrets, so it stays in memory. */
interface SentCreation {
  readonly idempotencyKey: string;
  readonly action: Action;
  readonly target: Pick<Target, 'digests' | 'restartToken'>;
}

/** What the account showed when a creation was first sent. */
interface Before {
  readonly idempotencyKey: string;
  readonly snapshots: readonly AccountSnapshot[];
  /** An earlier process sent it first, so the recorded ids are older. */
  readonly isRepetition: boolean;
}

/** From when a read that lacks a thing proves its absence, in monotonic milliseconds. */
export interface AbsenceRule {
  readonly notBeforeMs: number;
  readonly message: string;
  /** Its deletion was accepted, so one read is sufficient. */
  readonly isDeleted?: true;
}

const windowsOfPatience = 12;

export class Creations {
  readonly #options: CreationOptions;
  readonly #pace: ProviderPace;
  readonly #startedAtMs: number;
  readonly #answered = new Map<ObjectKey, { readonly id: string; readonly atMs: number }>();
  readonly #unknownSinceMs = new Map<ObjectKey, number>();
  readonly #sent = new Map<ObjectKey, SentCreation>();
  readonly #before = new Map<ObjectKey, Before>();
  /** By idempotency key. */
  readonly #answeredWithOther = new Map<ObjectKey, string>();

  constructor(options: CreationOptions) {
    this.#options = options;
    this.#pace = new ProviderPace(options.clock);
    this.#startedAtMs = options.clock.monotonicMs();
  }

  /** A change was answered, or given up, after this time. */
  took(account: string, ms: number): void {
    this.#pace.learn(account, ms);
  }

  forget(key: ObjectKey): void {
    const memories = [
      this.#answered,
      this.#unknownSinceMs,
      this.#sent,
      this.#before,
      this.#answeredWithOther,
    ];
    for (const memory of memories) memory.delete(key);
  }

  /** After an unknown outcome: how long a read without evidence does not prove that it did not happen. */
  patienceMs(effect: Effect | undefined, account: AccountHandle): number {
    const { settleMs } = this.#options;
    const leastMs = effect === 'create' ? settleMs * windowsOfPatience : settleMs;
    return Math.min(Math.max(leastMs, this.#pace.needsMs(account.name)), longestMs(account, settleMs));
  }

  /** The object's newest intent is about to be sent. */
  aboutToSend(pass: Pass, { informer: { current, previous } }: AccountHandle): void {
    const { key, creationInDoubt } = pass.record();
    const intent = this.#options.store.lastIntent(key);
    if (!intent || !isCreation(intent.action)) return;
    const { idempotencyKey } = intent;
    if (this.#before.get(key)?.idempotencyKey === idempotencyKey) return;
    const snapshots = [current, previous].filter((snapshot) => snapshot !== undefined);
    const isRepetition = creationInDoubt?.idempotencyKey === idempotencyKey;
    this.#before.set(key, { idempotencyKey, snapshots, isRepetition });
  }

  /** Whether it existed, without the object's mark, before the creation was first sent. */
  wasThere(key: ObjectKey, pass: Pass, id: string): boolean {
    // In a cluster, the object may be gone meanwhile.
    const record = this.#options.store.record(key);
    if (!record) return false;
    const { snapshots = [], isRepetition = false, idempotencyKey } = this.#before.get(key) ?? {};
    const before = isRepetition ? knownBefore(record, idempotencyKey) : undefined;
    const isIn = (ids: readonly string[] = []) => ids.includes(canonicalId(id));
    const isLater = (snapshot: AccountSnapshot) =>
      before !== undefined && !isIn(before.unmarked) && isIn(pass.unmarked(snapshot));
    const isOther = snapshots.some((snapshot) => !isLater(snapshot) && pass.showsOther(id, snapshot));
    if (isOther && idempotencyKey !== undefined) this.#answeredWithOther.set(key, idempotencyKey);
    return isOther;
  }

  /** The response named a thing that existed before. Sending it again would give the same response. */
  isAnsweredWithOther({ object, idempotencyKey }: Intent): boolean {
    return this.#answeredWithOther.get(object) === idempotencyKey;
  }

  /** Ids of things that an open or unresolved creation may have made: unmarked, and not there before it. */
  candidates(pass: Pass): readonly string[] {
    const record = pass.record();
    const asked = this.#options.store.openIntent(record.key) ?? record.creationInDoubt;
    const { unmarked = [] } = knownBefore(record, asked?.idempotencyKey) ?? {};
    return pass.unmarked().filter((id) => !unmarked.includes(id));
  }

  /** The outcome of a creation has been recorded, or could not be: then it is unknown, and its intent is still open. */
  ended({ key }: ObjectRecord, action: Action, target: Target): void {
    const { store, clock } = this.#options;
    const record = store.record(key);
    const intent = store.lastIntent(key);
    const isUnknown = intent?.outcome === 'unknown' || intent?.outcome === 'pending';
    const nowMs = clock.monotonicMs();
    if (!isUnknown) this.#before.delete(key);
    if (!isCreation(action.do) || !record || !intent) return;
    if (intent.outcome === 'applied' && record.externalId !== undefined) {
      this.forget(key);
      this.#answered.set(key, { id: record.externalId, atMs: nowMs });
    } else if (isUnknown) {
      const { digests, restartToken } = target;
      const { idempotencyKey } = intent;
      // A repetition may also arrive late.
      this.#unknownSinceMs.set(key, nowMs);
      this.#sent.set(key, { idempotencyKey, action, target: { digests, restartToken } });
    } else if (intent.outcome === 'refused') {
      this.#sent.delete(key);
      // Its key was known to the API, so somebody has used it until now.
      if (record.creationInDoubt && record.refusedKey === intent.idempotencyKey)
        this.#unknownSinceMs.set(key, nowMs);
    }
  }

  /** Checks the creation against the latest observation: seen, or finally absent. Saves what is certain. */
  async review(pass: Pass, account: AccountHandle): Promise<Plan | undefined> {
    const { store, mode } = this.#options;
    const observation = pass.observation();
    const record = pass.record();
    const { key, creationInDoubt: unresolved } = record;
    const answered = this.#answered.get(key);
    if (
      observation.kind === 'present' &&
      answered?.id === observation.value.id &&
      record.seen?.id !== answered.id
    ) {
      const shownAtMs = account.informer.current?.startedAtMs ?? answered.atMs;
      this.#pace.learn(account.name, Math.max(0, shownAtMs - answered.atMs));
    }
    if (!unresolved || mode === 'preview') return undefined;
    const word = store.resolution(key);
    const isResolved = word?.idempotencyKey === unresolved.idempotencyKey;
    if (isResolved && word.applied && word.id !== undefined) {
      if (pass.claim(word.id) !== undefined) return undefined;
      await this.#close(record, true, { externalId: word.id, unproven: false, deletedByUs: false });
      // The observation is older than that decision, so a second thing could be created.
      return waitFor('AwaitingObservation', 'an operator has resolved the outcome; observing again');
    }
    const showsMarks = this.candidates(pass).length === 0;
    const isOver = observation.kind === 'absent' && showsMarks && this.#isOver(key, account);
    const isThere = observation.kind === 'present';
    if (isThere || isOver || isResolved) await this.#close(record, isThere);
    return undefined;
  }

  /**
   * The object has been observed. A thing that is found by its mark after a creation without a response
   * counts as young, as with a response, even while that creation is not settled. To be called after each
   * observation, before it is recorded.
   */
  sawFirst(pass: Pass): void {
    const { clock, store } = this.#options;
    const observation = pass.observation();
    const { key, seen } = pass.record();
    if (observation.kind !== 'present') return;
    const { id } = observation.value;
    if (this.#answered.get(key)?.id === id) return;
    const isOfCreation = isCreation(store.lastIntent(key)?.action ?? '');
    if (isOfCreation && seen?.id !== id) this.#answered.set(key, { id, atMs: clock.monotonicMs() });
  }

  async #close(record: ObjectRecord, happened: boolean, more: Partial<ObjectRecord> = {}): Promise<void> {
    this.#unknownSinceMs.delete(record.key);
    this.#sent.delete(record.key);
    const { store, money } = this.#options;
    await store.save({ ...record, ...more, creationInDoubt: undefined, beforeCreation: undefined });
    money.answered(record.key, happened ? 'applied' : 'not-applied');
  }

  #isOver(key: ObjectKey, account: AccountHandle): boolean {
    const overAtMs = this.#unresolvedUntilMs(key, account);
    const { clock } = this.#options;
    return clock.monotonicMs() >= overAtMs && (account.informer.current?.startedAtMs ?? 0) >= overAtMs;
  }

  #unresolvedUntilMs(key: ObjectKey, account: AccountHandle | undefined): number {
    return (this.#unknownSinceMs.get(key) ?? this.#startedAtMs) + visibilityMs(account);
  }

  /** The plan that replaces `plan` while a creation of the object is unresolved. */
  instead(pass: Pass, account: AccountHandle | undefined, plan: Plan): Plan {
    const record = pass.record();
    const unresolved = record.creationInDoubt;
    const observed = pass.observation().kind;
    if (!unresolved && plan.kind === 'in-sync') return this.keeps(pass, account) ?? plan;
    if (!unresolved || observed === 'present') return plan;
    if (observed !== 'absent')
      return plan.kind === 'in-sync' ? (this.#whileUnresolved(pass, account) ?? plan) : plan;
    const isLeaving = record.deletionRequestedAt !== undefined;
    if (plan.kind === 'in-sync') {
      return (
        (isLeaving && !pass.isGivenUp() ? this.#wait(pass, account, []) : this.keeps(pass, account)) ?? plan
      );
    }
    if (plan.kind !== 'act' || !isCreation(plan.step.action.do)) return plan;
    const { action } = plan.step;
    const { store } = this.#options;
    const last = store.lastIntent(record.key);
    // `pending`: its repetition waits in the limiter.
    const isUnspent = last !== undefined && unspentOutcomes.has(last.outcome);
    if (isUnspent && last.idempotencyKey === unresolved.idempotencyKey) {
      if (last.bodyDigest === bodyDigest(action, store.digestKey)) return plan;
      const sent = this.#sent.get(record.key);
      const isKnown = sent?.idempotencyKey === unresolved.idempotencyKey;
      if (isKnown && leadsTo(sent.action, action)) {
        return this.#withOriginalCost(pass, account, {
          ...plan,
          step: { ...plan.step, action: sent.action },
        });
      }
    }
    return this.#wait(pass, account, [plan.step]);
  }

  /** What to wait for before a removed object may be forgotten: a late creation would be a duplicate. */
  keeps(pass: Pass, account: AccountHandle | undefined): Plan | undefined {
    if (!pass.isGivenUp()) return undefined;
    return this.#whileUnresolved(pass, account) ?? this.#whileUnshown(pass, account);
  }

  /**
   * In a cluster, nothing remembers when reads will show what an owned object leaves, so its resource stays until they do. Another
   * one of its name finds the thing by the same marks.
   */
  #whileUnshown(pass: Pass, account: AccountHandle | undefined): Plan | undefined {
    const record = pass.record();
    if (!account || record.markedAs === undefined || record.externalId === undefined) return undefined;
    const leftMs = this.absenceRule(record, account).notBeforeMs - this.#options.clock.monotonicMs();
    if (leftMs <= 0) return undefined;
    const message = `${record.externalId} is left at the provider; its resource is removed when account reads certainly show it`;
    return waitFor('AwaitingObservation', message, { recheckAfterMs: recheckMs(leftMs) });
  }

  #whileUnresolved(pass: Pass, account: AccountHandle | undefined): Plan | undefined {
    const { key, creationInDoubt } = pass.record();
    if (!creationInDoubt) return undefined;
    const isOver = this.#options.clock.monotonicMs() >= this.#unresolvedUntilMs(key, account);
    return isOver ? undefined : this.#wait(pass, account, []);
  }

  /** A repetition costs what the first request cost, not what the document asks for now (S15). */
  #withOriginalCost(pass: Pass, account: AccountHandle | undefined, plan: Act): Plan {
    const { step, differences } = plan;
    const gate = account && this.#options.money.gate(account, pass.record().key, pass.pricing(step));
    return gate ? shut(gate, [step], differences) : plan;
  }

  /** What to record for a creation that is sent again unchanged. */
  targetOf(record: ObjectRecord, step: Step, target: Target): Target {
    const sent = this.#sent.get(record.key);
    return sent?.action === step.action ? { ...target, ...sent.target } : target;
  }

  #wait(pass: Pass, account: AccountHandle | undefined, steps: readonly Step[]): Plan {
    const { clock, commandFlags, mode } = this.#options;
    const { key } = pass.record();
    const leftMs = this.#unresolvedUntilMs(key, account) - clock.monotonicMs();
    const seconds = inCoarseSteps(Math.max(0, leftMs / 1000));
    const candidates = this.candidates(pass);
    const needsPerson = leftMs <= 0 && candidates.length > 0;
    const rest = mode === 'preview' ? '' : `, for up to ${seconds} s more (visibilitySeconds of the Account)`;
    const wiped = isCreationLost(pass.record()) ? 'the status of the object was wiped: ' : '';
    const cause = needsPerson
      ? `an earlier creation may have made one of the things in the account that show no owner (${named(candidates)}); no other thing is created, and the object is not forgotten`
      : `an earlier creation may still take effect; until that is ruled out, no other thing is created, and the object is not forgotten${rest}`;
    return waitFor('OutcomeUnknown', `${wiped}${cause}. ${resolveAdvice('create', key, commandFlags)}`, {
      steps,
      recheckAfterMs: recheckMs(leftMs),
      ...(needsPerson ? { stalled: true } : {}),
    });
  }

  /** From when the absence of the recorded thing counts. */
  absenceRule(record: ObjectRecord, account: AccountHandle): AbsenceRule {
    const { clock, store, mode, isOneShot, settleMs } = this.#options;
    const { key, externalId = '', seen, deletedByUs } = record;
    const certain = { notBeforeMs: Number.NEGATIVE_INFINITY, message: '' };
    // A deletion without a response proves nothing.
    const isAsked = effectOf(store.openIntent(key)?.action ?? '') === 'delete';
    if (deletedByUs && !isAsked) return { ...certain, isDeleted: true };
    const isSeen = seen?.id === externalId;
    const answered = this.#answered.get(key);
    const madeAtMs = answered?.id === externalId ? answered.atMs : undefined;
    const last = store.lastIntent(key);
    const isCreated = last && isCreation(last.action) && last.outcome === 'applied';
    // Another request followed the creation. The last visible change gives a lower bound of its age.
    const madeAtWallMs = isCreated ? last.finishedAt : isSeen ? seen.since : undefined;
    const seconds = account.spec.visibilitySeconds;
    const message = isSeen
      ? `${externalId} was created recently and is not shown now; reads may lag behind`
      : `${externalId} was created and has not been shown yet; it is not created again before ${seconds} s are over (visibilitySeconds of the Account)`;
    const windowMs = isSeen ? this.patienceMs('create', account) : visibilityMs(account);
    if (mode === 'preview') {
      // One read: the response is only as old as the wall clock claims.
      const ageMs = madeAtWallMs === undefined ? undefined : clock.wallMs() - madeAtWallMs;
      const isYoung = ageMs !== undefined && ageMs < (isSeen ? settleMs : visibilityMs(account));
      return isYoung ? { notBeforeMs: Number.POSITIVE_INFINITY, message } : certain;
    }
    if (madeAtMs !== undefined) return { notBeforeMs: madeAtMs + windowMs, message };
    const isOld = madeAtWallMs === undefined || clock.wallMs() - madeAtWallMs >= windowMs;
    // Clocks of processes may differ. A process that lasts can wait; a command uses the wall clock.
    if (isSeen && isOld && isOneShot) return certain;
    return { notBeforeMs: this.#startedAtMs + windowMs, message };
  }
}

const unspent = ['pending', 'not-sent', 'not-applied', 'repeatable'] as const;
const unspentOutcomes: ReadonlySet<IntentOutcome> = new Set(unspent);
