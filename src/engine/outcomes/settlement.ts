/**
 * Settles unknown outcomes: which mutations they belong to, since when, and what is decided.
 *
 *     unknown ── settle window over ──> evidence ── decides ──> applied | not-applied
 *                                          ├── its revision has moved ──> outdated (engine/plan/settle.ts)
 *                                          ├── it may be sent again unchanged ──> repeatable (engine/plan/settle.ts)
 *                                          └── can't decide ──> an operator resolves it ──> applied | not-applied
 *
 * The third consecutive outdated or repeatable outcome also waits for an operator.
 *
 * Evidence takes precedence over an operator. Both count only after the settle window, because until then the request may
 * still take effect. "It did not happen" is concluded later, from a read that began after the time that the provider was
 * observed to need. For a creation, that is at least a minute (creations.ts).
 */
import { effectOf, isCreation } from '../../actions/index.ts';
import type { Clock } from '../../base/index.ts';
import { fingerprint, recordApplied, withoutIntent, type Target } from '../mutation/index.ts';
import {
  left,
  settle,
  unusableReason,
  waitFor,
  type Difference,
  type Plan,
  type Step,
  type Verdict,
} from '../plan/index.ts';
import type { ObjectKey } from '../../resources/index.ts';
import type { Intent, ObjectRecord, StateStore } from '../../state/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { AccountHandle } from '../accounts.ts';
import { named, resolveAdvice } from '../fleet/advice.ts';
import type { CapacityMemory } from './capacity-memory.ts';
import type { Creations } from './creations.ts';
import type { Money } from '../money/money.ts';
import type { Pass } from '../pass.ts';

export interface SettlementOptions {
  readonly store: StateStore;
  readonly clock: Clock;
  readonly money: Money;
  readonly capacity: CapacityMemory;
  readonly logger: Logger;
  readonly settleMs: number;
  readonly mode: 'manage' | 'preview';
  /** The flags that name this state on the command line. */
  readonly commandFlags?: string | undefined;
}

/** Interval of the check for an operator's decision. */
const wordRecheckMs = 2000;
/** The same change is sent this often without any response. Each one may restart a service. */
const mostUnanswered = 3;
/** Stands in for the digest of a field whose value is unknown. It equals no digest. */
const unknownDigest = 'unknown';

export class Settlement {
  readonly #options: SettlementOptions;
  readonly #creations: Creations;
  readonly #startedAtMs: number;
  /** Monotonic time at which an outcome became unknown in this process. */
  readonly #sinceMs = new Map<ObjectKey, number>();

  constructor(options: SettlementOptions, creations: Creations) {
    this.#options = options;
    this.#creations = creations;
    this.#startedAtMs = options.clock.monotonicMs();
  }

  /** A request has been sent, and its outcome is not known yet. */
  begin(key: ObjectKey): void {
    this.#sinceMs.set(key, this.#options.clock.monotonicMs());
  }

  end(key: ObjectKey): void {
    this.#sinceMs.delete(key);
  }

  /** Undefined once the outcome is known. Otherwise, what to wait for. */
  async settle(intent: Intent, pass: Pass, account: AccountHandle): Promise<Plan | undefined> {
    const { clock, settleMs, mode } = this.#options;
    const sinceMs = this.#sinceMs.get(intent.object) ?? this.#startedAtMs;
    const message = unknownText(intent, pass.record());
    const leftMs = sinceMs + settleMs - clock.monotonicMs();
    if (leftMs > 0 || mode === 'preview') {
      return waitFor('OutcomeUnknown', `${message}; looking for evidence`, {
        recheckAfterMs: Math.max(leftMs, 1) + 1,
      });
    }
    const patienceMs = this.#creations.patienceMs(effectOf(intent.action), account);
    const isPatient = clock.monotonicMs() < sinceMs + patienceMs;
    await pass.observe(account, sinceMs + (isPatient ? settleMs : patienceMs));
    const observation = pass.observation();
    const unusable = observation.kind === 'present' ? unusableReason(observation.value) : undefined;
    if (unusable !== undefined) return waitFor('OutcomeUnknown', `${message}; ${unusable}`);
    const plan = pass.plan();
    const verdict = settle(
      intent,
      observation,
      plan.differences,
      this.#creations.candidates(pass).length > 0,
    );
    const isSentAgain = verdict === 'outdated' || verdict === 'repeatable';
    if ((verdict === 'not-applied' || isSentAgain) && isPatient) {
      return waitFor('OutcomeUnknown', `${message}; no read shows that it was, and it may still take effect`);
    }
    const isFutile = verdict === 'not-applied' && this.#creations.isAnsweredWithOther(intent);
    if (isFutile) return this.#askPerson(intent, pass, verdict, message);
    if (verdict === 'applied' || verdict === 'not-applied') {
      await this.#close(intent, pass, verdict);
      return undefined;
    }
    if (isSentAgain) {
      const after = this.#unclear(intent, pass.record(), plan);
      if (after.repeated === undefined || after.repeated.count < mostUnanswered) {
        await this.#save(intent, verdict, after);
        return undefined;
      }
    }
    if (observation.kind === 'pending') return waitFor('OutcomeUnknown', `${message}; looking for evidence`);
    return this.#askPerson(intent, pass, verdict, message);
  }

