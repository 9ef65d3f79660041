/** Reasons not to take a step now: it was refused, it was accepted but shows no effect, or it may not be taken. */
import { describeOutcome, longPauseMs, meaningOf, type Outcome, type Refused } from '../../api/index.ts';
import { backoffMs, rfc3339, type Clock, type Random } from '../../base/index.ts';
import {
  classifyRefusal,
  correctionMark,
  fingerprint,
  hasDerivedKey,
  stillScarce,
  type Receipt,
  type RefusalClass,
} from '../mutation/index.ts';
import {
  concernsCatalog,
  correctionPause,
  freshnessGate,
  holdFor,
  keepsChangingReason,
  recheckMs,
  remediationReason,
  shut,
  verificationGate,
  waitFor,
  type Act,
  type Action,
  type Plan,
  type Step,
} from '../plan/index.ts';
import { entryOf, type BlockingReason, type ReasonOf } from '../../reasons/index.ts';
import { annotations, type ObjectKey, stateTraitsOf } from '../../resources/index.ts';
import type { ObjectRecord, Refusal, StateStore } from '../../state/index.ts';
import type { AccountHandle } from '../accounts.ts';
import type { Fleet } from '../fleet/fleet.ts';

export interface ObstacleOptions {
  readonly store: StateStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly mode: 'manage' | 'preview';
}

interface Obstacle {
  readonly fingerprint: string;
  readonly reason: ReasonOf<'waiting'>;
  readonly message: string;
  readonly untilMs: number;
  readonly failures: number;
  readonly keyDigest: string | undefined;
}

/** A correction without visible effect is applied at most this often. */
const longestRepetition = 3;
/** How long an accepted request may take to become visible in reads. */
const effectMs = 15_000;

export class Backoffs {
  readonly #options: ObstacleOptions;
  readonly #met = new Map<ObjectKey, Obstacle>();
  /** The last applied step, until a read confirms it: acceptance does not mean that it has happened (§1). */
  readonly #applied = new Map<ObjectKey, { fingerprint: string; atMs: number }>();

  constructor(options: ObstacleOptions) {
    this.#options = options;
  }

  applied({ key }: ObjectRecord, action: Action): void {
    const { store, clock } = this.#options;
    this.#met.delete(key);
    this.#applied.set(key, { fingerprint: fingerprint(action, store.digestKey), atMs: clock.monotonicMs() });
  }

  /** It matches its spec, so nothing is awaited. */
  cleared(key: ObjectKey): void {
    this.#applied.delete(key);
  }

  forget(key: ObjectKey): void {
    this.#met.delete(key);
    this.#applied.delete(key);
  }

  /**
   * Finds why the step is not taken: it was refused permanently, is backing off, or does not take effect.
   * `account`: its rules or its key may have changed since the refusal. `isRemembered`: the account remembers what it
   * was refused capacity for (capacity-memory.ts).
   */
  find(
    record: ObjectRecord,
    step: Step,
    account?: Pick<AccountHandle, 'spec' | 'keyDigest'>,
    isRemembered = false,
  ): Plan | undefined {
    const { store, clock } = this.#options;
    const isThis = compared(() => fingerprint(step.action, store.digestKey));
    const rest = { steps: [step], differences: step.differences };
    const { refusal, repeated } = record;
    if (record.unproven && !store.ownerConfirmed && 'id' in step.action) {
      return holdFor(
        'OwnershipUnproven',
        `${step.action.id} carries the mark of the owner "${store.ownerName}", but it was not made with this state file. ` +
          `If it is this fleet's, and its state was lost, confirm that once with --owner ${store.ownerName}. ` +
          'If another fleet has that owner name, choose another one for this fleet with --owner, and a new state file',
        rest,
      );
    }
    const distrusted = distrust(record, step);
    if (distrusted) return holdFor('OwnershipUnproven', distrusted, rest);
    const scarce = this.#scarce(record, step, isRemembered);
    if (scarce) return scarce;
    const refused = refusal && isThis(refusal) ? this.#refused(refusal, step, account) : undefined;
    if (refused) return refused;
    const isCounted = step.reason === remediationReason;
    if (!isCounted && repeated && repeated.count >= longestRepetition && isThis(repeated)) {
      return holdFor(
        'NotTakingEffect',
        `${step.action.do} was applied ${repeated.count} times, and the API still shows another value; write the value as the API shows it, or leave the field out`,
        rest,
      );
    }
    const pause = isCounted ? undefined : this.#pause(record, step);
    if (pause) return pause;
    const applied = this.#applied.get(record.key);
    if (applied && clock.monotonicMs() < applied.atMs + effectMs && isThis(applied)) {
      return waitFor('AwaitingEffect', `${step.action.do} was accepted and has not taken effect yet`, rest);
    }
    const obstacle = this.#met.get(record.key);
    if (obstacle && isOfAnotherKey(obstacle.reason, obstacle, account?.keyDigest())) return undefined;
    const leftMs = obstacle && isThis(obstacle) ? obstacle.untilMs - clock.monotonicMs() : 0;
    return obstacle && leftMs > 0
      ? waitFor(obstacle.reason, obstacle.message, { ...rest, recheckAfterMs: leftMs + 1 })
      : undefined;
  }

