/** What the heartbeat loop reads the list of activities for. */
import { describeOutcome, type Outcome } from '../api/index.ts';
import type { Clock } from '../base/index.ts';
import { answerMs, goneStatuses, type Registration, type RegistrationRequest } from './registration.ts';
import { entryOf, mayBeActive } from './standing.ts';

type Permit =
  | { readonly kind: 'given'; readonly mayLeave: (() => boolean) | undefined }
  | { readonly kind: 'denied'; readonly reason: string };

/** As in `HeartbeatLoopOptions`. */
interface PermitOptions {
  readonly clock: Clock;
  readonly mayAct?: (() => boolean) | undefined;
  readonly maySendHeartbeats?: (() => boolean) | undefined;
}

/**
 * A process that can't renew its Kubernetes Lease may change nothing. But it keeps its registrations fresh, and
 * those of the process before it: two processes that send heartbeats do no harm. Another process may lead by now,
 * though, and may have released the activity. What a heartbeat after that would do is open (§4 rule 6). So the list
 * of activities is read before each such heartbeat. While the list lacks the activity, stale or not, none is sent.
 * A stale record still protects; one that is registered after its release has to be released again.
 */
export async function permitOf(
  request: RegistrationRequest,
  signal: AbortSignal,
  { clock, mayAct, maySendHeartbeats }: PermitOptions,
): Promise<Permit> {
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

/** What a request for an activity that is over may be refused with: which condition gives which status is open (§7). */
const overStatuses: ReadonlySet<number> = new Set([400, 404, 409, 410]);

/**
 * A refusal is no proof that the record is gone, or was released; the list of activities may be (`standing.ts`). What was
 * never registered may be refused for what it is: only a conflict shows that somebody has used its id.
 */
export async function isOver(
  { request, standing, heartbeatAtMs, release }: Registration,
  outcome: Outcome<unknown>,
  signal: AbortSignal,
  clock: Clock,
): Promise<boolean> {
  const releases = request.wanted === 'released';
  if (outcome.kind !== 'refused' || !overStatuses.has(outcome.status)) return false;
  if (!releases && outcome.status !== 409 && !standing.isOpen) return false;
  // An earlier release was acknowledged, so there is nothing left to release.
  if (release === 'again') return true;
  const readAtMs = clock.monotonicMs();
  const listed = await request.api.activities(request.serviceId, signal);
  if (listed.kind === 'applied') return standing.isOver(listed.value, request, readAtMs);
  // With its service an activity is gone, too, and another one can't be registered in it. A service that has answered us has been seen.
  const isServiceGone = releases && isGone(listed) && isGone(outcome);
  return (
    isServiceGone && standing.isMissing(readAtMs, heartbeatAtMs === undefined ? request.visibilityMs : 0)
  );
}

/**
 * A release was acknowledged. A heartbeat that was sent before, and has no answer, may have registered the activity
 * again since: the contract does not exclude that (§4 rule 6). What the list shows is released again. No heartbeat follows
 * that second release. So nothing is read after it: the list may keep what was released, in a form that can't be read.
 */
export async function foundAfterRelease(
  { request, standing }: Registration,
  signal: AbortSignal,
  clock: Clock,
): Promise<'released' | 'active' | Exclude<Outcome<unknown>, { kind: 'applied' }>> {
  const readAtMs = clock.monotonicMs();
  const listed = await request.api.activities(request.serviceId, signal);
  if (listed.kind === 'applied') return mayBeActive(listed.value, request) ? 'active' : 'released';
  return isGone(listed) && standing.isMissing(readAtMs, 0) ? 'released' : listed;
}

function isGone(outcome: Outcome<unknown>): boolean {
  return outcome.kind === 'refused' && goneStatuses.has(outcome.status);
}
