/**
 * Sends the heartbeats of all registrations of one account, at a pace without bursts. The longest overdue come first, and what is held has a
 * head start of two seconds. They are sent at most 1.8 times as fast as an even spread over the period. So after a start or an outage, thousands
 * of registrations catch up in little more than half a period, and no second has more than twice the mean, or than
 * four.
 *
 * Heartbeats that fall due within `togetherMs` are sent together, a few requests at a time. A wake-up costs the
 * process more than a request does, and a tenth of a second of delay does not matter.
 */
import TinyQueue from 'tinyqueue';
import { describeOutcome, type Outcome, type wire } from '../api/index.ts';
import { messageOf, type Clock, type Random, type Timer } from '../base/index.ts';
import type { Logger, Metrics } from '../telemetry/index.ts';
import { foundAfterRelease, isOver, permitOf } from './list-reads.ts';
import {
  answerMs,
  newRegistration,
  nextSlotMs,
  periodOf,
  phaseOf,
  retryMs,
  type Registration,
  type RegistrationRequest,
  type RegistrationState,
} from './registration.ts';

/** It counts only while its registration is due at this time: others have been put off, or taken. */
interface Turn {
  readonly registration: Registration;
  readonly atMs: number;
}

function turnsByTime(): TinyQueue<Turn> {
  return new TinyQueue<Turn>([], (left, right) => left.atMs - right.atMs);
}

export interface HeartbeatsOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** As in `HeartbeatLoopOptions`. */
  readonly settleMs: number;
  readonly mayAct?: (() => boolean) | undefined;
  readonly maySendHeartbeats?: (() => boolean) | undefined;
}

/** Until the API has answered its own. */
const assumedPeriodMs = 30_000;
/** Of the even spread: how much faster registrations may be made up for. */
const haste = 1.8;
const longestSpacingMs = 250;
/** A hundredth of the period, where that is less. */
const togetherMs = 100;
const mostTogether = 16;
const mostAtOnce = 32;
/** By so much what is held precedes what is to be registered or released: of these, many may come at once. */
const headStartMs = 2000;
/** A heartbeat is repeated with its key for so long; then it is a new one. */
const longestKeyMs = 10_000;
/** After so many failed reads of the list, an activity is released once more: nobody can see that it is not there. */
const mostUnread = 40;

export class AccountHeartbeats {
  readonly #account: string;
  readonly #options: HeartbeatsOptions;
  readonly #registrations = new Set<Registration>();
  /** Of what is held. */
  readonly #renewals = turnsByTime();
  /** Of what is to be registered or released. */
  readonly #others = turnsByTime();
  readonly #sending = new Set<Promise<void>>();
  readonly #stopping = new AbortController();
  #periodMs = assumedPeriodMs;
  #count = 0;
  #nextTurnAtMs = Number.NEGATIVE_INFINITY;
  #timer: Timer | undefined;

  constructor(account: string, options: HeartbeatsOptions) {
    this.#account = account;
    this.#options = options;
  }

