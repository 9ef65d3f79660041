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
import {
  goneStatuses,
  nextSlotMs,
  periodOf,
  phaseOf,
  retryMs,
  type RegistrationPhase,
  type RegistrationRequest,
  type RegistrationState,
} from './registration.ts';
import { entryOf, Standing } from './standing.ts';

export interface Registration {
  request: RegistrationRequest;
  readonly onChange: () => void;
  readonly index: number;
  readonly standing: Standing;
  phase: RegistrationPhase;
  /** When the next request is due; infinity when there is none. */
  dueAtMs: number;
  sending: boolean;
  failures: number;
  failure: string | undefined;
  refusedWith: number | undefined;
  heartbeatAtMs: number | undefined;
  expiresAtMs: number | undefined;
  /** Of the heartbeat that is being tried. */
  key: { readonly value: string; readonly sinceMs: number } | undefined;
}

/** It counts only while its registration is due at this time: others have been put off, or taken. */
interface Turn {
  readonly registration: Registration;
  readonly atMs: number;
}

function turnsByTime(): TinyQueue<Turn> {
  return new TinyQueue<Turn>([], (left, right) => left.atMs - right.atMs);
}

type Permit =
  | { readonly kind: 'given'; readonly mayLeave: (() => boolean) | undefined }
  | { readonly kind: 'denied'; readonly reason: string };

export interface HeartbeatsOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** As in `HeartbeatLoopOptions`. */
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
/**
 * A heartbeat without an answer has failed by then: the next one must have its turn long before the record expires.
 */
