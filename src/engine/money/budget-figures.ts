/** What is used of a budget now. */
import { monthEnd } from '../../base/index.ts';
import type { BudgetFigures } from '../plan/index.ts';
import type { Budget } from './budget.ts';
import type { BudgetAccounts } from './budget-accounts.ts';
import type { Money } from './money.ts';

/** `nowMs`: Unix milliseconds. */
export function figuresOf(
  budget: Budget,
  about: BudgetAccounts,
  money: Pick<Money, 'openMicros'>,
  nowMs: number,
): BudgetFigures {
  const { scope, timeZone } = budget.terms;
  const handle = about.ownOf(budget);
  const balance = handle?.informer.balanceMicros;
  const isOfAccount = scope.of === 'account';
  return {
    burnMicros: isOfAccount ? about.costsOf(handle).micros : budget.burn,
    reservedMicros: isOfAccount ? money.openMicros(handle?.name) + budget.kept : budget.held,
    spentMicros: budget.spentMicros,
    observedMicros: budget.observedMicros,
    monthLeftMs: monthEnd(nowMs, timeZone) - nowMs,
    balanceMicros: balance === undefined ? undefined : BigInt(Math.floor(balance)),
  };
}
