/**
 * Which objects need a person, or last too long, by their records. The read API, the page, metrics and Notifications
 * show the same ones, because all of them ask here. Pure.
 *
 *     (no trouble) ── a reason of the kind `waiting`, `held` or `unusable` ──> Pending ── `afterMs` of its severity ──> Open
 *         ^── the reason ends, or the object is deleted ──────────────────────────┴────────────────────────────────────┘
 */
import { digestOf, rfc3339 } from '../../base/index.ts';
import { isReason, reasons, type ReasonEntry, type Severity } from '../../reasons/index.ts';
import { accountPlaceOf, type Condition, type ObjectKey } from '../../resources/index.ts';
import type { ObjectRecord } from '../../state/index.ts';
import { protectedReason } from '../plan/index.ts';

/** How long a reason has to last before it is a problem. */
export const afterMs = { critical: 0, warning: 300_000, info: Infinity } as const;

export interface Cause {
  readonly reason: string;
  readonly message: string;
  /** RFC 3339: since when that is the reason. */
  readonly since: string;
}

/** An object that waits, is held, or can't be used. */
export interface Trouble {
  readonly key: ObjectKey;
  /** Of key and reason: what is stored of it. */
  readonly hash: string;
  readonly reason: string;
  readonly severity: Severity;
  /** `namespace/name`. */
  readonly account: string | undefined;
  /** Unix milliseconds. */
  readonly sinceMs: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly message: string;
}

const noReason: Pick<ReasonEntry, 'kind' | 'severity'> = { kind: 'fact', severity: 'info' };

/** Why something is awaited or held; else why it is Ready or not. What failed comes before what its remedy waits for. */
export function causeOf(record: Pick<ObjectRecord, 'status' | 'report'>): Cause | undefined {
  const found =
    trueOf(record, 'Stalled') ??
    keptFailure(record) ??
    trueOf(record, 'Reconciling') ??
    conditionIn(record, 'Ready');
  return found && { reason: found.reason, message: found.message, since: sinceWhen(record, found) };
}

/** What failed, while its remedy waits for a task that a person may end. */
export function keptFailure(record: Pick<ObjectRecord, 'status'>): Condition | undefined {
  const ready = conditionIn(record, 'Ready');
  const isKept = trueOf(record, 'Reconciling')?.reason === protectedReason;
  return isKept && ready?.status === 'False' && ready.reason !== protectedReason ? ready : undefined;
}

/** A condition keeps its time from one reason to the next, and the record has that of the reason. */
function sinceWhen(
  { report }: Pick<ObjectRecord, 'report'>,
  { reason, lastTransitionTime }: Condition,
): string {
  const { pending, waitsSince } = report ?? {};
  return pending?.reason === reason ? rfc3339(waitsSince ?? pending.since) : lastTransitionTime;
}

function trueOf(record: Pick<ObjectRecord, 'status'>, type: string): Condition | undefined {
  const found = conditionIn(record, type);
  return found?.status === 'True' ? found : undefined;
}

function conditionIn({ status }: Pick<ObjectRecord, 'status'>, type: string): Condition | undefined {
  return status?.conditions.find((condition) => condition.type === type);
}

export function aboutReason(reason: string): Pick<ReasonEntry, keyof typeof noReason> & Partial<ReasonEntry> {
  return isReason(reason) ? reasons[reason] : noReason;
}

/** It waits, is held, or can't be used. */
export function isTroubled(record: Pick<ObjectRecord, 'status'>, { reason }: Pick<Cause, 'reason'>): boolean {
  const { kind, also = [] } = aboutReason(reason);
  return trueOf(record, 'Stalled') !== undefined || isBad(kind) || also.some(isBad);
}

function isBad(kind: ReasonEntry['kind']): boolean {
  return kind === 'waiting' || kind === 'held' || kind === 'unusable';
}

/** Where it is, or where its document wants it. */
export function accountOfRecord({ key, account, manifest }: ObjectRecord): string | undefined {
  if (account !== undefined) return account;
  const place = accountPlaceOf(key, manifest.spec);
  return 'account' in place ? place.account : undefined;
}

export function troubleOf(record: ObjectRecord): Trouble | undefined {
  const cause = causeOf(record);
  if (!cause || !isTroubled(record, cause)) return undefined;
  const { reason, message, since } = cause;
  return {
    key: record.key,
    hash: problemHash(record.key, reason),
    reason,
    severity: aboutReason(reason).severity,
    account: accountOfRecord(record),
    sinceMs: Date.parse(since),
    labels: record.manifest.labels,
    message,
  };
}

/** Mistakes in documents that no object shows: they are none of a known one. */
export function mistakesOfNobody<Mistake extends { readonly key: ObjectKey | undefined }>(
  mistakes: readonly Mistake[],
  isKnown: (key: ObjectKey) => boolean,
): readonly Mistake[] {
  return mistakes.filter(({ key }) => key === undefined || !isKnown(key));
}

const hashDigits = 16;

export function problemHash(key: ObjectKey, reason: string): string {
  return digestOf([key, reason]).slice(0, hashDigits);
}
