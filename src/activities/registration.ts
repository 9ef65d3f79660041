/**
 * One activity registration: the activity record of one protected task (§2 "Activity record", §4 rule 6, §6 rule 2).
 *
 *     registering ── 2xx ──> held ──┐ heartbeat, each `heartbeatSeconds`
 *          │                  ▲ └───┘
 *          │ release wanted   │ a failed heartbeat is repeated soon; a record that expired
 *          ▼                  │ until then is registered again by the next one, under the same id
 *     releasing ──────────────┘ (wanted again before the release was sent)
 *          └── acknowledged ──> released
 *
 *     A heartbeat that was sent before the release, and may take effect after it, would register the activity again. While
 *     there may be one, the list is read before an acknowledged release counts as done (`list-reads.ts`).
 *
 *     registering, held ── refused, and proved to be over (`standing.ts`) ──> spent: somebody released
 *     this id, and a released id does not protect again. The task needs another id.
 *     Until that is proved, heartbeats continue.
 *
 * Registration, heartbeat and release are the same request (`release` differs), always with the same id. A heartbeat
 * whose Idempotency-Key was used before renews nothing, so each has its own key. One with an unknown outcome is
 * repeated with its key for a short while; then a new one follows.
 */
import type { ControlApi, wire } from '../api/index.ts';
import { Standing } from './standing.ts';

/** What is to be kept. */
export interface RegistrationRequest {
  /** `namespace/name`: registrations of one account share its pace. */
  readonly account: string;
  readonly api: Pick<ControlApi, 'recordActivity' | 'activities' | 'heartbeatWaits'>;
  readonly serviceId: string;
  /** The same for registration, heartbeats and release; saved by the caller before the first call. */
  readonly activityId: string;
  /** At most 128 characters (§8). */
  readonly name: string;
  readonly wanted: 'held' | 'released';
  /** Idempotency-Key of the release; saved by the caller, so that a restart continues with it. Another one releases again what `isShownAgain`. */
  readonly releaseKey: string;
  /** No process of this fleet can have sent a request for it yet. Counts when the registration is first kept. */
  readonly isNew: boolean;
  /** For how long what was registered may be missing from the list, in milliseconds. */
  readonly visibilityMs: number;
}

export type RegistrationPhase = 'registering' | 'held' | 'releasing' | 'released' | 'spent';

/** What is known of a registration. Times are monotonic milliseconds. */
export interface RegistrationState {
  readonly phase: RegistrationPhase;
  /** When the newest acknowledged heartbeat was sent. */
  readonly heartbeatAtMs: number | undefined;
  /** When the record expires unless another heartbeat follows. It protects even then. */
  readonly expiresAtMs: number | undefined;
  /** Why the newest request failed; undefined after one that did not. */
  readonly failure: string | undefined;
  /** The status with which it was refused, if it was. */
  readonly refusedWith: number | undefined;
  /** Its release was acknowledged, and a list shows it since. The next release needs another key: the first one would only bring its answer again. */
  readonly isShownAgain: boolean;
}

export interface Registration {
  request: RegistrationRequest;
  readonly onChange: () => void;
  readonly index: number;
  readonly standing: Standing;
  phase: RegistrationPhase;
  /** `unchecked`: acknowledged, and the list is not read yet. `shown`: that list shows it, and its caller has to save another key. */
  release: 'open' | 'unchecked' | 'shown' | 'again';
  /** Until when a heartbeat that was sent, and has no answer, may take effect. */
  lateUntilMs: number;
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

/** `lateUntilMs`: if it is not new, requests that others have sent for it may take effect until then. */
export function newRegistration(
  request: RegistrationRequest,
  { onChange, index }: Pick<Registration, 'onChange' | 'index'>,
  nowMs: number,
  lateUntilMs: number,
): Registration {
  return {
    request,
    onChange,
    index,
    standing: new Standing(!request.isNew, nowMs),
    phase: request.wanted === 'released' ? 'releasing' : 'registering',
    release: 'open',
    lateUntilMs: request.isNew ? Number.NEGATIVE_INFINITY : lateUntilMs,
    dueAtMs: Number.POSITIVE_INFINITY,
    sending: false,
    failures: 0,
    failure: undefined,
    refusedWith: undefined,
    heartbeatAtMs: undefined,
    expiresAtMs: undefined,
    key: undefined,
  };
}

/**
 * A heartbeat without an answer has failed by then: the next one must have its turn long before the record expires.
 */
export const answerMs = 10_000;

/** A refusal of a request for an activity of a service that is gone. */
export const goneStatuses: ReadonlySet<number> = new Set([404, 410]);

/** What the newest heartbeat, or one since `sinceMs`, shows of the service; see `ActivityRegistrations` (engine/). */
export function evidenceIn(
  {
    heartbeatAtMs,
    refusedWith,
    failure,
  }: Pick<RegistrationState, 'heartbeatAtMs' | 'refusedWith' | 'failure'>,
  sinceMs: number,
): 'accepted' | 'gone' | 'awaited' | undefined {
  if (refusedWith !== undefined && goneStatuses.has(refusedWith)) return 'gone';
  if (failure !== undefined) return undefined;
  return heartbeatAtMs !== undefined && heartbeatAtMs >= sinceMs ? 'accepted' : 'awaited';
}

const firstRetryMs = 1000;
const longestRetryMs = 10_000;
const longestSlotShareMs = 1000;

const shortestPeriodMs = 1000;
/** Twice that of the contract (§2). */
const longestPeriodMs = 60_000;

/** What the API answered, within reason: no flood, twice before the record expires, and not so seldom that a loss is seen too late. */
export function periodOf({ heartbeatSeconds, expiresInSeconds }: wire.ActivityAnswer): number {
  const askedMs = Math.min(heartbeatSeconds, expiresInSeconds / 2) * 1000;
  return Math.max(Math.min(askedMs, longestPeriodMs), shortestPeriodMs);
}

/**
 * When the next heartbeat is due: at the registration's own place in the period. So the heartbeats of many
 * registrations stay spread over the period, whatever happens to single ones. Missed heartbeats are not sent later.
 */
export function nextSlotMs(phaseMs: number, periodMs: number, nowMs: number): number {
  const earliestMs = nowMs + Math.min(longestSlotShareMs, periodMs / 2);
  return phaseMs + Math.ceil((earliestMs - phaseMs) / periodMs) * periodMs;
}

/** The n-th place (from 0) of a sequence that fills a period evenly however many places are taken. */
export function phaseOf(index: number, periodMs: number): number {
  const golden = 0.618_033_988_749_895;
  return ((index * golden) % 1) * periodMs;
}

/**
 * How long to wait after the n-th failure in a row (from 1), `fraction` in [0, 1). What the server asks for is respected
 * as long as the record does not expire over it.
 */
export function retryMs(
  failures: number,
  fraction: number,
  askedMs: number | undefined,
  untilExpiryMs: number,
): number {
  const ceiling = Math.min(firstRetryMs * 2 ** Math.min(failures - 1, 10), longestRetryMs);
  const pauseMs = ceiling / 2 + (ceiling / 2) * fraction;
  const asked = Math.min(askedMs ?? 0, Math.max(longestRetryMs, untilExpiryMs / 2));
  return Math.max(pauseMs, asked);
}