  /** It would be refused again, as far as is known. */
  #refused(
    refusal: Refusal,
    step: Step,
    account: Pick<AccountHandle, 'spec' | 'keyDigest'> | undefined,
  ): Plan | undefined {
    const { store, clock } = this.#options;
    const meaning = meaningOf(refusal, account?.spec.refusals ?? []);
    const isKeyKnown = refusal.isRepetition ?? hasDerivedKey(store, step.action.do);
    const verdict = classifyRefusal({ meaning }, isKeyKnown, step.action);
    if (verdict.kind === 'wait') return undefined;
    const { reason, retryAfterMs } = verdict;
    if (isOfAnotherKey(reason, refusal, account?.keyDigest())) return undefined;
    const what = `${refusal.action} was refused with ${refusal.status} ${refusal.code}: ${refusal.message}`;
    const rest = { steps: [step], differences: step.differences };
    if (retryAfterMs === undefined) {
      return holdFor(reason, `${what}; it is not sent again until the spec changes`, rest);
    }
    const sinceMs = clock.wallMs() - refusal.at;
    // Set back since, the clock does not show how long ago it was.
    if (sinceMs < 0 || sinceMs >= retryAfterMs) return undefined;
    const recheckAfterMs = retryAfterMs - sinceMs;
    return holdFor(reason, `${what}; it is tried again ten minutes later`, { ...rest, recheckAfterMs });
  }

  /** The API has asked for a pause of the whole account. Who would wait for its end with a request shows that instead, and makes room. */
  paused({ name, pace }: AccountHandle, plan: Plan): Plan | undefined {
    const { clock, mode } = this.#options;
    const leftMs = pace?.().closedForMs ?? 0;
    if (mode === 'preview' || plan.kind !== 'act' || leftMs < longPauseMs) return undefined;
    const until = rfc3339(clock.wallMs() + leftMs);
    const message = `the API has asked account ${name} to send nothing before ${until} (429 with Retry-After)`;
    const { step, later, differences } = plan;
    return waitFor('RateLimited', message, {
      recheckAfterMs: leftMs + 1,
      steps: [step, ...later],
      differences,
    });
  }

  /** It was sent repeatedly, and something undoes it. */
  #pause(record: ObjectRecord, step: Step): Plan | undefined {
    if (record.corrections.length === 0) return undefined;
    const { store, clock } = this.#options;
    const mark = correctionMark(step.action, store.digestKey);
    const revision = 'revision' in step.action ? step.action.revision : undefined;
    const pause = correctionPause(record, mark, revision, clock.wallMs());
    if (!pause) return undefined;
    const rest = { steps: [step], differences: step.differences, recheckAfterMs: pause.leftMs + 1 };
    return waitFor(keepsChangingReason, pause.message, {
      ...rest,
      ...(pause.isReported && { stalled: true }),
    });
  }

  /** The provider lacks something that the step needs. */
  #scarce(record: ObjectRecord, step: Step, isRemembered = false): Plan | undefined {
    const { store, clock } = this.#options;
    const scarcity = stillScarce(record, step.action, store.digestKey, clock.wallMs());
    if (!scarcity) return undefined;
    const { reason, message, leftMs } = scarcity;
    if (isRemembered && reason === 'CapacityUnavailable') return undefined;
    const rest = { steps: [step], differences: step.differences };
    return waitFor(reason, message, { ...rest, recheckAfterMs: leftMs + 1 });
  }

  /** The plan after a step was refused, or could not be sent. */
  planAfter(
    record: ObjectRecord,
    plan: Act,
    outcome: Exclude<Outcome<Receipt>, { kind: 'applied' | 'unknown' }>,
  ): Plan {
    const { store, clock, random } = this.#options;
    const { key } = record;
    const scarce = this.#scarce(record, plan.step);
    if (scarce) return scarce;
    const mark = fingerprint(plan.step.action, store.digestKey);
    const rest = { steps: [plan.step], differences: plan.differences };
    const message = `${plan.step.action.do} ${describeOutcome(outcome)}`;
    const verdict: RefusalClass =
      outcome.kind === 'refused'
        ? classifyRefusal(
            outcome,
            record.refusal?.isRepetition ?? hasDerivedKey(store, plan.step.action.do),
            plan.step.action,
          )
        : { kind: 'wait', reason: 'NotSent', backoff: { firstMs: 500, longestMs: 60_000 } };
    if (verdict.kind === 'hold') {
      return holdFor(verdict.reason, message, { ...rest, recheckAfterMs: verdict.retryAfterMs });
    }
    const before = this.#met.get(key);
    const failures = before?.fingerprint === mark ? before.failures + 1 : 0;
    const askedMs = outcome.kind === 'refused' ? (outcome.retryAfterMs ?? 0) : 0;
    const delayMs = Math.max(askedMs, backoffMs(failures, verdict.backoff, random));
    this.#met.set(key, {
      fingerprint: mark,
      reason: verdict.reason,
      message,
      failures,
      keyDigest: record.refusal?.keyDigest,
      untilMs: clock.monotonicMs() + delayMs,
    });
    return waitFor(verdict.reason, message, { ...rest, recheckAfterMs: delayMs + 1 });
  }
}

