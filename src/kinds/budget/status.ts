/** The status of a Budget. Pure. */
import { rfc3339 } from '../../base/index.ts';
import {
  clampedMicros,
  microsOf,
  runwaySeconds,
  unknownPrices,
  usdOf,
  type Tally,
} from '../../engine/plan/index.ts';
import type { BudgetView } from '../../engine/index.ts';
import { parseObjectKey, type ObjectKey } from '../../resources/index.ts';
import type { Health, Statement } from '../../engine/status/index.ts';
import { forecastOf, usedOf, type Used } from './amounts.ts';
import type { BudgetLook } from './kind.ts';
import { leftText } from './left.ts';

const mostDays = 62;

export function budgetHealth(view: BudgetView | undefined): Health {
  if (!view?.tally) {
    return { ready: 'False', reason: 'AwaitingObservation', message: 'nothing was counted yet' };
  }
  return { ready: 'True', reason: 'Counted', message: '' };
}

export function observedBudget(look: BudgetLook): Record<string, unknown> {
  const { view, tally } = look;
  if (!view) return {};
  const { members, waiting, burnMicros, reservedMicros, unpriced, balanceMicros, terms } = view;
  const seconds =
    balanceMicros === undefined ? undefined : runwaySeconds(clampedMicros(balanceMicros), burnMicros);
  const ahead = forecastOf(look);
  return {
    members,
    waiting,
    hourlyMicros: clampedMicros(burnMicros),
    reservedMicros: clampedMicros(reservedMicros),
    unpricedObjects: unpriced,
    leftObjects: view.left.length,
    ...(tally ? spentFields(tally, terms.scope.of === 'account') : {}),
    ...(ahead ? { forecastMicros: clampedMicros(microsOf(ahead.amount)) } : {}),
    ...(ahead?.exhaustedAt === undefined ? {} : { exhaustedAt: rfc3339(ahead.exhaustedAt) }),
    ...(seconds === undefined ? {} : { runwayHours: Math.floor(seconds / 360) / 10 }),
  };
}

function spentFields(tally: Tally, isOfAccount: boolean): Record<string, unknown> {
  const { month, since, spent, estimated, unattributed, at, days } = tally;
  return {
    month,
    since: rfc3339(since),
    spentMicros: clampedMicros(microsOf(spent)),
    estimatedMicros: clampedMicros(microsOf(estimated)),
    ...(isOfAccount ? { unattributedMicros: clampedMicros(microsOf(unattributed)) } : {}),
    countedAt: rfc3339(at),
    days: [...days]
      .slice(-mostDays)
      .map(([date, amount]) => ({ date, micros: clampedMicros(microsOf(amount)) })),
  };
}

/** With what is missing, and those that wait for no budget, because of an annotation: nothing else shows why a limit is passed. */
export function withinBudget(look: BudgetLook): Statement {
  const statement = usedStatement(look);
  const { unknown = 0 } = look.view ?? {};
  const missing = unknown === 0 ? '' : `${unknownPrices(unknown)}, so what that costs is missing here`;
  const message = [statement.message, missing, leftText(look), passingText(look)]
    .filter((text) => text !== '')
    .join('; ');
  return { ...statement, message };
}

/** Members that do not wait for it, and until when (Unix milliseconds). */
export function passingNow({ view, tally }: BudgetLook): readonly { object: ObjectKey; until: number }[] {
  const now = tally?.at ?? 0;
  return [...(view?.passing ?? [])]
    .filter(([, until]) => until > now)
    .toSorted(byKey)
    .map(([object, until]) => ({ object, until }));
}

function passingText(look: BudgetLook): string {
  const all = passingNow(look);
  if (all.length === 0) return '';
  const names = all.slice(0, mostNamed).map(({ object, until }) => {
    const { kind, name } = parseObjectKey(object);
    return `${kind} ${name} until ${rfc3339(until)}`;
  });
  const more = all.length > mostNamed ? ` and ${all.length - mostNamed} more` : '';
  return `by \`allow-overspend-until\`, these do not wait for it: ${names.join(', ')}${more}`;
}

const byKey = ([left]: readonly [ObjectKey, number], [right]: readonly [ObjectKey, number]) =>
  left < right ? -1 : 1;

const mostNamed = 20;

function usedStatement(look: BudgetLook): Statement {
  const { view } = look;
  if (!view?.tally || view.unreadable.length > 0) {
    const unread = view?.unreadable.join(', ') ?? '';
    const message = unread === '' ? 'nothing was counted yet' : `these accounts can't be read: ${unread}`;
    return { status: 'Unknown', reason: 'AccountUnreadable', message };
  }
  const all = usedOf(look);
  const passed = all.filter(({ micros, limitMicros }) => micros > limitMicros);
  if (passed.length > 0)
    return { status: 'False', reason: 'Exceeded', message: passed.map(usedText).join('; ') };
  const [lowest = 101] = view.terms.warnAt;
  const near = all.filter((each) => percentOf(each) >= lowest);
  if (near.length > 0) return { status: 'True', reason: 'NearLimit', message: near.map(usedText).join('; ') };
  return { status: 'True', reason: 'WithinLimits', message: '' };
}

/** Rounded down. */
export function percentOf({ micros, limitMicros }: Used): number {
  if (limitMicros === 0n) return micros > 0n ? Number.POSITIVE_INFINITY : 0;
  return Number((micros * 100n) / limitMicros);
}

const names = { hourly: 'hourlyMicros', monthly: 'monthlyMicros', runway: 'runwayHours' } as const;
const units = { hourly: ' an hour', monthly: ' this month', runway: '' } as const;

export function usedText(used: Used): string {
  const { of, micros, limitMicros } = used;
  const percent = percentOf(used);
  const share = Number.isFinite(percent) ? `, ${percent} %` : '';
  const what =
    of === 'runway'
      ? `${usdOf(micros)} are needed for that time, and the balance is ${usdOf(limitMicros)}`
      : `${usdOf(micros)} of ${usdOf(limitMicros)}${units[of]}`;
  return `${names[of]}: ${what}${share}`;
}
