/**
 * What an account has spent in a month, in UTC. Pure. The rules of counting are those of a budget (engine/plan/tally.ts).
 *
 * | since the stored count                              | stored anew                 |
 * |-----------------------------------------------------|-----------------------------|
 * | the burn has changed, or the balance has risen      | at once                     |
 * | a minute has passed, or the process ends, and something was spent | yes           |
 * | nothing was spent                                   | no: nothing is lost by that |
 *
 * Between two stored counts the burn is the same. So each pass counts anew from the stored one, and nothing else is remembered.
 *
 * Failure cases. No read: the count stays as it is. A manager that was not running, or a clock that was put forward: the time counts at
 * the last burn, and as estimated. A clock that was set back adds nothing; by more than a day, it takes back what lies ahead now. A lost
 * record: the month begins anew, and `since` shows it.
 */
import { rfc3339 } from '../../base/index.ts';
import {
  burnMicrosPerHour,
  clampedMicros,
  countingRules,
  firstTally,
  microsOf,
  storedAfterMs,
  tallied,
  type Tally,
} from '../../engine/plan/index.ts';
import type { AccountFacts } from './status.ts';

const timeZone = 'UTC';

export interface CountRules {
  readonly longestPollSeconds: number;
  readonly isInCluster: boolean;
  /** The process ends. */
  readonly isEnd: boolean;
}

export function nextTally(
  { read }: Pick<AccountFacts, 'read'>,
  before: Tally | undefined,
  { longestPollSeconds, isInCluster, isEnd }: CountRules,
): Tally | undefined {
  if (!read) return before;
  const { balanceMicros } = read;
  const found = {
    at: Math.floor(read.at),
    burnMicros: burnMicrosPerHour(read),
    balanceMicros: balanceMicros === undefined ? undefined : BigInt(Math.floor(balanceMicros)),
  };
  if (!before) return firstTally(found, timeZone);
  const now = tallied(before, found, { timeZone, ...countingRules(longestPollSeconds, isInCluster) });
  return isSame(before, now, isEnd) ? before : now;
}

function isSame(before: Tally, now: Tally, isEnd: boolean): boolean {
  const hasRisen = (now.balanceMicros ?? 0n) > (before.balanceMicros ?? 0n);
  if (before.burnMicros !== now.burnMicros || before.month !== now.month || hasRisen) return false;
  if (now.at < before.at) return false;
  const isNothing = before.spent === now.spent && before.unattributed === now.unattributed;
  return isNothing || (!isEnd && now.at - before.at < storedAfterMs);
}

export function spentFields({
  month,
  since,
  spent,
  estimated,
  unattributed,
  at,
}: Tally): Record<string, unknown> {
  return {
    month,
    since: rfc3339(since),
    spentMicros: clampedMicros(microsOf(spent)),
    estimatedMicros: clampedMicros(microsOf(estimated)),
    unattributedMicros: clampedMicros(microsOf(unattributed)),
    countedAt: rfc3339(at),
  };
}
