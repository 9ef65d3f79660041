/**
 * What `describe` shows of one object. All of it was recorded: the document, the status, the journal, registrations. Pure.
 *
 * What happens next is concluded from the reason of the newest pass (the table of reasons) and from times in the record. The time of
 * the next pass itself is in the manager's memory only: a write for each pass would cost more than it shows.
 */
import { rfc3339 } from '../base/index.ts';
import { isBlocking, isReason, entryOf, reasons, sectionOf, type Turn } from '../reasons/index.ts';
import { accountPlaceOf, stateTraitsOf, type Condition, type ObjectKey } from '../resources/index.ts';
import { causeOf } from '../engine/index.ts';
import { askedByText } from '../engine/plan/index.ts';
import type { Intent, SignOfLife } from '../state/index.ts';
import { waitingFor } from './waiting-for.ts';
import { conditionOf, statusItem, textOf, type StatusEntry } from './entries.ts';

export interface Described {
  readonly entry: StatusEntry;
  /** Newest first. */
  readonly mutations: readonly Intent[];
  readonly protection: readonly ProtectingTask[];
  readonly next: NextStep;
  /** Of a budget: what waits for it. */
  readonly waiting: readonly string[];
}

/** A task that protects the object, or the object itself if it is one. */
export interface ProtectingTask {
  readonly task: string;
  readonly key: ObjectKey;
  readonly activityId: string | undefined;
  readonly isReleased: boolean;
  readonly state: string | undefined;
  /** Why its activity is fresh, or is not. */
  readonly ready: Condition | undefined;
  /** Unix milliseconds. Undefined: not recorded. */
  readonly heartbeatAt: number | undefined;
}

export interface NextStep {
  readonly reason: string;
  readonly message: string;
  /** RFC 3339: since when that is the reason. */
  readonly since: string | undefined;
  /** Who can bring the object forward. Undefined: nothing is to be done. */
  readonly turn: Turn | undefined;
  readonly remedy: string;
  /** What happens, and when (Unix milliseconds). `at` undefined: not at a fixed time. */
  readonly times: readonly { readonly at: number | undefined; readonly what: string }[];
  readonly docs: string | undefined;
}

export function describe(
  entry: StatusEntry,
  all: readonly StatusEntry[],
  mutations: readonly Intent[],
  sign: SignOfLife | undefined,
): Described {
  const protection = all
    .filter((other) => other === entry || isIn(other, entry))
    .flatMap((other) => protecting(other, sign));
  return { entry, mutations, protection, next: nextStep(entry, mutations), waiting: waitingFor(entry, all) };
}

/** Whether its account is that of the other object, as a task's is that of its service. */
function isIn(task: StatusEntry, { record }: StatusEntry): boolean {
  const place = accountPlaceOf(task.record.key, task.record.manifest.spec);
  return 'with' in place && place.with === record.key;
}

function protecting(entry: StatusEntry, sign: SignOfLife | undefined): ProtectingTask[] {
  const { record, namespace, name } = entry;
  const traits = stateTraitsOf(record.key);
  if (!traits.registered) return [];
  const activity = traits.registered(record.kind);
  return [
    {
      task: `${namespace}/${name}`,
      key: record.key,
      activityId: textOf(record.status?.['activityId']),
      isReleased: activity?.isReleased ?? false,
      state: textOf(record.status?.['state']),
      ready: conditionOf(entry, 'Ready'),
      heartbeatAt: sign?.heartbeats?.[record.key],
    },
  ];
}

/** `mutations`: newest first. */
export function nextStep(entry: StatusEntry, mutations: readonly Intent[]): NextStep {
  const cause = causeOf(entry.record);
  if (!cause) {
    return step('NotLookedAt', 'no manager has observed the object yet', undefined, []);
  }
  const { reason, message, since } = cause;
  return step(reason, message, since, times(entry, reason, mutations));
}

function step(
  reason: string,
  message: string,
  since: string | undefined,
  found: NextStep['times'],
): NextStep {
  const known = isReason(reason) ? reasons[reason] : undefined;
  const asksNothing = known === undefined || known.kind === 'ready';
  return {
    reason,
    message: message === '' ? (known?.meaning ?? '') : message,
    since,
    turn: asksNothing ? undefined : known.whose,
    remedy: known?.remedy ?? '',
    times: found,
    docs: asksNothing ? undefined : sectionOf(known),
  };
}

function times({ record }: StatusEntry, reason: string, mutations: readonly Intent[]): NextStep['times'] {
  const found: { at: number | undefined; what: string }[] = [];
  const retryAt = record.refusal?.scarcity?.retryAt;
  if (retryAt !== undefined) found.push({ at: retryAt, what: 'the request is sent again at the earliest' });
  if (!isReason(reason) || !isBlocking(reason)) {
    const isReady = isReason(reason) && reasons[reason].kind === 'ready';
    if (isReady)
      found.push({ at: undefined, what: 'it is rechecked when its document or its account changes' });
    return found;
  }
  const { kind, recheckMs, stalled } = entryOf(reason);
  if (kind === 'held') {
    const what =
      recheckMs === undefined
        ? 'held until the document, what it refers to, or the account changes'
        : `held, and rechecked every ${recheckMs / 1000} s`;
    found.push({ at: undefined, what });
  } else {
    found.push({ at: undefined, what: 'it continues by itself when the wait is over' });
  }
  const open = mutations.find(({ outcome }) => outcome === 'pending' || outcome === 'unknown');
  const since = { state: record.seen?.since, outcome: open?.createdAt, read: undefined }[
    stalled?.since ?? 'read'
  ];
  if (stalled && since !== undefined) {
    found.push({ at: since + stalled.afterMs, what: `it counts as stalled (${stalled.as ?? reason})` });
  }
  return found;
}

function time(ms: number | undefined): string | null {
  return ms === undefined ? null : rfc3339(ms);
}

/** For programs; docs/reference/output.md has the fields. */
export function describedItem({ entry, mutations, protection, next }: Described): object {
  const { record } = entry;
  return {
    object: statusItem(entry),
    document: record.line === undefined ? null : { file: record.file, line: record.line },
    account: record.account ?? null,
    stateSince: time(record.seen?.since),
    mutations: mutations.map(
      ({ action, idempotencyKey, targetId, createdAt, finishedAt, outcome, note, why, generation }) => ({
        action,
        outcome,
        reason: why?.reason ?? null,
        fields: why?.fields ?? [],
        askedBy: why ? askedByText({ why, generation }) : null,
        at: rfc3339(createdAt),
        finishedAt: time(finishedAt),
        idempotencyKey,
        targetId: targetId ?? null,
        note: note ?? null,
      }),
    ),
    protection: protection.map(({ task, activityId, isReleased, state, ready, heartbeatAt }) => ({
      task,
      activityId: activityId ?? null,
      released: isReleased,
      state: state ?? null,
      reason: ready?.reason ?? null,
      message: ready?.message ?? null,
      heartbeatAt: time(heartbeatAt),
    })),
    next: {
      reason: next.reason,
      message: next.message,
      since: next.since ?? null,
      turn: next.turn ?? null,
      remedy: next.remedy,
      times: next.times.map(({ at, what }) => ({ at: time(at), what })),
      docs: next.docs ?? null,
    },
  };
}
