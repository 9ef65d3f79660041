/**
 * Warnings of a budget, each once. Pure.
 *
 * | used of a limit                      | warning                                              |
 * |--------------------------------------|------------------------------------------------------|
 * | reaches a threshold of `warnAt`      | `BudgetNearLimit`                                    |
 * | passes the limit                     | `BudgetPassed`                                       |
 * | stays, or falls by less than 5 points | none, and none again when it rises                  |
 * | falls by more                        | none; when it rises again, another one               |
 * | a month begins                       | thresholds of the monthly limit are warned of again  |
 * | `allow-overspend-until` of a member, or another time in it | `OverspendAllowed`; of at most 20 members |
 */
import { rfc3339 } from '../../base/index.ts';
import type { ReasonOf } from '../../reasons/index.ts';
import { parseObjectKey } from '../../resources/index.ts';
import { usedOf } from './amounts.ts';
import type { BudgetLook } from './kind.ts';
import type { BudgetState } from './state.ts';
import { passingNow, percentOf, usedText } from './status.ts';

interface News {
  readonly reason: ReasonOf<'event'>;
  readonly message: string;
}

type Warned = NonNullable<BudgetState['warned']>[number];

const hysteresis = 5;
/** More than the limit. */
const passed = 101;

export function budgetNews(look: BudgetLook): {
  readonly news: readonly News[];
  readonly warned: readonly Warned[];
} {
  const { record, view, tally } = look;
  const before = record.kind.warned ?? [];
  const used = usedOf(look);
  const month = tally?.month ?? '';
  const warned = before.filter((each) => isStillTrue(each, used, month));
  const news = [];
  for (const each of used) {
    const thresholds = each.of === 'runway' ? [passed] : [...(view?.terms.warnAt ?? []), passed];
    const isOver = each.micros > each.limitMicros;
    const at = thresholds.findLast((percent) => (percent === passed ? isOver : percentOf(each) >= percent));
    const known = Math.max(0, ...warned.filter(({ of }) => of === each.of).map(({ percent }) => percent));
    if (at === undefined || at <= known) continue;
    warned.push({ of: each.of, percent: at, month: each.of === 'monthly' ? month : '' });
    const reason = at === passed ? ('BudgetPassed' as const) : ('BudgetNearLimit' as const);
    news.push({ reason, message: usedText(each) });
  }
  return { news, warned };
}

function isStillTrue({ of, percent, month }: Warned, used: ReturnType<typeof usedOf>, now: string): boolean {
  if (of === 'monthly') return month === now;
  const each = used.find((one) => one.of === of);
  return !each || percentOf(each) > Math.min(percent, 100) - hysteresis;
}

/** Members that do not wait for the budget. */
export function passingNews(look: BudgetLook): {
  readonly news: readonly News[];
  readonly passing: NonNullable<BudgetState['passing']>;
} {
  const before = new Map((look.record.kind.passing ?? []).map(({ object, until }) => [object, until]));
  const passing = passingNow(look).slice(0, mostReported);
  const news = passing
    .filter(({ object, until }) => before.get(object) !== until)
    .map(({ object, until }) => {
      const { kind, name } = parseObjectKey(object);
      const message = `${kind} ${name} does not wait for the budget until ${rfc3339(until)} (\`allow-overspend-until\`)`;
      return { reason: 'OverspendAllowed', message } as const;
    });
  return { news, passing };
}

const mostReported = 20;
