/**
 * What the status of an object in a cluster has of its record, whoever wrote it: for readers that only show it, and have no key to check
 * signatures with. Nothing is decided by it. Pure.
 *
 *     bookkeeping                          what is read
 *     of this uid, of a version known here the fields below that have their form; the kind's part, if its schema accepts it
 *     none, of another uid, or later       the status alone
 *
 * Others may write a status, too. So each field is taken only in its form: one that has another never makes the whole unreadable.
 */
import { readKindState, type ObjectKey } from '../resources/index.ts';
import { isBookkeeping, storedRecord, type Bookkeeping, type RevisionMark } from './bookkeeping.ts';
import type { LastReport, ReportedReason } from './last-report.ts';
import { recordVersion } from './record-versions.ts';
import {
  intentOutcomes,
  newRecord,
  type DerivedMark,
  type Intent,
  type ObjectRecord,
  type ObjectStatus,
  type Refusal,
  type Seen,
} from './records.ts';
import type { OwnerRevision } from './revisions.ts';

export interface WrittenState {
  /** Without what the object itself has: generation, document, deletion. */
  readonly record: ObjectRecord;
  /** The newest one. */
  readonly intent: Intent | undefined;
  /** Without their contents, which no status has. */
  readonly revisions: readonly OwnerRevision[];
}

export function writtenState(key: ObjectKey, uid: string, status: unknown): WrittenState {
  const { bookkeeping, ...shown } = isMap(status) ? status : {};
  const reported = Array.isArray(shown['conditions']) ? (shown as unknown as ObjectStatus) : undefined;
  const bare = { ...newRecord(key, uid), status: reported };
  const isKnown =
    isBookkeeping(bookkeeping) && bookkeeping.uid === uid && (bookkeeping.version ?? 1) <= recordVersion;
  if (!isKnown) return { record: bare, intent: undefined, revisions: [] };
  const { kind, ...stored } = storedRecord(key, bookkeeping, reported);
  const record = {
    ...bare,
    account: textIn(stored['account']),
    externalId: textIn(stored['externalId']),
    seen: seenIn(stored['seen']),
    refusal: refusalIn(stored['refusal']),
    report: reportIn(stored['report']),
    kind: readKindState(key, isMap(kind) ? kind : {})?.kind ?? bare.kind,
  };
  const derived = derivedIn(stored['derived']);
  return {
    record: derived ? { ...record, derived } : record,
    intent: intentIn(key, bookkeeping),
    revisions: revisionsIn(bookkeeping),
  };
}

function textIn(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function timeIn(value: unknown): number | undefined {
  return isTime(value) ? value : undefined;
}

function derivedIn(value: unknown): DerivedMark | undefined {
  if (!isMap(value) || typeof value['owner'] !== 'string') return undefined;
  return /^[^/]+\/[^/]+\/[^/]+$/.test(value['owner'])
    ? { owner: value['owner'] as ObjectKey, settled: textIn(value['settled']) }
    : undefined;
}

function seenIn(value: unknown): Seen | undefined {
  if (!isMap(value) || typeof value['id'] !== 'string' || !isTime(value['since'])) return undefined;
  return { id: value['id'], revision: undefined, state: textIn(value['state']), since: value['since'] };
}

/** What is shown of it: how often, and when it is sent again. */
function refusalIn(value: unknown): Refusal | undefined {
  const scarcity = isMap(value) ? value['scarcity'] : undefined;
  const isShown = isMap(scarcity) && isTime(scarcity['retryAt']) && Number.isInteger(scarcity['failures']);
  return isShown ? (value as Refusal) : undefined;
}

function reportIn(value: unknown): LastReport | undefined {
  if (!isMap(value)) return undefined;
  const { ready, pending } = value;
  return {
    ready: reasonIn(ready),
    pending: reasonIn(pending),
    drift: [],
    linked: [],
    reconcileAt: undefined,
  };
}

function reasonIn(value: unknown): ReportedReason | undefined {
  if (!isMap(value) || typeof value['reason'] !== 'string' || !isTime(value['since'])) return undefined;
  return { reason: value['reason'], since: value['since'] };
}

function intentIn(object: ObjectKey, { intent }: Bookkeeping): Intent | undefined {
  if (!isMap(intent)) return undefined;
  const { idempotencyKey, action, createdAt, outcome, generation } = intent;
  const isWhole =
    typeof idempotencyKey === 'string' &&
    typeof action === 'string' &&
    isTime(createdAt) &&
    intentOutcomes.includes(outcome) &&
    Number.isSafeInteger(generation);
  if (!isWhole) return undefined;
  return {
    idempotencyKey,
    object,
    action,
    targetId: textIn(intent.targetId),
    bodyDigest: '',
    baseRevision: undefined,
    baseState: undefined,
    generation,
    restartToken: textIn(intent.restartToken),
    digests: undefined,
    createdAt,
    finishedAt: timeIn(intent.finishedAt),
    outcome,
    note: textIn(intent.note),
  };
}

function revisionsIn({ revisions }: Bookkeeping): OwnerRevision[] {
  if (!Array.isArray(revisions)) return [];
  return (revisions as readonly unknown[]).flatMap((mark) => {
    const isWhole = isMap(mark) && Number.isSafeInteger(mark['number']) && typeof mark['digest'] === 'string';
    return isWhole ? [{ ...(mark as unknown as RevisionMark), content: {}, data: [] }] : [];
  });
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Unix milliseconds that a Date can have. */
function isTime(value: unknown): value is number {
  return typeof value === 'number' && Math.abs(value) <= 8.64e15;
}
