/**
 * What the status of an object reports, as far as later passes depend on it. A status is output: others may edit it in a
 * cluster, and nothing reads it back. So the record remembers these facts itself, when the status is saved.
 */
import { entryOf, isBlocking, isReason, reasons } from '../reasons/index.ts';
import type { ObjectStatus } from './records.ts';

export interface LastReport {
  /** The reason of `Ready`, and since when `Ready` has had its status. */
  readonly ready: ReportedReady | undefined;
  /** The reason of `Reconciling` or `Stalled`, whichever is True, and since when that is the reason. */
  readonly pending: ReportedReason | undefined;
  /** For people: since when it has waited for that, if attempts and short outages in between do not count. Unix milliseconds. */
  readonly waitsSince?: number | undefined;
  /** What it waited for, or was held by, until it began what `pending` has: an attempt that fails does not begin the wait anew. */
  readonly interrupted?: Interrupted | undefined;
  readonly drift: readonly ReportedDrift[];
  /** Ids of what the thing at the provider is attached to, or protects. */
  readonly linked: readonly string[];
  /** The value of the annotation `reconcile-at` that was handled last. */
  readonly reconcileAt: string | undefined;
}

export interface ReportedReason {
  readonly reason: string;
  /** Unix milliseconds. */
  readonly since: number;
}

export interface ReportedReady extends ReportedReason {
  /** Since when that is the reason, if the status was the same with another one before. Unix milliseconds. */
  readonly reasonSince?: number;
  /** What the condition shows instead of `since`, after the clock was set back: a condition keeps its time as long as its status. */
  readonly shown?: number;
}

export interface Interrupted extends ReportedReason {
  /** When the attempt began, in Unix milliseconds. */
  readonly at: number;
}

export interface ReportedDrift {
  readonly path: string;
  /** Unix milliseconds. */
  readonly since: number;
  /** What the provider's events report about it, in the provider's text. */
  readonly cause: string | undefined;
}

/**
 * `before`: the report of the pass before; `wallMs`: the time of this pass. A condition stays True from one reason to the next,
 * and has whole seconds, so it can't show which of two things was first. Nothing begins in the future: the clock may have been set back.
 */
export function lastReport(status: ObjectStatus, before?: LastReport, wallMs?: number): LastReport {
  const { conditions, drift = [], lastHandledReconcileAt } = status;
  const reported = (types: readonly string[], isTrue: boolean): ReportedReason | undefined => {
    const found = conditions.find((each) => types.includes(each.type) && (!isTrue || each.status === 'True'));
    return found && { reason: found.reason, since: Date.parse(found.lastTransitionTime) };
  };
  const pending = reported(['Reconciling', 'Stalled'], true);
  const earlier = before?.pending;
  const isSame = earlier !== undefined && earlier.reason === pending?.reason;
  const past = (since: number) => Math.min(since, wallMs ?? since);
  const first = isSame ? past(earlier.since) : wallMs;
  const interrupted = interruptedBy(pending?.reason, before, wallMs);
  const isBack = !isSame && interrupted?.reason === pending?.reason;
  const waitsSince = isSame ? before?.waitsSince : isBack ? interrupted?.since : undefined;
  return {
    ready: readyOf(reported(['Ready'], false), before?.ready, wallMs),
    pending: pending && { ...pending, ...(first === undefined ? {} : { since: first }) },
    ...(waitsSince === undefined ? {} : { waitsSince: past(waitsSince) }),
    ...(interrupted && interrupted.reason !== pending?.reason ? { interrupted } : {}),
    drift: drift.map(({ path, since, cause }) => ({ path, since: Date.parse(since), cause })),
    linked: [status['serviceId'], status['volumeId']].filter((id) => typeof id === 'string'),
    reconcileAt: lastHandledReconcileAt,
  };
}

/** From a time in the future nothing could be counted until then. */
function readyOf(
  ready: ReportedReason | undefined,
  before: ReportedReady | undefined,
  wallMs = Number.POSITIVE_INFINITY,
): ReportedReady | undefined {
  if (!ready) return undefined;
  const shown = ready.since;
  const isSame = before !== undefined && (before.shown ?? before.since) === shown;
  const since = Math.min(isSame ? before.since : shown, wallMs);
  const reasonSince = isSame ? reasonSinceOf(ready, before, wallMs) : undefined;
  return {
    ...ready,
    ...(since === shown ? {} : { since, shown }),
    ...(reasonSince === undefined ? {} : { reasonSince }),
  };
}

function reasonSinceOf(
  { reason }: ReportedReason,
  before: ReportedReady,
  wallMs: number,
): number | undefined {
  const since = before.reason === reason ? before.reasonSince : wallMs;
  return since === undefined || wallMs === Number.POSITIVE_INFINITY ? undefined : Math.min(since, wallMs);
}

/** An attempt that takes longer is progress: what follows it is a wait of its own. */
const longestAttemptMs = 60_000;

function interruptedBy(
  reason: string | undefined,
  before: LastReport | undefined,
  wallMs: number | undefined,
): Interrupted | undefined {
  if (reason === undefined || !before || wallMs === undefined) return undefined;
  const { pending, interrupted, waitsSince } = before;
  const known =
    interrupted ??
    (pending && isWait(pending.reason)
      ? { reason: pending.reason, since: waitsSince ?? pending.since, at: wallMs }
      : undefined);
  if (!known) return undefined;
  // While its account can't be read, nobody knows whether the wait has ended.
  if (isUnread(reason)) return known;
  if (pending && isUnread(pending.reason)) return { ...known, at: wallMs };
  if (wallMs < known.at || wallMs - known.at > longestAttemptMs) return undefined;
  return isAttempt(reason) || reason === known.reason ? known : undefined;
}

/** A request is sent, or its effect is about to be observed. */
function isAttempt(reason: string): boolean {
  if (!isReason(reason)) return false;
  return isBlocking(reason) ? entryOf(reason).observed === 'soon' : reasons[reason].kind === 'doing';
}

function isUnread(reason: string): boolean {
  return isReason(reason) && isBlocking(reason) && entryOf(reason).accountUnread === true;
}

function isWait(reason: string): boolean {
  return isReason(reason) && isBlocking(reason) && !isAttempt(reason) && !isUnread(reason);
}