const answerMs = 10_000;
/** A heartbeat is repeated with its key for so long; then it is a new one. */
const longestKeyMs = 10_000;

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
    const registration: Registration = {
      request,
      onChange,
      index: this.#count,
      standing: new Standing(!request.isNew, nowMs),
      phase: releases ? 'releasing' : 'registering',
      dueAtMs: Number.POSITIVE_INFINITY,
      sending: false,
      failures: 0,
      failure: undefined,
      refusedWith: undefined,
      heartbeatAtMs: undefined,
      expiresAtMs: undefined,
      key: undefined,
    };
    this.#count += 1;
    this.#registrations.add(registration);
    if (isReleased) registration.phase = releases ? 'released' : 'spent';
    else this.#due(registration, nowMs);
    this.#arm();
    return registration;
  }

  change(registration: Registration, request: RegistrationRequest): void {
    const turns = registration.request.wanted !== request.wanted;
    registration.request = request;
    if (!turns || registration.phase === 'released' || registration.phase === 'spent') return;
    if (request.wanted === 'held')
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

  stateOf({ phase, heartbeatAtMs, expiresAtMs, failure, refusedWith }: Registration): RegistrationState {
    return { phase, heartbeatAtMs, expiresAtMs, failure, refusedWith };
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
    const { request } = registration;
    const releases = request.wanted === 'released';
    const sentAtMs = clock.monotonicMs();
    const deadline = new AbortController();
    const timer = clock.after(answerMs, () => deadline.abort());
    try {
      const body = { id: request.activityId, name: request.name, release: releases };
      const key = releases ? request.releaseKey : this.#keyOf(registration, sentAtMs);
      const permit = await this.#permit(registration, deadline.signal);
      // While it waits for a read or its turn, something else may be wanted: a heartbeat must not follow a release.
      const isWanted = () =>
        this.#registrations.has(registration) && registration.request.wanted === request.wanted;
      if (permit.kind === 'denied') {
        if (isWanted()) this.#failed(registration, { kind: 'not-sent', reason: permit.reason });
        return;
      }
      const mayLeave = () => isWanted() && permit.mayLeave?.() !== false;
      if (!isWanted()) return;
      const sent = [request.serviceId, body, key, deadline.signal, mayLeave] as const;
      const outcome = await request.api.recordActivity(...sent);
      if (!releases && (outcome.kind === 'applied' || outcome.kind === 'unknown'))
        registration.standing.mayBeRegistered(clock.monotonicMs(), registration.expiresAtMs);
      if (!this.#registrations.has(registration)) {
        if (releases && outcome.kind === 'applied') registration.phase = 'released';
        return;
      }
      // Wanted again meanwhile: what was released does not protect any more.
      if (releases && registration.request.wanted === 'held' && outcome.kind === 'applied')
        this.#end(registration, 'spent');
      if (registration.request.wanted !== request.wanted) return;
      this.#options.metrics.heartbeats.inc({ account: this.#account, outcome: outcome.kind });
      if (outcome.kind === 'applied') this.#acknowledged(registration, outcome.value, sentAtMs);
      else if (await this.#isOver(registration, outcome, deadline.signal))
        this.#end(registration, releases ? 'released' : 'spent');
      else this.#failed(registration, outcome);
    } catch (error) {
      logger.error({ err: error, activity: request.activityId }, 'a heartbeat failed in an unexpected way');
      this.#failed(registration, { kind: 'not-sent', reason: messageOf(error) });
    } finally {
      timer.cancel();
    }
  }

  /**
   * A process that can't renew its Kubernetes Lease may change nothing. But it keeps its registrations fresh, and
   * those of the process before it: two processes that send heartbeats do no harm. Another process may lead by now,
   * though, and may have released the activity. What a heartbeat after that would do is open (§4 rule 6). So the list
   * of activities is read before each such heartbeat. While the list lacks the activity, stale or not, none is sent.
   * A stale record still protects; one that is registered after its release would never be released.
   */
  async #permit({ request }: Registration, signal: AbortSignal): Promise<Permit> {
    const { clock, mayAct, maySendHeartbeats } = this.#options;
    if (mayAct?.() !== false) return { kind: 'given', mayLeave: mayAct };
    if (request.wanted === 'released' || maySendHeartbeats?.() !== true)
      return { kind: 'denied', reason: 'this process is not the leader now' };
    const readAtMs = clock.monotonicMs();
    const listed = await request.api.activities(request.serviceId, signal, 'heartbeat');
    if (listed.kind !== 'applied') return { kind: 'denied', reason: describeOutcome(listed) };
    const own = entryOf(listed.value, request.activityId);
    if (own === undefined || own.released === true)
      return {
        kind: 'denied',
        reason: 'the activity is not there any more, and this process is not the leader now',
      };
    return {
      kind: 'given',
      mayLeave: () => maySendHeartbeats() && clock.monotonicMs() - readAtMs < answerMs,
    };
  }

  #keyOf(registration: Registration, nowMs: number): string {
    if (!registration.key || nowMs - registration.key.sinceMs > longestKeyMs) {
      registration.key = { value: this.#options.random.uuid(), sinceMs: nowMs };
    }
    return registration.key.value;
  }

  #acknowledged(registration: Registration, answer: wire.ActivityAnswer, sentAtMs: number): void {
    if (registration.request.wanted === 'released') return this.#end(registration, 'released');
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

  #end(registration: Registration, phase: 'released' | 'spent'): void {
    registration.phase = phase;
    registration.failure = undefined;
    registration.refusedWith = undefined;
    registration.dueAtMs = Number.POSITIVE_INFINITY;
    registration.onChange();
  }

  /** A refusal is no proof that the record is gone, or was released; the list of activities may be (`standing.ts`). */
  async #isOver(
    registration: Registration,
    outcome: Outcome<unknown>,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { request, standing, heartbeatAtMs } = registration;
    const statuses = request.wanted === 'released' ? [400, 404, 409, 410] : [409];
    if (outcome.kind !== 'refused' || !statuses.includes(outcome.status)) return false;
    const readAtMs = this.#options.clock.monotonicMs();
    const listed = await request.api.activities(request.serviceId, signal);
    if (listed.kind === 'applied') return standing.isOver(listed.value, request, readAtMs);
    // With its service an activity is gone, too. A service that has answered us has been seen.
    const isServiceGone = [listed, outcome].every(
      (answer) => answer.kind === 'refused' && goneStatuses.has(answer.status),
    );
    return (
      isServiceGone && standing.isMissing(readAtMs, heartbeatAtMs === undefined ? request.visibilityMs : 0)
    );
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
