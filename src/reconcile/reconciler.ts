/**
 * One pass over one object: desired and observed in, at most one mutation out, status told.
 *
 *     gather ─> (settle an open outcome) ─> plan ─> fresh reads ─> plan again ─> execute ─> status
 *
 * The first plan is made from the account snapshot and costs no request. Only when it says "act" is the object
 * itself read (and, before anything disruptive, its activities), and the planner asked once more with that; a
 * mutation therefore always rests on a read made for it.
 */
import { describeOutcome, type Outcome } from '../api/index.ts';
import { backoffMs, invariant, sameValue, type Clock, type Random } from '../base/index.ts';
import {
  classifyRefusal,
  execute,
  fingerprint,
  recordApplied,
  type Receipt,
  withoutIntent,
  type Target,
} from '../execute/index.ts';
import {
  holdFor,
  inSync,
  settle,
  waitFor,
  type ActionName,
  type Gate,
  type Owner,
  type Plan,
  type Step,
} from '../plan/index.ts';
import type { ObjectKey } from '../resources/index.ts';
import { buildStatus } from '../status/index.ts';
import type { Intent, ObjectRecord, StateStore } from '../state/index.ts';
import type { Logger, Metrics } from '../telemetry/index.ts';
import type { AccountHandle, Accounts } from './accounts.ts';
import type { KindPass } from './kind-pass.ts';
import { kindOf } from './kinds.ts';
import { Absences } from './observe.ts';
import type { Fleet } from './fleet.ts';

export interface ReconcilerOptions {
  readonly store: StateStore;
  readonly owner: Owner;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly accounts: Accounts;
  readonly fleet: Fleet;
  /** After an unknown outcome: how long the request may still take effect. */
  readonly settleMs: number;
  /** No request is let through any more. */
  readonly stopping: () => boolean;
  /** `preview`: plan only; nothing is sent that changes anything. */
  readonly mode: 'manage' | 'preview';
}

/** When the object is to be looked at again by itself. */
export type Wake =
  | { readonly kind: 'never' }
  | { readonly kind: 'now' }
  | { readonly kind: 'after'; readonly delayMs: number }
  /** With the next account snapshot in which anything has changed. */
  | { readonly kind: 'change'; readonly account: AccountHandle }
  /** With the next account snapshot, which is asked for. */
  | { readonly kind: 'observation'; readonly account: AccountHandle };

export interface PassResult {
  readonly plan: Plan;
  readonly wake: Wake;
  readonly statusChanged: boolean;
  /** The object is gone for good. */
  readonly removed: boolean;
}

interface Obstacle {
  readonly fingerprint: string;
  readonly reason: string;
  readonly message: string;
  readonly untilMs: number;
  readonly failures: number;
}

/** The same correction is applied at most this often without the observation following it. */
const longestRepetition = 3;
/** How long an accepted request may take to show in what is read. */
const effectMs = 15_000;

export class Reconciler {
  readonly #options: ReconcilerOptions;
  readonly #absences: Absences;
  /** Snapshots that began before this say nothing of the object any more. */
  readonly #notBeforeMs = new Map<ObjectKey, number>();
  readonly #obstacles = new Map<ObjectKey, Obstacle>();
  readonly #startedAtMs: number;
  /** What was applied last, until it is seen in place: acceptance does not mean that it has happened (§1). */
  readonly #applied = new Map<ObjectKey, { fingerprint: string; atMs: number }>();
  /** Monotonic time at which an outcome of this process became unknown. */
  readonly #unknownSinceMs = new Map<ObjectKey, number>();

  constructor(options: ReconcilerOptions) {
    this.#options = options;
    this.#absences = new Absences(options.clock, options.mode === 'preview' ? 0 : options.settleMs);
    this.#startedAtMs = options.clock.monotonicMs();
  }

