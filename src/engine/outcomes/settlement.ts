/**
 * Outcomes that are not known: of which mutation since when, and what becomes of them.
 *
 *     unknown ── settle window over ──> evidence ── tells ──> applied | not-applied
 *                                          ├── its revision has moved ──> outdated (engine/plan/settle.ts); the third time in a row as below
 *                                          ├── it may be sent again as it is ──> repeatable (engine/plan/settle.ts); the third time in a row as below
 *                                          └── can't tell ──> a person's word ──> applied | not-applied
 *
 * Evidence goes before the word of a person. Both count only once the settle window is over: until then the request may still
 * take effect. That it did not happen is concluded later, from a read that began when the provider has had as long as it was
 * seen to need; for a creation that is a minute at least (creations.ts).
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
import type { Creations } from './creations.ts';
import type { Money } from '../money/money.ts';
import type { Pass } from '../pass.ts';

export interface SettlementOptions {
  readonly store: StateStore;
  readonly clock: Clock;
  readonly money: Money;
  readonly logger: Logger;
  readonly settleMs: number;
  readonly mode: 'manage' | 'preview';
  /** How this state is named on the command line. */
  readonly commandFlags?: string | undefined;
}

/** How often a person's word is asked for. */
const wordRecheckMs = 2000;
/** So often the same change is sent without any answer: each time may restart a service. */
const mostUnanswered = 3;
/** In the place of a digest, of a field of which nobody knows what it is: it is none of a value. */
const unknownDigest = 'unknown';

export class Settlement {
  readonly #options: SettlementOptions;
  readonly #creations: Creations;
  readonly #startedAtMs: number;
  /** Monotonic time at which an outcome of this process became unknown. */
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

  /** Undefined once the outcome is known, else what to wait for. */
  async settle(intent: Intent, pass: Pass, account: AccountHandle): Promise<Plan | undefined> {
    const { clock, settleMs, mode } = this.#options;
    const sinceMs = this.#sinceMs.get(intent.object) ?? this.#startedAtMs;
    const message = `${intent.action} may or may not have been applied (${intent.note ?? 'the process ended before its answer'})`;
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
      return waitFor('OutcomeUnknown', `${message}; nothing shows that it was, and it may still be`);
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

  /** What is hidden may be as it was sent, or as it was before. */
  #unclear(intent: Intent, record: ObjectRecord, plan: Plan): ObjectRecord {
    const { digestKey } = this.#options.store;
    const again = stepsOf(plan).find(({ action }) => action.do === intent.action);
    const mark = again && fingerprint(again.action, digestKey);
    const before = record.repeated?.fingerprint === mark ? (record.repeated?.count ?? 0) : 0;
    return {
      ...record,
      ...(isCreation(intent.action) ? inDoubt(intent) : {}),
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
            `${message}, and what the API shows can't tell${candidatesText(this.#creations.candidates(pass), intent)}. ${resolveAdvice(effectOf(intent.action), intent.object, this.#options.commandFlags)}`,
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
        `${message}. The word that ${word.id} is what it made can't be taken: ${problem}`,
        {
          recheckAfterMs: wordRecheckMs,
          stalled: true,
        },
      );
    }
    await this.#close(intent, pass, word.applied ? 'applied' : 'not-applied', { madeId: word.id });
    // What was looked at before did not know of the word.
    return waitFor('AwaitingObservation', 'a person has said what came of it; looking again');
  }

  async #close(
    intent: Intent,
    pass: Pass,
    verdict: 'applied' | 'not-applied',
    /** Of a person, who knows. */
    resolved?: { readonly madeId: string | undefined },
  ): Promise<void> {
    const record = pass.record();
    // What one read does not show is good enough to send the same request again, and for nothing else.
    const doubt = resolved ? { creationInDoubt: undefined } : inDoubt(intent);
    const after =
      verdict === 'applied'
        ? {
            ...recordSettled(record, intent, pass.target()),
            creationInDoubt: undefined,
            beforeCreation: undefined,
            ...made(resolved?.madeId),
          }
        : { ...withoutIntent(record, intent), ...(isCreation(intent.action) ? doubt : {}) };
    await this.#save(intent, verdict, after);
  }

  async #save(
    intent: Intent,
    verdict: 'applied' | 'not-applied' | 'outdated' | 'repeatable',
    after: ObjectRecord,
  ): Promise<void> {
    const { store, clock, logger, money } = this.#options;
    const { object, action, idempotencyKey } = intent;
    const settled = { ...intent, digests: undefined, outcome: verdict, finishedAt: clock.wallMs() };
    await store.saveIntent(settled, after);
    // What may have happened may cost.
    money.answered(object, verdict === 'not-applied' ? verdict : 'applied');
    this.end(object);
    logger.info({ object, action, idempotencyKey, verdict }, 'unknown outcome settled');
  }
}

function stepsOf(plan: Plan): readonly Step[] {
  if (plan.kind === 'act') return [plan.step, ...plan.later];
  return plan.kind === 'in-sync' ? [] : plan.steps;
}

/** What a person has to look at. */
function candidatesText(candidates: readonly string[], { action }: Intent): string {
  return isCreation(action) && candidates.length > 0 ? `: it may have made ${named(candidates)}` : '';
}

function inDoubt({ idempotencyKey }: Intent): Pick<ObjectRecord, 'creationInDoubt'> {
  return { creationInDoubt: { idempotencyKey } };
}

/** A field in doubt goes on to be so: it has not been edited. */
function notKnown(differences: readonly Difference[]): Record<string, string> {
  const paths = differences.filter(({ doubt }) => !doubt).map(({ path }) => path);
  return Object.fromEntries(paths.map((path) => [path, unknownDigest]));
}

function made(id: string | undefined): Partial<ObjectRecord> {
  return id === undefined
    ? {}
    : { externalId: id, unproven: false, distrusted: undefined, deletedByUs: false };
}

/** What was sent was of the document, and of the Secrets, of that time: later ones may ask for something else. */
function recordSettled(record: ObjectRecord, intent: Intent, target: Target): ObjectRecord {
  const ofEarlierVersion = intent.generation === record.generation ? target.digests : {};
  const digests = intent.digests ?? ofEarlierVersion;
  const { restartToken } = intent;
  return recordApplied(record, intent.action, { ...target, digests, restartToken });
}