  /** `isReleased`: the release of this activity has been acknowledged before. */
  add(request: RegistrationRequest, onChange: () => void, isReleased: boolean): Registration {
    const releases = request.wanted === 'released';
    const nowMs = this.#options.clock.monotonicMs();
    const place = { onChange, index: this.#count };
    const registration = newRegistration(request, place, nowMs, this.#lateUntilMs(nowMs));
    this.#count += 1;
    this.#registrations.add(registration);
    if (isReleased) registration.phase = releases ? 'released' : 'spent';
    else this.#due(registration, nowMs);
    this.#arm();
    return registration;
  }

  change(registration: Registration, request: RegistrationRequest): void {
    const turns = registration.request.wanted !== request.wanted;
    const hasNewKey = registration.request.releaseKey !== request.releaseKey;
    registration.request = request;
    if (registration.phase === 'released' || registration.phase === 'spent') return;
    if (!turns && !(hasNewKey && registration.release === 'shown')) return;
    if (turns && registration.release !== 'open') {
      registration.phase = 'spent';
      registration.dueAtMs = Number.POSITIVE_INFINITY;
      return;
    }
    if (registration.release === 'shown') registration.release = 'again';
    else if (request.wanted === 'held')
      registration.phase = registration.heartbeatAtMs === undefined ? 'registering' : 'held';
    else registration.phase = 'releasing';
    registration.key = undefined;
    registration.failures = 0;
    this.#due(registration, this.#options.clock.monotonicMs());
    this.#arm();
  }

  remove(registration: Registration): void {
    this.#registrations.delete(registration);
    this.#arm();
  }

  /** The next heartbeat is sent at once, unless the one before has failed, or it is due. */
  hurry(registration: Registration): void {
    const nowMs = this.#options.clock.monotonicMs();
    if (registration.failure !== undefined || registration.dueAtMs <= nowMs) return;
    this.#due(registration, nowMs);
    this.#arm();
  }

  stateOf({
    phase,
    heartbeatAtMs,
    expiresAtMs,
    failure,
    refusedWith,
    release,
  }: Registration): RegistrationState {
    const isShownAgain = phase === 'releasing' && release === 'shown';
    return { phase, heartbeatAtMs, expiresAtMs, failure, refusedWith, isShownAgain };
  }

  /** Sets the gauges of this account's registrations. */
  setMetrics(): void {
    const { metrics, clock } = this.#options;
    const account = this.#account;
    const nowMs = clock.monotonicMs();
    let soonestMs = Number.POSITIVE_INFINITY;
    for (const { phase, expiresAtMs } of this.#registrations) {
      if (phase !== 'released' && phase !== 'spent') metrics.registrations.inc({ account, phase });
      if (phase === 'held') soonestMs = Math.min(soonestMs, expiresAtMs ?? soonestMs);
    }
    if (Number.isFinite(soonestMs))
      metrics.registrationExpirySeconds.set({ account }, (soonestMs - nowMs) / 1000);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#timer?.cancel();
    await Promise.all(this.#sending);
  }

  /** Sets the timer for what is due first. */
  #arm(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    const { clock } = this.#options;
    const registration = this.#first(clock.monotonicMs());
    if (!registration || this.#sending.size >= mostAtOnce || this.#stopping.signal.aborted) return;
    const atMs = Math.max(registration.dueAtMs, this.#nextTurnAtMs);
    const delayMs = Math.max(0, Math.ceil(atMs - clock.monotonicMs()));
    this.#timer = clock.after(delayMs, () => this.#sendDue());
  }

  /** How many may be sent together, and how far apart they would be one by one. */
  #pace(): { readonly heartbeats: number; readonly spacingMs: number } {
    const evenMs = this.#periodMs / Math.max(1, this.#registrations.size);
    const spacingMs = Math.min(evenMs / haste, longestSpacingMs);
    const fitting = Math.round(Math.min(togetherMs, this.#periodMs / 100) / spacingMs);
    const heartbeats = Math.min(Math.max(1, fitting), mostTogether);
    return { heartbeats, spacingMs };
  }

  #sendDue(): void {
    const nowMs = this.#options.clock.monotonicMs();
    const { heartbeats, spacingMs } = this.#pace();
    for (let sent = 0; sent < heartbeats && this.#sending.size < mostAtOnce; sent += 1) {
      const registration = this.#first(nowMs);
      if (!registration || registration.dueAtMs > nowMs) break;
      this.#nextTurnAtMs = nowMs + heartbeats * spacingMs;
      // What gathers at the limiter would leave it as one burst. The turn ends early, and so the next one begins early.
      if (registration.request.api.heartbeatWaits()) {
        this.#nextTurnAtMs = nowMs + Math.max(1, sent) * spacingMs;
        break;
      }
      this.#send(registration, nowMs);
    }
    this.#arm();
  }

  #due(registration: Registration, atMs: number): void {
    registration.dueAtMs = atMs;
    if (registration.sending) return;
    const turns = registration.phase === 'held' ? this.#renewals : this.#others;
    turns.push({ registration, atMs });
  }

  #first(nowMs: number): Registration | undefined {
    const [renewal, other] = [this.#firstOf(this.#renewals), this.#firstOf(this.#others)];
    if (!renewal || !other) return renewal ?? other;
    const letsPass = renewal.dueAtMs <= Math.min(nowMs, other.dueAtMs + headStartMs);
    return letsPass || renewal.dueAtMs <= other.dueAtMs ? renewal : other;
  }

  #firstOf(turns: TinyQueue<Turn>): Registration | undefined {
    for (let turn = turns.peek(); turn; turn = turns.peek()) {
      const { registration, atMs } = turn;
      if (this.#registrations.has(registration) && !registration.sending && registration.dueAtMs === atMs)
        return registration;
      turns.pop();
    }
    return undefined;
  }

  #send(registration: Registration, nowMs: number): void {
    if (registration.phase === 'held') {
      this.#options.metrics.heartbeatLateSeconds.observe((nowMs - registration.dueAtMs) / 1000);
    }
    registration.sending = true;
    const sending = this.#exchange(registration).finally(() => {
      registration.sending = false;
      // What became due during the exchange has its turn from now on.
      if (Number.isFinite(registration.dueAtMs)) this.#due(registration, registration.dueAtMs);
      this.#sending.delete(sending);
      this.#arm();
    });
    this.#sending.add(sending);
  }

