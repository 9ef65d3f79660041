/** What a document of a Budget limits. */
import type { BudgetScope, BudgetTerms } from '../../resources/parts/budget.ts';
import type { BudgetSpec } from './schema.ts';
import type { BudgetState } from './state.ts';

/** With the scope with which it was made: another one is another budget. */
export function termsOf(spec: BudgetSpec, { scope }: BudgetState): BudgetTerms {
  const { limits, timeZone, horizonHours, mode, unpriced, shed } = spec;
  const warnAt = spec.warnAt.toSorted((left, right) => left - right);
  return { scope: scope ?? scopeOf(spec), limits, timeZone, horizonHours, mode, warnAt, unpriced, shed };
}

export function scopeOf({ selector, accountRef }: BudgetSpec): NonNullable<BudgetState['scope']> {
  if (selector) return { of: 'labels', selector };
  return accountRef ? { of: 'account', name: accountRef.name } : { of: 'namespace' };
}

export function scopeText(scope: BudgetScope): string {
  if (scope.of === 'account') return `accountRef: {name: ${scope.name}}`;
  return scope.of === 'namespace' ? 'namespace: true' : `selector: ${JSON.stringify(scope.selector)}`;
}