  /** Must not be called twice at the same time for one key; the workqueue sees to that. */
  async pass(key: ObjectKey): Promise<PassResult> {
    const record = this.#options.store.record(key);
    if (!record)
      return {
        plan: { kind: 'in-sync', differences: [] },
        wake: { kind: 'never' },
        statusChanged: false,
        removed: true,
      };
    const kind = kindOf(key, this.#options, this.#absences);
    const account = kind.account();
    const blocked = this.#blocked(record, kind, account);
    const plan = this.#located(key, blocked ?? (await this.#planAndAct(record, kind, account.handle)));
    return this.#conclude(key, kind, plan, account.handle);
  }

  /** A person who has to change a field is told where it is written. */
  #located(key: ObjectKey, plan: Plan): Plan {
    if (plan.kind !== 'hold' || plan.path === undefined) return plan;
    return { ...plan, message: `${this.#options.fleet.whereIs(key, plan.path)}${plan.message}` };
  }

  /** What keeps the object from being looked at any further. */
  #blocked(record: ObjectRecord, kind: KindPass, account: ReturnType<KindPass['account']>): Plan | undefined {
    const { fleet } = this.#options;
    const problem = fleet.snapshot.unusable.get(record.key)?.[0];
    if (problem) {
      const where = `${problem.file}${problem.line === undefined ? '' : `:${problem.line}`}`;
      return holdFor(
        'InvalidSpec',
        `${where}: ${problem.path ? `${problem.path}: ` : ''}${problem.message}; ${problem.remedy}`,
      );
    }
    const gate = fleet.lingering.get(record.key);
    if (gate) return fromGate(gate);
    if (account.problem) return kind.released() ? inSync() : account.problem;
    const failure = account.handle?.informer.failure;
    if (!failure) return undefined;
    const rejected = failure.outcome.kind === 'refused' && failure.outcome.status === 401;
    return waitFor(rejected ? 'CredentialRejected' : 'ApiUnreachable', failure.message);
  }

  async #planAndAct(record: ObjectRecord, kind: KindPass, account: AccountHandle | undefined): Promise<Plan> {
    const notBeforeMs = this.#notBeforeMs.get(record.key) ?? Number.NEGATIVE_INFINITY;
    if (account) await kind.observe(account, notBeforeMs);
    const open = this.#options.store.openIntent(record.key);
    if (open && account) {
      const unsettled = await this.#settle(open, kind, account);
      if (unsettled) return unsettled;
    }
    const first = kind.plan();
    if (first.kind !== 'act' || !account) return first;
    const preview = this.#options.mode === 'preview';
    const unread = preview ? undefined : await kind.refresh(account);
    if (unread) return unread;
    const second = await this.#planWithActivities(kind, account);
    if (second.kind !== 'act') return second;
    const obstacle = this.#obstacle(kind.record(), second.step);
    if (obstacle || preview) return obstacle ?? second;
    return this.#execute(kind, account, second);
  }

  /** Activities are read only when the plan would disrupt something, and then just before it does. */
  async #planWithActivities(kind: KindPass, account: AccountHandle): Promise<Plan> {
    const plan = kind.plan();
    if (plan.kind !== 'act' || !plan.step.disruptive) return plan;
    const unread = await kind.readActivities(account);
    return unread ?? kind.plan();
  }

  /** Undefined once the outcome is settled, else what to wait for. */
  async #settle(intent: Intent, kind: KindPass, account: AccountHandle): Promise<Plan | undefined> {
    const { clock, settleMs, store, logger, mode } = this.#options;
    const sinceMs = this.#unknownSinceMs.get(intent.object) ?? this.#startedAtMs;
    const message = `${intent.action} may or may not have been applied (${intent.note ?? 'the process ended before its answer'}); looking for evidence`;
    const leftMs = sinceMs + settleMs - clock.monotonicMs();
    if (leftMs > 0 || mode === 'preview') {
      return waitFor('OutcomeUnknown', message, { recheckAfterMs: Math.max(leftMs, 1) + 1 });
    }
    await kind.observe(account, sinceMs + settleMs);
    const verdict = settle(intent, kind.observation(), kind.plan().differences);
    if (!verdict) return waitFor('OutcomeUnknown', message);
    const record = kind.record();
    const action = intent.action as ActionName;
    const after =
      verdict === 'applied' ? recordSettled(record, intent, kind.target()) : withoutIntent(record, action);
    await store.saveIntent({ ...intent, outcome: verdict, finishedAt: clock.wallMs() }, after);
    this.#unknownSinceMs.delete(intent.object);
    logger.info(
      { object: intent.object, action: intent.action, idempotencyKey: intent.idempotencyKey, verdict },
      'unknown outcome settled',
    );
    return undefined;
  }

  /** A step that was refused for good, is backing off, or does not take effect. */
  #obstacle(record: ObjectRecord, step: Step): Plan | undefined {
    const { store, clock } = this.#options;
    const mark = fingerprint(step.action, store.digestKey);
    const rest = { steps: [step], differences: step.differences };
    const { refusal, repeated } = record;
    if (record.unproven && !store.ownerConfirmed && 'id' in step.action) {
      return holdFor(
        'OwnershipUnproven',
        `${step.action.id} carries the mark of the owner "${store.ownerName}", but it was not made with this state file. ` +
          `If it is this fleet's, and its state was lost, say so once with --owner ${store.ownerName}. ` +
          'If another fleet goes by that name, give this one a name of its own with --owner, and a new state file',
        rest,
      );
    }
    if (refusal?.fingerprint === mark) {
      const verdict = classifyRefusal({ kind: 'refused', retryAfterMs: undefined, ...refusal });
      const over =
        verdict.kind === 'wait' ||
        clock.wallMs() >= refusal.at + (verdict.retryAfterMs ?? Number.POSITIVE_INFINITY);
      if (!over) {
        return holdFor(
          verdict.reason,
          `${refusal.action} was refused with ${refusal.status} ${refusal.code}: ${refusal.message}; it is not sent again until the spec changes`,
          rest,
        );
      }
    }
    if (repeated?.fingerprint === mark && repeated.count >= longestRepetition) {
      return holdFor(
        'NotTakingEffect',
        `${step.action.do} was applied ${repeated.count} times, and the API still shows another value; write the value as the API shows it, or leave the field out`,
        rest,
      );
    }
    const applied = this.#applied.get(record.key);
    if (applied?.fingerprint === mark && clock.monotonicMs() < applied.atMs + effectMs) {
      return waitFor('AwaitingEffect', `${step.action.do} was accepted and has not taken effect yet`, rest);
    }
    const obstacle = this.#obstacles.get(record.key);
    const leftMs = obstacle?.fingerprint === mark ? obstacle.untilMs - clock.monotonicMs() : 0;
    return obstacle && leftMs > 0
      ? waitFor(obstacle.reason, obstacle.message, { ...rest, recheckAfterMs: leftMs + 1 })
      : undefined;
  }

  async #execute(kind: KindPass, account: AccountHandle, plan: Plan & { kind: 'act' }): Promise<Plan> {
    const { clock, store } = this.#options;
    const record = kind.record();
    const outcome = await execute(this.#options, account.api, plan.step, kind.target()).finally(() => {
      // Also when the outcome could not be written down: what was read before says nothing any more.
      this.#notBeforeMs.set(record.key, clock.monotonicMs());
      this.#unknownSinceMs.set(record.key, clock.monotonicMs());
    });
    if (outcome.kind !== 'unknown') this.#unknownSinceMs.delete(record.key);
    this.#absences.forget(record.key);
    if (outcome.kind === 'applied') {
      this.#obstacles.delete(record.key);
      const mark = fingerprint(plan.step.action, store.digestKey);
      this.#applied.set(record.key, { fingerprint: mark, atMs: clock.monotonicMs() });
      return plan;
    }
    if (outcome.kind === 'unknown') {
      return waitFor('OutcomeUnknown', `${plan.step.action.do}: ${outcome.reason}`, {
        recheckAfterMs: this.#options.settleMs + 1,
        differences: plan.differences,
        steps: [plan.step],
      });
    }
    if (outcome.kind === 'refused' && outcome.status === 401) account.informer.retryNow();
    return this.#meetObstacle(record.key, plan, outcome, fingerprint(plan.step.action, store.digestKey));
  }

  #meetObstacle(
    key: ObjectKey,
    plan: Plan & { kind: 'act' },
    outcome: Exclude<Outcome<Receipt>, { kind: 'applied' | 'unknown' }>,
    mark: string,
  ): Plan {
    const { clock, random } = this.#options;
    const rest = { steps: [plan.step], differences: plan.differences };
    const message = `${plan.step.action.do} ${describeOutcome(outcome)}`;
    const verdict =
      outcome.kind === 'refused'
        ? classifyRefusal(outcome)
        : { kind: 'wait' as const, reason: 'NotSent', backoff: { firstMs: 500, longestMs: 60_000 } };
    if (verdict.kind === 'hold') return holdFor(verdict.reason, message, rest);
    const before = this.#obstacles.get(key);
    const failures = before?.fingerprint === mark ? before.failures + 1 : 0;
    const askedMs = outcome.kind === 'refused' ? (outcome.retryAfterMs ?? 0) : 0;
    const delayMs = Math.max(askedMs, backoffMs(failures, verdict.backoff, random));
    this.#obstacles.set(key, {
      fingerprint: mark,
      reason: verdict.reason,
      message,
      failures,
      untilMs: clock.monotonicMs() + delayMs,
    });
    return waitFor(verdict.reason, message, { ...rest, recheckAfterMs: delayMs + 1 });
  }

  async #conclude(
    key: ObjectKey,
    kind: KindPass,
    plan: Plan,
    account: AccountHandle | undefined,
  ): Promise<PassResult> {
    const { store, clock, logger, metrics, stopping } = this.#options;
    const record = store.record(key);
    invariant(record, `the record of ${key} vanished during its pass`);
    if (plan.kind === 'in-sync' && record.deletionRequestedAt !== undefined) {
      await store.remove(key);
      this.#forget(key);
      logger.info({ object: key, id: record.externalId }, 'object removed');
      return { plan, wake: { kind: 'never' }, statusChanged: true, removed: true };
    }
    if (plan.kind === 'in-sync') this.#applied.delete(key);
    const settled = plan.kind === 'in-sync' ? { ...record, ...kind.settledRecord(plan) } : record;
    const status = buildStatus({
      record: settled,
      plan,
      lastIntent: store.lastIntent(key),
      wallMs: clock.wallMs(),
      ...kind.told(plan),
    });
    const next = { ...settled, status };
    // A pass that was cut short by our own stop has nothing true to tell.
    const cut = stopping() && plan.kind === 'wait' && cutReasons.has(plan.reason);
    const changed = !cut && !sameValue(next, record);
    if (changed) {
      await store.save(next);
      metrics.statusWrites.inc({ kind: kind.kind });
    }
    return { plan, wake: this.#wake(plan, account), statusChanged: changed, removed: false };
  }

  #forget(key: ObjectKey): void {
    for (const memory of [this.#notBeforeMs, this.#obstacles, this.#applied, this.#unknownSinceMs])
      memory.delete(key);
    this.#absences.forget(key);
  }

  #wake(plan: Plan, account: AccountHandle | undefined): Wake {
    switch (plan.kind) {
      case 'act':
        return account ? { kind: 'observation', account } : { kind: 'now' };
      case 'wait':
        // What the account read will tell is waited for there; what only time will tell, with a timer.
        return account && plan.recheckAfterMs <= observationMs
          ? { kind: 'observation', account }
          : { kind: 'after', delayMs: plan.recheckAfterMs };
      case 'hold':
        if (plan.reason === 'Forbidden') return { kind: 'after', delayMs: forbiddenRetryMs };
        return account ? { kind: 'change', account } : { kind: 'never' };
      case 'in-sync':
        return { kind: 'never' };
    }
  }
}

const observationMs = 1000;
const cutReasons = new Set(['Unreadable', 'ActivitiesUnreadable', 'NotSent']);
const forbiddenRetryMs = 600_000;

/** What was sent was of the document of that time: a later one may ask for something else. */
function recordSettled(record: ObjectRecord, intent: Intent, target: Target): ObjectRecord {
  const digests = intent.generation === record.generation ? target.digests : {};
  const { restartToken } = intent;
  return recordApplied(record, intent.action as ActionName, { ...target, digests, restartToken });
}

function fromGate(gate: Gate): Plan {
  return gate.kind === 'wait' ? waitFor(gate.reason, gate.message) : holdFor(gate.reason, gate.message);
}
