/**
 * One lease: the activity record that stands for one protected task (§2 "Activity record", §4 rule 6, §6 rule 2).
 *
 *     registering ── 2xx ──> held ──┐ beat, each `heartbeatSeconds`
 *          │                  ▲ └───┘
 *          │ release wanted   │ a beat that fails is tried again soon; a record that expired
 *          ▼                  │ meanwhile is registered again by the next beat, under the same id
 *     releasing ──────────────┘ (wanted again before the release was sent)
 *          └── acknowledged ──> released
 *
 *     registering, held ── refused, and proved to be over (`standing.ts`) ──> spent: somebody released
 *     this id, and an id that was released does not protect again. Whoever wants the lease has to take another id.
 *     While that is not proved, it is beaten for as before.
 *
 * Registering, beating and releasing are the same request (`release` differs), always with the same id. A beat renews
 * nothing when its Idempotency-Key was used before, so each beat has its own; a beat whose outcome is not known is
 * repeated with its key for a short while, and then given up for a new one.
 */
import type { ControlApi, wire } from '../api/index.ts';

/** What is to be kept. */
export interface LeaseRequest {
  /** `namespace/name`: leases of one account share its pace. */
  readonly account: string;
  readonly api: Pick<ControlApi, 'recordActivity' | 'activities' | 'heartbeatWaits'>;
  readonly serviceId: string;
  /** The same for register, beats and release; saved by the caller before the first call. */
  readonly activityId: string;
  /** At most 128 characters (§8). */
  readonly name: string;
  readonly wanted: 'held' | 'released';
  /** Idempotency-Key of the release; saved by the caller, so that a restart goes on with it. */
  readonly releaseKey: string;
  /** No process of ours can have sent a request for it yet. Counts when the lease is first kept. */
  readonly isNew: boolean;
  /** For how long what was registered may be missing from the list, in milliseconds. */
  readonly visibilityMs: number;
}

export type LeasePhase = 'registering' | 'held' | 'releasing' | 'released' | 'spent';

/** What is known of a lease. Times are monotonic milliseconds. */
export interface LeaseState {
  readonly phase: LeasePhase;
  /** When the newest acknowledged beat was sent. */
  readonly beatAtMs: number | undefined;
  /** When the record expires unless another beat follows. It protects even then. */
  readonly expiresAtMs: number | undefined;
  /** Why the newest request failed; undefined after one that did not. */
  readonly failure: string | undefined;
  /** The status with which it was refused, if it was. */
  readonly refusedWith: number | undefined;
}

const firstRetryMs = 1000;
const longestRetryMs = 10_000;
const longestSlotShareMs = 1000;

const shortestPeriodMs = 1000;

/** What the API answered, within reason: no flood, and twice before the record expires. */
export function periodOf({ heartbeatSeconds, expiresInSeconds }: wire.ActivityAnswer): number {
  return Math.max(Math.min(heartbeatSeconds, expiresInSeconds / 2) * 1000, shortestPeriodMs);
}

/**
 * When the next beat is due: at the lease's own place in the period, so that the beats of many leases stay spread
 * over it whatever happens to single ones. Beats that were missed are not made up for.
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
