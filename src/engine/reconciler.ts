/**
 * One pass over one object: desired and observed state in, at most one mutation out, and a status.
 *
 *     gather ─> (settle an open outcome) ─> plan ─> (fresh reads ─> plan again) ─> execute ─> status
 *
 * The first plan is made from the account snapshot and costs no request. Only if it has a step, the thing itself is read, if it is there, and
 * its activities before a disruption. Then the planner runs again. So every change of a thing is based on a read that was made for it.
 */
import type { Outcome } from '../api/index.ts';
import { sameValue } from '../base/index.ts';
import { execute, sameRequest, type Receipt } from './mutation/index.ts';
import {
  activitiesFreshMs,
  inSync,
  observed,
  remediationReason,
  waitFor,
  withCauses,
  type Act,
  type Plan,
  type Step,
} from './plan/index.ts';
import { entryOf } from '../reasons/index.ts';
import { parseObjectKey, type ObjectKey } from '../resources/index.ts';
import { lastReport, type ObjectRecord } from '../state/index.ts';
import { buildStatus } from './status/index.ts';
import type { AccountHandle } from './accounts.ts';
import { whyItIsSent } from './asking.ts';
import { blockedBy } from './blocked.ts';
import { Creations } from './outcomes/creations.ts';
import { decide, undecided, withUnconfirmed, type Decision, type PassResult } from './decision.ts';
import { causeOfNewDrift, hasNewDrift } from './observation/drift-cause.ts';
import { DriftWatch, type DriftWatchOptions } from './observation/drift-watch.ts';
import { ErrorReasons } from './outcomes/error-reasons.ts';
import { Exchanges } from './admission/exchanges.ts';
import { LastMutations, startOfOldestRead } from './outcomes/last-mutations.ts';
import { AbsenceProofs } from './observation/observe.ts';
import { behindSource, learnFromRefusal, Backoffs, outdated, unverified } from './outcomes/backoffs.ts';
import { leaving } from './leaving.ts';
import { reportSaved } from './pass-labels.ts';
import { Pass, type PassOptions } from './pass.ts';
import { foreseen, refusedStep, rosterGuard } from './step-guard.ts';
import type { ReconcilerOptions } from './reconciler-options.ts';
import { PolicyGate } from './step-policy.ts';
import { Settlement } from './outcomes/settlement.ts';
import { Transitions } from './observation/transitions.ts';
import { ReadConsistency } from './observation/read-consistency.ts';
import { Waits } from './observation/waits.ts';
import { wakeAfter, wakeOfPreview, type Wake } from './wake.ts';
import type { QueueLane } from './workqueue.ts';

type Planned = Pick<ObjectRecord, 'key' | 'uid' | 'generation' | 'deletionRequestedAt'>;

export class Reconciler {
  readonly #options: ReconcilerOptions;
  readonly #absenceProofs: AbsenceProofs;
  readonly driftWatch: DriftWatch;
  readonly #exchanges: Exchanges;
  readonly #creations: Creations;
  readonly #errorReasons = new ErrorReasons();
  readonly #lastMutations = new LastMutations();
  readonly #backoffs: Backoffs;
  readonly #settlement: Settlement;
  readonly #transitions: Transitions;
  readonly #readConsistency: ReadConsistency;
  readonly #waits = new Waits();
  readonly #policy: PolicyGate;
  readonly #passOptions: PassOptions;

  constructor(options: ReconcilerOptions) {
    this.#options = options;
    const peek: DriftWatchOptions['peek'] = (key, ...at) => this.#passOf(key).peek(...at);
    this.driftWatch = new DriftWatch({ ...options, peek });
    this.#exchanges = new Exchanges(options);
    this.#creations = new Creations(options);
    const settleMs = options.mode === 'preview' ? 0 : options.settleMs;
    this.#absenceProofs = new AbsenceProofs({ ...options, settleMs, creations: this.#creations });
    this.#backoffs = new Backoffs(options);
    this.#readConsistency = new ReadConsistency(options);
    this.#settlement = new Settlement(options, this.#creations);
    this.#transitions = new Transitions(options.logger);
    this.#policy = new PolicyGate(options);
    this.#passOptions = { ...options, driftWatch: this.driftWatch, absenceProofs: this.#absenceProofs };
  }

