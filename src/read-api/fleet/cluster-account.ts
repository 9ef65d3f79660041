/**
 * What the status of an Account shows of its account. Pure.
 *
 * | question                        | answer                                                                                        |
 * |---------------------------------|-----------------------------------------------------------------------------------------------|
 * | when it was read last           | while its reads succeed, the last sign of life of its operator, who reports one that fails as a condition; |
 * |                                 | after that, when it began to fail; never later than the operator was seen                      |
 * | it was never read               | the status shows nothing of the account, or there is none                                     |
 * | rate, 429s, queue, reservations | not known: the memory of the operator has them, and its metrics                               |
 */
import { entryOf, isBlocking, isReason } from '../../reasons/index.ts';
import { accountNamed, longestPollSeconds } from '../../resources/index.ts';
import type { ManagerState } from '../../shown/manager-state.ts';
import type { ObjectRecord } from '../../state/index.ts';
import { numberIn } from './row.ts';
import type { AccountNow, Quota } from './source.ts';

/** `manager`: of the operator that reads it. */
export function accountFromStatus(record: ObjectRecord, manager: ManagerState, nowMs: number): AccountNow {
  const { status, manifest, key } = record;
  const failure = failureIn(record);
  const readAt = lastRead(record, manager, nowMs, failure?.since);
  const hours = numberIn(status, 'runwayHours');
  const { pollSeconds = usualPollSeconds, quietPollSeconds } = numbersIn(manifest.spec);
  return {
    name: accountNamed(key) ?? '',
    isShared: false,
    pollSeconds,
    longestPollSeconds: longestPollSeconds({ pollSeconds, quietPollSeconds }),
    readAt,
    ageMs: readAt === undefined ? undefined : Math.max(0, nowMs - readAt),
    failure: failure && { reason: failure.reason, message: failure.message },
    requests: undefined,
    balanceMicros: numberIn(status, 'balanceMicros'),
    burnMicrosPerHour: numberIn(status, 'burnMicrosPerHour'),
    reservedMicrosPerHour: undefined,
    runwaySeconds: hours === undefined ? undefined : hours * 3600,
    quotas: quotasIn(status?.['limits']),
  };
}

/** Of a document that can't be read. */
const usualPollSeconds = 15;

function numbersIn({ pollSeconds, quietPollSeconds }: Readonly<Record<string, unknown>>) {
  return { pollSeconds: numberOr(pollSeconds), quietPollSeconds: numberOr(quietPollSeconds) };
}

function numberOr(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

interface Failure {
  readonly reason: string;
  readonly message: string;
  /** Unix milliseconds. */
  readonly since: number;
}

function failureIn({ status }: ObjectRecord): Failure | undefined {
  const ready = status?.conditions.find(({ type }) => type === 'Ready');
  if (!ready || ready.status === 'True' || !isReason(ready.reason) || !isBlocking(ready.reason))
    return undefined;
  const isRead = entryOf(ready.reason).accountUnread !== true && status?.['services'] !== undefined;
  if (isRead) return undefined;
  return { reason: ready.reason, message: ready.message, since: Date.parse(ready.lastTransitionTime) };
}

/** What its first read shows. */
function wasRead({ status }: ObjectRecord): boolean {
  return status?.['services'] !== undefined;
}

function lastRead(
  record: ObjectRecord,
  { seenAt }: ManagerState,
  nowMs: number,
  failedAt: number | undefined,
): number | undefined {
  if (!wasRead(record)) return undefined;
  const moneyAt = record.status?.['moneyAt'];
  const shown = typeof moneyAt === 'string' ? Date.parse(moneyAt) : Number.NaN;
  const vouched = [seenAt, failedAt].filter((at) => at !== undefined && Number.isFinite(at)) as number[];
  const known = vouched.length === 0 || seenAt === undefined ? [] : [Math.min(...vouched)];
  const times = [...known, ...(Number.isFinite(shown) ? [shown] : [])];
  return times.length === 0 ? undefined : Math.min(nowMs, Math.max(...times));
}

function quotasIn(limits: unknown): Quota[] {
  if (typeof limits !== 'object' || limits === null) return [];
  return Object.entries(limits as Readonly<Record<string, Partial<Quota> | undefined>>).flatMap(
    ([resource, quota]) =>
      typeof quota?.used === 'number' && typeof quota.limit === 'number'
        ? [{ resource, used: quota.used, limit: quota.limit }]
        : [],
  );
}