  async #exchange(registration: Registration): Promise<void> {
    const { clock, logger } = this.#options;
    const deadline = new AbortController();
    const timer = clock.after(answerMs, () => deadline.abort());
    try {
      if (registration.release === 'unchecked') await this.#check(registration, deadline.signal);
      else await this.#request(registration, deadline.signal);
    } catch (error) {
      const activity = registration.request.activityId;
      logger.error({ err: error, activity }, 'a heartbeat failed in an unexpected way');
      this.#failed(registration, { kind: 'not-sent', reason: messageOf(error) });
    } finally {
      timer.cancel();
    }
  }

  async #request(registration: Registration, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const { request } = registration;
    const releases = request.wanted === 'released';
    const sentAtMs = clock.monotonicMs();
    const body = { id: request.activityId, name: request.name, release: releases };
    const key = releases ? request.releaseKey : this.#keyOf(registration, sentAtMs);
    const permit = await permitOf(request, signal, this.#options);
    // While it waits for a read or its turn, something else may be wanted: a heartbeat must not follow a release.
    const isWanted = () =>
      this.#registrations.has(registration) && registration.request.wanted === request.wanted;
    if (permit.kind === 'denied') {
      if (isWanted()) this.#failed(registration, { kind: 'not-sent', reason: permit.reason });
      return;
    }
    const mayLeave = () => isWanted() && permit.mayLeave?.() !== false;
    if (!isWanted()) return;
    const sent = [request.serviceId, body, key, signal, mayLeave] as const;
    const outcome = await request.api.recordActivity(...sent);
    this.#tookEffect(registration, releases, outcome.kind);
    if (!this.#registrations.has(registration)) return;
    // Wanted again meanwhile: what was released does not protect any more.
    if (releases && registration.request.wanted === 'held' && outcome.kind === 'applied')
      this.#end(registration, 'spent');
    if (registration.request.wanted !== request.wanted) return;
    this.#options.metrics.heartbeats.inc({ account: this.#account, outcome: outcome.kind });
    if (outcome.kind === 'applied') this.#acknowledged(registration, outcome.value, sentAtMs);
    else if (await isOver(registration, outcome, signal, clock))
      this.#end(registration, releases ? 'released' : 'spent');
    else this.#failed(registration, outcome);
  }

  /** What is remembered of a request, whatever is wanted by now. */
  #tookEffect(registration: Registration, releases: boolean, outcome: Outcome<unknown>['kind']): void {
    const nowMs = this.#options.clock.monotonicMs();
    if (releases) {
      if (outcome !== 'applied') return;
      if (registration.release === 'open') registration.release = 'unchecked';
      // Nobody waits for it any more.
      if (!this.#registrations.has(registration) && nowMs >= registration.lateUntilMs)
        registration.phase = 'released';
      return;
    }
    if (outcome === 'applied' || outcome === 'unknown')
      registration.standing.mayBeRegistered(nowMs, registration.expiresAtMs);
    if (outcome === 'unknown')
      registration.lateUntilMs = Math.max(registration.lateUntilMs, nowMs + this.#options.settleMs);
  }

  /**
   * Until when requests that are under way, or were sent by the process before, may take effect. Beside a leader that is
   * isolated, that has no end.
   */
  #lateUntilMs(nowMs: number): number {
    const { settleMs, maySendHeartbeats } = this.#options;
    if (maySendHeartbeats) return Number.POSITIVE_INFINITY;
    return nowMs + settleMs + (this.#sending.size > 0 ? answerMs : 0);
  }

  /** Whether the activity is there again (list-reads.ts). */
  async #check(registration: Registration, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const found = await foundAfterRelease(registration, signal, clock);
    // Wanted again, or dropped, meanwhile.
    if (!this.#registrations.has(registration) || registration.phase !== 'releasing') return;
    if (found === 'released') return this.#end(registration, 'released');
    if (found !== 'active' && registration.failures < mostUnread) return this.#failed(registration, found);
    registration.release = 'shown';
    registration.dueAtMs = Number.POSITIVE_INFINITY;
    registration.onChange();
  }

  #keyOf(registration: Registration, nowMs: number): string {
    if (!registration.key || nowMs - registration.key.sinceMs > longestKeyMs) {
      registration.key = { value: this.#options.random.uuid(), sinceMs: nowMs };
    }
    return registration.key.value;
  }

  #acknowledged(registration: Registration, answer: wire.ActivityAnswer, sentAtMs: number): void {
    if (registration.request.wanted === 'released') return this.#released(registration);
    const isNews = registration.phase !== 'held' || registration.failure !== undefined;
    this.#periodMs = periodOf(answer);
    registration.phase = 'held';
    registration.failures = 0;
    registration.failure = undefined;
    registration.refusedWith = undefined;
    registration.key = undefined;
    registration.heartbeatAtMs = sentAtMs;
    registration.expiresAtMs = sentAtMs + answer.expiresInSeconds * 1000;
    const slotMs = nextSlotMs(phaseOf(registration.index, this.#periodMs), this.#periodMs, sentAtMs);
    this.#due(registration, slotMs);
    if (isNews) registration.onChange();
  }

  #released(registration: Registration): void {
    const { clock, settleMs } = this.#options;
    const nowMs = clock.monotonicMs();
    const isDone = registration.release === 'again' || nowMs >= registration.lateUntilMs;
    if (isDone) return this.#end(registration, 'released');
    registration.failures = 0;
    registration.failure = undefined;
    registration.refusedWith = undefined;
    this.#due(registration, Math.min(registration.lateUntilMs, nowMs + answerMs + settleMs));
  }

  #end(registration: Registration, phase: 'released' | 'spent'): void {
    registration.phase = phase;
    registration.failure = undefined;
    registration.refusedWith = undefined;
    registration.dueAtMs = Number.POSITIVE_INFINITY;
    registration.onChange();
  }

  #failed(registration: Registration, outcome: Exclude<Outcome<unknown>, { kind: 'applied' }>): void {
    const { clock, random } = this.#options;
    const nowMs = clock.monotonicMs();
    const failure = describeOutcome(outcome);
    const isNews = registration.failure !== failure;
    registration.failures += 1;
    registration.failure = failure;
    registration.refusedWith = outcome.kind === 'refused' ? outcome.status : undefined;
    const askedMs = outcome.kind === 'refused' ? outcome.retryAfterMs : undefined;
    const leftMs = (registration.expiresAtMs ?? nowMs) - nowMs;
    this.#due(registration, nowMs + retryMs(registration.failures, random.fraction(), askedMs, leftMs));
    if (isNews) registration.onChange();
  }
}