  /**
   * Must not run twice at the same time for one key; the workqueue ensures that. `lane`: requests for new or
   * edited objects don't wait behind those of other passes.
   */
  async pass(key: ObjectKey, lane: QueueLane = 'resync'): Promise<PassResult> {
    const record = this.#options.store.record(key);
    if (!record) {
      this.#forget(key);
      const wakes = this.#options.capacity.wakes();
      return { plan: inSync(), wake: { kind: 'never' }, statusChanged: false, removed: true, wakes };
    }
    // A process may have ended between a roster and its resources.
    await this.#options.ownedResources?.sync(key);
    const pass = this.#passOf(key);
    const account = pass.account();
    const blocked = blockedBy(this.#options, this.#creations, record, pass, account);
    const { handle } = account;
    const againAfterMs = blocked && (await pass.whileHeld(account));
    const isUrgent = lane === 'new' || lane === 'edit';
    const used = handle && isUrgent ? { ...handle, api: handle.api.urgent(lane) } : handle;
    const made = blocked ? undecided(blocked) : await this.#planAndAct(record, pass, used);
    const decision = blocked ? made : this.#policy.ofRoster(pass, made, rosterGuard(this.#options, pass));
    const plan = this.#options.money.priced(handle, pass, this.#options.fleet.located(key, decision.plan));
    if (blocked) this.#exchanges.forget(key);
    this.#options.capacity.concluded(key, plan);
    this.driftWatch.concluded(key, plan);
    const partners = blocked ? [] : this.#exchanges.saw(key, plan, pass, handle);
    const leaves = leaving(this.#options, pass, record.uid, plan);
    const last = { ...decision, plan: leaves ? await leaves : plan };
    // The document may have been edited during the pass.
    const concluded = await this.#conclude(record, pass, last, handle);
    // What was saved may concern others: a budget that stops them.
    const wakes = [...partners, ...this.#options.capacity.wakes(), ...this.#options.money.wakes()];
    const result = { ...concluded, wakes, news: [...(concluded.news ?? []), ...this.#policy.news(key)] };
    await this.#options.ownedResources?.sync(key);
    return againAfterMs === undefined
      ? result
      : { ...result, wake: { kind: 'after', delayMs: againAfterMs } };
  }

  #passOf(key: ObjectKey): Pass {
    return new Pass(key, this.#options.kinds[parseObjectKey(key).kind], this.#passOptions);
  }

  async #planAndAct(record: ObjectRecord, pass: Pass, account: AccountHandle | undefined): Promise<Decision> {
    const notBeforeMs = this.#lastMutations.notBeforeMs(record.key);
    if (!account) return this.#decide(pass, account);
    await pass.observe(account, notBeforeMs);
    this.#creations.sawFirst(pass);
    const distrusted = this.#readConsistency.check(pass, account);
    if (distrusted) return undecided(distrusted);
    const { store } = this.#options;
    const open = store.openIntent(record.key);
    const unsettled = open && (await this.#settlement.settle(open, pass, account));
    this.#creations.sawFirst(pass);
    const unclear = unsettled ?? (await this.#creations.review(pass, account));
    if (unclear) return undecided(unclear);
    this.#options.money.observed(pass);
    await this.#errorReasons.explain(pass, account);
    const unread = await pass.readWhileDraining(account);
    if (unread) return undecided(unread);
    const first = this.#decide(pass, account);
    const isNewDrift = hasNewDrift(pass, first.plan);
    const cause = isNewDrift ? await causeOfNewDrift(pass, account, store) : undefined;
    const stands = first.plan.kind === 'act' && !isNewDrift && !this.#readsMore(pass, account, first.plan);
    const pause = isNewDrift ? undefined : this.#backoffs.paused(account, first.plan);
    const acted = () => (stands ? this.#send(pass, account, first) : this.#act(pass, account, first));
    const { plan, settled } = pause ? undecided(pause) : await acted();
    const driftAcceptedUntil = this.#options.fleet.driftAcceptedUntil(record);
    const reported = {
      ...withCauses(plan, record.report?.drift ?? [], cause),
      ...(driftAcceptedUntil === undefined ? {} : { driftAcceptedUntil }),
    };
    return { plan: reported, settled };
  }

  /** Whether something is read before the step. Of a thing that is yet to be created, nothing is: the first plan stands. */
  #readsMore(pass: Pass, account: AccountHandle, plan: Act): boolean {
    const isThere = pass.observation().kind === 'present' && this.#options.mode !== 'preview';
    return isThere || plan.step.disruptive || this.#options.money.lacksPrice(account, pass, plan);
  }

  /** The snapshot shows that there is something to do. Observes again, and does it. */
  async #act(pass: Pass, account: AccountHandle, { plan: first, ...rest }: Decision): Promise<Decision> {
    if (first.kind !== 'act') return this.#options.money.withPrices(account, pass, { plan: first, ...rest });
    const preview = this.#options.mode === 'preview';
    const unread = preview ? undefined : await pass.refresh(account);
    if (unread) return undecided(unread);
    const distrusted = this.#readConsistency.check(pass, account);
    if (distrusted) return undecided(distrusted);
    const activitiesUnread = first.step.disruptive ? await pass.readActivities(account) : undefined;
    if (activitiesUnread) return undecided(activitiesUnread);
    await this.#errorReasons.explain(pass, account);
    let second = this.#decide(pass, account);
    if (this.#options.money.lacksPrice(account, pass, second.plan)) {
      await account.catalog.get();
      second = this.#decide(pass, account);
    }
    const isDisruptive = second.plan.kind === 'act' && second.plan.step.disruptive;
    if (first.step.disruptive || !isDisruptive) return this.#send(pass, account, second);
    const unreadNow = await pass.readActivities(account);
    return unreadNow ? undecided(unreadNow) : this.#send(pass, account, this.#decide(pass, account));
  }

  /** Synchronous from the decision to the intent: counters across objects can't change in between. */
  async #send(pass: Pass, account: AccountHandle, second: Decision): Promise<Decision> {
    const preview = this.#options.mode === 'preview';
    const { plan } = second;
    if (plan.kind !== 'act') return second;
    const demand = pass.demand(plan.step);
    const obstacle =
      behindSource(this.#options.fleet) ??
      unverified(account, plan) ??
      this.#policy.obstacle(pass.record(), plan, this.#costOf(account, pass)) ??
      refusedStep(this.#options, pass, plan.step) ??
      this.#backoffs.find(pass.record(), plan.step, account, demand !== undefined) ??
      this.#exchanges.obstacle(plan, pass, account) ??
      this.#options.capacity.obstacle(account, pass.record(), plan.step, demand);
    // Also in a preview: together with the plans of other objects it may be too much.
    if (preview && !obstacle) this.#options.money.reserve(account, pass, plan.step);
    if (obstacle || preview) return undecided(obstacle ?? plan);
    const old = outdated(account, plan, this.#options.clock.monotonicMs());
    return undecided(old ?? (await this.#execute(pass, account, plan)));
  }

  async #execute(pass: Pass, account: AccountHandle, plan: Act): Promise<Plan> {
    const { capacity, clock, fleet, money, store } = this.#options;
    const record = pass.record();
    this.#policy.sends(record.key);
    const demand = pass.demand(plan.step);
    const ifRefused = capacity.ask(account, record.key, demand);
    const estimate = money.reserve(account, pass, plan.step);
    this.#exchanges.begin(plan.step, pass, account);
    const wasThere = (id: string) => this.#creations.wasThere(record.key, pass, id);
    const unmarked = () => pass.unmarked();
    const request = { estimate, account: account.name, keyDigest: account.keyDigest(), wasThere, unmarked };
    const planned = {
      ...withUnconfirmed(pass.target(), plan.differences),
      ...request,
      demand,
      ifRefused,
      answered: (answer: Outcome<Receipt>) => capacity.answered(record.key, answer),
    };
    const why = whyItIsSent(this.#options, record.key, plan.step, planned.restartToken);
    const target = { ...this.#creations.targetOf(record, plan.step, planned), why };
    this.driftWatch.corrected(record.key, account, plan.step.differences);
    if (plan.step.reason === remediationReason) fleet.remediating.add(record.key);
    const knownSinceMs = pass.activitiesSinceMs ?? clock.monotonicMs();
    let sentAtMs: number | undefined;
    const isStillPlanned = () => {
      sentAtMs = clock.monotonicMs();
      this.#creations.aboutToSend(pass, account);
      return this.#isStillPlanned(pass, plan.step, knownSinceMs);
    };
    let outcome: Outcome<Receipt>;
    try {
      outcome = await execute(this.#options, account.api, plan.step, target, isStillPlanned);
    } catch (error) {
      // What could not be written down was not sent; an outcome that could not be is not known.
      if (store.openIntent(record.key)) this.#creations.ended(record, plan.step.action, target);
      else {
        money.answered(record.key, 'not-sent');
        capacity.answered(record.key, { kind: 'not-sent', reason: '' });
      }
      throw error;
    } finally {
      // Even if the outcome could not be saved: earlier reads no longer count.
      this.#lastMutations.ended(record.key, clock.monotonicMs());
      this.#settlement.begin(record.key);
      fleet.remediating.delete(record.key);
    }
    money.answered(record.key, outcome.kind);
    if (outcome.kind !== 'unknown') this.#settlement.end(record.key);
    if (sentAtMs !== undefined) this.#creations.took(account.name, clock.monotonicMs() - sentAtMs);
    this.#creations.ended(record, plan.step.action, target);
    this.#absenceProofs.forget(record.key);
    if (outcome.kind === 'applied') {
      this.#backoffs.applied(record, plan.step.action);
      return plan;
    }
    if (outcome.kind === 'unknown') {
      return waitFor('OutcomeUnknown', `${plan.step.action.do}: ${outcome.reason}`, {
        recheckAfterMs: this.#options.settleMs + 1,
        differences: plan.differences,
        steps: [plan.step],
      });
    }
    if (outcome.kind === 'refused') learnFromRefusal(account, outcome);
    const after = store.record(record.key) ?? record;
    const isForCapacity = outcome.kind === 'not-sent' || outcome.meaning === 'CapacityUnavailable';
    const scarce = isForCapacity ? capacity.obstacle(account, after, plan.step, demand) : undefined;
    const pause = outcome.kind === 'not-sent' ? this.#backoffs.paused(account, plan) : undefined;
    return pause ?? scarce ?? this.#backoffs.planAfter(after, plan, outcome);
  }

  /** While a request waits in the limiter, tasks, brakes, annotations, windows, the Account and activities may change. */
  #isStillPlanned(pass: Pass, step: Step, knownSinceMs: number): boolean {
    const { clock, fleet } = this.#options;
    const account = pass.account();
    if (fleet.behind || blockedBy(this.#options, this.#creations, pass.record(), pass, account)) return false;
    if (refusedStep(this.#options, pass, step)) return false;
    if (step.disruptive && clock.monotonicMs() - knownSinceMs > activitiesFreshMs) return false;
    const now = this.#creations.instead(pass, account.handle, pass.plan());
    if (account.handle && now.kind === 'act' && outdated(account.handle, now, clock.monotonicMs()))
      return false;
    if (now.kind === 'act' && this.#exchanges.obstacle(now, pass, account.handle)) return false;
    if (!this.#options.capacity.mayStill(pass.key)) return false;
    const cost = account.handle && this.#costOf(account.handle, pass);
    if (cost && !this.#policy.stillAllows(pass.record(), now, cost)) return false;
    // Its own recorded restart is no reason to wait.
    if (step.reason === remediationReason && pass.mayRemediate()) return true;
    // Nobody has read the activities for a step that seemed to interrupt nothing.
    if (now.kind === 'act' && now.step.disruptive && !step.disruptive) return false;
    return now.kind === 'act' && sameRequest(now.step.action, step.action);
  }

  async #conclude(
    { key, uid, generation, deletionRequestedAt }: Planned,
    pass: Pass,
    { plan, settled: learned }: Decision,
    account: AccountHandle | undefined,
  ): Promise<PassResult> {
    const { store, clock, logger, stopping } = this.#options;
    const record = store.record(key);
    if (record?.uid !== uid) {
      // In a cluster, an object may vanish during its pass. Another one of its name has its own pass.
      if (!record) this.#forget(key);
      const wake: Wake = { kind: record ? 'now' : 'never' };
      return { plan, wake, statusChanged: false, removed: !record };
    }
    if (record.deletionRequestedAt !== deletionRequestedAt) {
      // It was removed or restored during the pass, so the result no longer applies.
      await store.flush(key);
      return { plan, wake: { kind: 'now' }, statusChanged: false, removed: false };
    }
    if (plan.kind === 'in-sync' && deletionRequestedAt !== undefined) {
      const leaves = pass.isGivenUp() ? record.externalId : undefined;
      const leftUntil = leaves === undefined ? undefined : this.#absenceProofs.leave(record, account);
      await this.#options.money.removing(key, () => store.remove(key, leftUntil));
      this.#forget(key);
      logger.info({ object: key, id: record.externalId }, 'object removed');
      const result = { plan, wake: { kind: 'never' }, statusChanged: true, removed: true } as const;
      return leaves === undefined ? result : { ...result, leaves };
    }
    if (plan.kind === 'in-sync') this.#backoffs.cleared(key);
    this.#options.money.concluded(key, account?.name, plan);
    const observation = pass.observation();
    const settled = {
      ...record,
      ...learned,
      ...observed(record, observation, plan, clock.wallMs()),
    };
    if (settled.seen?.id === record.seen?.id) {
      this.#transitions.saw(pass.kind.name, record.seen?.state, settled.seen?.state);
    }
    const duplicates = pass.duplicates();
    const { kind = settled.kind, news: shown = [], ...reported } = pass.statusInputs();
    const isPreview = this.#options.mode === 'preview';
    const arrange = plan.kind === 'arrange' && (!isPreview || plan.recalls) ? plan : undefined;
    const { state: arranged, handled, revisions, news: arrangedNews = [] } = arrange ?? {};
    const news = [...shown, ...arrangedNews];
    const commanded = handled ? { lastCommand: { ...handled, at: clock.wallMs() } } : {};
    const status = buildStatus({
      record: { ...settled, ...commanded, generation },
      plan,
      lastIntent: store.lastIntent(key),
      wallMs: clock.wallMs(),
      readSince: this.#waits.since(key, plan, clock.wallMs()),
      duplicates,
      ...reported,
    });
    const known = { ...settled, ...commanded, kind: arranged ?? kind };
    const next = { ...known, status, report: lastReport(status, record.report, clock.wallMs()) };
    // A pass that was interrupted by a stop has nothing true to report.
    const cut = stopping() && plan.kind === 'wait' && entryOf(plan.reason).cutByStop;
    const changed = !cut && !sameValue(next, record);
    const earlier = store.revisions(key);
    if (changed) {
      await ((arranged ?? revisions) !== undefined
        ? store.saveOwner(next, revisions, () => this.#options.fleet.rederive())
        : store.save(next));
      reportSaved(this.#options, key, { ...arrange, news }, earlier);
    } else {
      await store.flush(key);
    }
    // A preview makes one observation, because no step is taken.
    const wake = isPreview ? wakeOfPreview(plan, account) : wakeAfter(plan, account, clock.wallMs());
    const more = { ...foreseen(this.#options, pass, plan, account), news: changed ? news : [] };
    return { plan, wake, statusChanged: changed, removed: false, duplicates, ...more };
  }

  #costOf(account: AccountHandle, pass: Pass) {
    return (step: Step) => {
      const pricing = pass.pricing(step);
      return pricing && this.#options.money.cost(account, pricing);
    };
  }

  #decide(pass: Pass, account: AccountHandle | undefined): Decision {
    const plan = this.#creations.instead(pass, account, pass.plan());
    return decide(pass, plan, this.#options.clock.wallMs());
  }

  #forget(key: ObjectKey): void {
    this.#lastMutations.forget(key, startOfOldestRead(this.#options.accounts.handles()));
    const { fleet, money, capacity, readiness, measurements, registrations } = this.#options;
    const { readings, searches } = fleet;
    const own = [this.#backoffs, this.#readConsistency, this.#waits, this.#exchanges, this.#creations];
    const others = [this.driftWatch, this.#absenceProofs, this.#errorReasons, money, capacity, registrations];
    for (const memory of [...own, ...others, readings, searches]) memory.forget(key);
    this.#settlement.end(key);
    readiness.unwatch(key);
    measurements.take(key, []);
  }
}
