/** The limits of a budget, each with what is used of it. Pure. */
import { microsOf } from '../../engine/plan/index.ts';
import type { BudgetLook } from './kind.ts';

export interface Used {
  readonly of: 'hourly' | 'monthly' | 'runway';
  readonly micros: bigint;
  readonly limitMicros: bigint;
}

/** Without a read of what it is about, nothing. */
export function usedOf({ view, tally, spec }: BudgetLook): readonly Used[] {
  if (!view || view.unreadable.length > 0) return [];
  const { hourlyMicros, monthlyMicros, runwayHours } = spec.limits;
  const { burnMicros, balanceMicros } = view;
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

/** What the month will have cost if everything stays as it is. */
export function forecastMicros({ view, tally }: Pick<BudgetLook, 'view' | 'tally'>): bigint | undefined {
  if (!view || !tally) return undefined;
  const leftMs = BigInt(Math.max(0, view.monthEndsAt - tally.at));
  return microsOf(tally.spent + view.burnMicros * leftMs);
}

/** Unix milliseconds at which the monthly limit is reached then. Undefined if it is not. */
export function exhaustedAt({ view, tally, spec }: BudgetLook): number | undefined {
  const { monthlyMicros } = spec.limits;
  if (!view || !tally || monthlyMicros === undefined || view.burnMicros <= 0n) return undefined;
  const left = BigInt(monthlyMicros) * 3_600_000n - tally.spent;
  const at = tally.at + Number((left > 0n ? left : 0n) / view.burnMicros);
  return at < view.monthEndsAt ? at : undefined;
}
