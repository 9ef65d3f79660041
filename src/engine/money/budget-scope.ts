/** What a budget is about, and which budgets are older. */
import { selects, type BudgetTerms } from '../../resources/index.ts';
import type { Budget } from './budget.ts';

/** `account`: the name of the Account in the namespace of the budget. */
export function isAbout(
  scope: BudgetTerms['scope'],
  labels: Readonly<Record<string, string>>,
  account: string | undefined,
): boolean {
  if (scope.of === 'namespace') return true;
  return scope.of === 'labels' ? selects(scope.selector, labels) : scope.name === account;
}

/** The oldest first. */
export function byAge(left: Budget, right: Budget): number {
  return left.createdAt - right.createdAt || (left.key < right.key ? -1 : 1);
}
