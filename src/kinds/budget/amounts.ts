/** The limits of a budget, each with what is used of it. Pure. */
import { forecast, microsOf, type Forecast } from '../../engine/plan/index.ts';
import type { BudgetLook } from './kind.ts';

export interface Used {
  readonly of: 'hourly' | 'monthly' | 'runway';
  readonly micros: bigint;
  readonly limitMicros: bigint;
}

/** Without a read of what it is about, nothing. */
export function usedOf({ view, tally }: BudgetLook): readonly Used[] {
  if (!view || view.unreadable.length > 0) return [];
  const { burnMicros, balanceMicros, terms } = view;
  const { hourlyMicros, monthlyMicros, runwayHours } = terms.limits;
  const used: Used[] = [];
  if (hourlyMicros !== undefined)
    used.push({ of: 'hourly', micros: burnMicros, limitMicros: BigInt(hourlyMicros) });
  if (monthlyMicros !== undefined && tally)
    used.push({ of: 'monthly', micros: microsOf(tally.spent), limitMicros: BigInt(monthlyMicros) });
  if (runwayHours !== undefined && balanceMicros !== undefined)
    used.push({
      of: 'runway',
      micros: burnMicros * BigInt(runwayHours),
      limitMicros: balanceMicros > 0n ? balanceMicros : 0n,
    });
  return used;
}

/** What the month will have cost, by today's burn and the schedules of fleets. */
export function forecastOf({ view, tally }: BudgetLook): Forecast | undefined {
  if (!view || !tally) return undefined;
  const { monthlyMicros } = view.terms.limits;
  return forecast({
    spent: tally.spent,
    at: tally.at,
    burnMicros: view.burnMicros,
    until: view.monthEndsAt,
    courses: view.courses(),
    limitMicros: monthlyMicros === undefined ? undefined : BigInt(monthlyMicros),
  });
}