  /** Hidden fields may have the value that was sent, or the earlier one. */
  #unclear(intent: Intent, record: ObjectRecord, plan: Plan): ObjectRecord {
    const { digestKey } = this.#options.store;
    const again = stepsOf(plan).find(({ action }) => action.do === intent.action);
    const mark = again && fingerprint(again.action, digestKey);
    const before = record.repeated?.fingerprint === mark ? (record.repeated?.count ?? 0) : 0;
    return {
      ...record,
      ...(isCreation(intent.action) ? unresolvedCreation(intent) : {}),
      applied: { ...record.applied, ...notKnown(left(intent, plan.differences)) },
      repeated: mark === undefined ? undefined : { fingerprint: mark, count: before + 1 },
    };
  }

  async #askPerson(intent: Intent, pass: Pass, verdict: Verdict, message: string): Promise<Plan | undefined> {
    const word = this.#options.store.resolution(intent.object);
    if (word?.idempotencyKey !== intent.idempotencyKey) {
      return verdict === undefined
        ? waitFor('OutcomeUnknown', `${message}; looking for evidence`)
        : waitFor(
            'OutcomeUnknown',
            `${message}, and what the API shows can't decide that${candidatesText(this.#creations.candidates(pass), intent)}. ${resolveAdvice(effectOf(intent.action), intent.object, this.#options.commandFlags)}`,
            {
              recheckAfterMs: wordRecheckMs,
              stalled: true,
            },
          );
    }
    const problem = word.applied && word.id !== undefined ? pass.claim(word.id) : undefined;
    if (problem !== undefined) {
      return waitFor(
        'OutcomeUnknown',
        `${message}. The decision that it made ${word.id} can't be used: ${problem}`,
        {
          recheckAfterMs: wordRecheckMs,
          stalled: true,
        },
      );
    }
    await this.#close(intent, pass, word.applied ? 'applied' : 'not-applied', { madeId: word.id });
    // The observation was made before that decision.
    return waitFor('AwaitingObservation', 'an operator has resolved the outcome; observing again');
  }

  async #close(
    intent: Intent,
    pass: Pass,
    verdict: 'applied' | 'not-applied',
    /** Decided by an operator. */
    resolved?: { readonly madeId: string | undefined },
  ): Promise<void> {
    const record = pass.record();
    // The absence in one read suffices to send the same request again, and for nothing else.
    const creation = resolved ? { creationInDoubt: undefined } : unresolvedCreation(intent);
    const after =
      verdict === 'applied'
        ? {
            ...recordSettled(record, intent, pass.target()),
            creationInDoubt: undefined,
            beforeCreation: undefined,
            ...made(resolved?.madeId),
          }
        : {
            ...withoutIntent(record, intent, pass.target().remember),
            ...(isCreation(intent.action) ? creation : {}),
          };
    await this.#save(intent, verdict, after);
  }

  async #save(
    intent: Intent,
    verdict: 'applied' | 'not-applied' | 'outdated' | 'repeatable',
    after: ObjectRecord,
  ): Promise<void> {
    const { store, clock, logger, money, capacity } = this.#options;
    const { object, action, idempotencyKey } = intent;
    const settled = { ...intent, digests: undefined, outcome: verdict, finishedAt: clock.wallMs() };
    await store.saveIntent(settled, after);
    // A change that may have happened may cost money.
    money.answered(object, verdict === 'not-applied' ? verdict : 'applied');
    capacity.settled(object, verdict === 'applied');
    this.end(object);
    logger.info({ object, action, idempotencyKey, verdict }, 'unknown outcome settled');
  }
}

function stepsOf(plan: Plan): readonly Step[] {
  if (plan.kind === 'act') return [plan.step, ...plan.later];
  return plan.kind === 'in-sync' || plan.kind === 'arrange' ? [] : plan.steps;
}

/** The things that an operator has to examine. */
function candidatesText(candidates: readonly string[], { action }: Intent): string {
  return isCreation(action) && candidates.length > 0 ? `: it may have made ${named(candidates)}` : '';
}

function unresolvedCreation({ idempotencyKey }: Intent): Pick<ObjectRecord, 'creationInDoubt'> {
  return { creationInDoubt: { idempotencyKey } };
}

/** A field that was possibly changed remains so: it has not been edited. */
function notKnown(differences: readonly Difference[]): Record<string, string> {
  const paths = differences.filter(({ revisionMoved }) => !revisionMoved).map(({ path }) => path);
  return Object.fromEntries(paths.map((path) => [path, unknownDigest]));
}

function made(id: string | undefined): Partial<ObjectRecord> {
  return id === undefined
    ? {}
    : { externalId: id, unproven: false, distrusted: undefined, deletedByUs: false };
}

/** What was sent came from the document and the Secrets of that time. The current ones may differ. */
function recordSettled(record: ObjectRecord, intent: Intent, target: Target): ObjectRecord {
  const ofEarlierVersion = intent.generation === record.generation ? target.digests : {};
  const digests = intent.digests ?? ofEarlierVersion;
  const { restartToken } = intent;
  return recordApplied(record, intent.action, { ...target, digests, restartToken });
}

/** A plan has no step of it yet, so what its end will be is stated here. */
function unknownText({ action, note }: Intent, { deletionRequestedAt, manifest }: ObjectRecord): string {
  const isKept = (manifest.spec as { readonly deletionPolicy?: unknown }).deletionPolicy === 'Retain';
  const ends = deletionRequestedAt !== undefined && !isKept && effectOf(action) !== 'delete';
  const end = ends ? '. Its document is gone: once that is known, what there is of it is deleted' : '';
  return `${action} may or may not have been applied (${note ?? 'no response was recorded'})${end}`;
}
