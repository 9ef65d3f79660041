/**
 * What the status of an object reports, as far as later passes depend on it. A status is output: others may edit it in a
 * cluster, and nothing reads it back. So the record remembers these facts itself, when the status is saved.
 */
import type { ObjectStatus } from './records.ts';

export interface LastReport {
  /** The reason of `Ready`, and since when `Ready` has had its status. */
  readonly ready: ReportedReason | undefined;
  /** The reason of `Reconciling` or `Stalled`, whichever is True, and since when that is the reason. */
  readonly pending: ReportedReason | undefined;
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

export interface ReportedDrift {
  readonly path: string;
  /** Unix milliseconds. */
  readonly since: number;
  /** What the provider's events report about it, in the provider's text. */
  readonly cause: string | undefined;
}

/**
 * `before`: the report of the pass before; `wallMs`: the time of this pass. A condition stays True from one reason to the next,
 * and has whole seconds, so it can't show which of two things was first.
 */
export function lastReport(status: ObjectStatus, before?: LastReport, wallMs?: number): LastReport {
  const { conditions, drift = [], lastHandledReconcileAt } = status;
  const reported = (types: readonly string[], isTrue: boolean): ReportedReason | undefined => {
    const found = conditions.find((each) => types.includes(each.type) && (!isTrue || each.status === 'True'));
    return found && { reason: found.reason, since: Date.parse(found.lastTransitionTime) };
  };
  const pending = reported(['Reconciling', 'Stalled'], true);
  const earlier = before?.pending;
  const first = earlier && earlier.reason === pending?.reason ? earlier.since : wallMs;
  return {
    ready: reported(['Ready'], false),
    pending: pending && { ...pending, ...(first === undefined ? {} : { since: first }) },
    drift: drift.map(({ path, since, cause }) => ({ path, since: Date.parse(since), cause })),
    linked: [status['serviceId'], status['volumeId']].filter((id) => typeof id === 'string'),
    reconcileAt: lastHandledReconcileAt,
  };
}