/** Most steps have nothing to be compared with, and a digest costs more than all else here. */
function compared(markOf: () => string): (recorded: { readonly fingerprint: string }) => boolean {
  let mark: string | undefined;
  return (recorded) => recorded.fingerprint === (mark ??= markOf());
}

/** It was refused for missing permissions of a key that is no longer in use. */
function isOfAnotherKey(
  reason: BlockingReason,
  refused: { readonly keyDigest?: string | undefined },
  keyDigest: string | undefined,
): boolean {
  if (!entryOf(reason).ofKey || refused.keyDigest === undefined || keyDigest === undefined) return false;
  return refused.keyDigest !== keyDigest;
}

/** Interval of the check whether the source has been recorded. */
const behindRecheckMs = 2000;

export function behindSource({ behind }: Pick<Fleet, 'behind'>): Plan | undefined {
  if (!behind) return undefined;
  const message = 'the current documents could not be recorded yet; nothing is sent until they are';
  return waitFor('SourceIncomplete', message, { recheckAfterMs: behindRecheckMs });
}

/** One gate for the whole account, so it is known without a refusal for each object. */
export function unverified(
  { name, identity }: AccountHandle,
  { step, later, differences }: Act,
): Plan | undefined {
  const gate = verificationGate(name, step.action.do, identity.emailVerified);
  return gate && shut(gate, [step, ...later], differences);
}

/** A step that costs more requires a recent read of the account. */
export function outdated(
  { informer }: AccountHandle,
  { step, later, differences }: Act,
  nowMs: number,
): Plan | undefined {
  const gate = freshnessGate(
    step.action.do,
    nowMs - (informer.current?.startedAtMs ?? Number.NEGATIVE_INFINITY),
  );
  return (
    gate &&
    waitFor(gate.reason, gate.message, {
      recheckAfterMs: recheckMs.progress,
      steps: [step, ...later],
      differences,
    })
  );
}

/** What a refusal of one object's request reveals about its account. */
export function learnFromRefusal({ informer, funds, catalog }: AccountHandle, refused: Refused): void {
  if (refused.status === 401) informer.retryNow();
  if (classifyRefusal(refused).reason === 'InsufficientFunds') funds.refused(informer.balanceMicros);
  if (concernsCatalog(refused.code, refused.message)) catalog.expire();
}

/** Why unsigned bookkeeping does not suffice for the step. Undefined if it does. */
function distrust({ key, distrusted, kind }: ObjectRecord, { action }: Step): string | undefined {
  if (distrusted === undefined) return undefined;
  const accept = `annotate it, or its Account, with ${annotations.acceptBookkeepingUntil}: "<time, RFC 3339>"`;
  if ('id' in action) {
    return (
      `only the status of this object names ${action.id}, and this operator has not signed that status: version 0.1.0 wrote it, or somebody else. ` +
      `${action.id} carries no mark of the object, so it is not changed. If it belongs to the object, add \`adopt: {id: ${action.id}}\` to its spec, or ${accept}`
    );
  }
  if (distrusted === 'unsigned' && !stateTraitsOf(key).hasClaims?.(kind)) return undefined;
  return (
    'somebody else has written to `status.bookkeeping` of this object, so it is unknown what it managed, and nothing in the account carries its mark: ' +
    `nothing is created, since it may exist. If it exists, add \`adopt: {id: …}\` to the spec; if not, ${accept}`
  );
}
