/** What a document of a Budget limits. */
import { isSameScope, type BudgetScope, type BudgetTerms } from '../../resources/parts/budget.ts';
import type { BudgetSpec } from './schema.ts';
import type { BudgetState } from './state.ts';

/** With the scope with which it was made: another one is another budget, and nothing of such an edit is in force. */
export function termsOf(spec: BudgetSpec, { scope = scopeOf(spec), inForce }: BudgetState): BudgetTerms {
  const known = isSameScope(scope, scopeOf(spec)) ? undefined : inForce;
  return { scope, ...(known ?? contentOf(spec)) };
}

/** All but the scope. */
export function contentOf(spec: BudgetSpec): NonNullable<BudgetState['inForce']> {
  const { limits, timeZone, horizonHours, mode, unpriced, shed } = spec;
  const warnAt = spec.warnAt.toSorted((left, right) => left - right);
  return { limits, timeZone, horizonHours, mode, warnAt, unpriced, shed };
}

export function scopeOf({ selector, accountRef }: BudgetSpec): NonNullable<BudgetState['scope']> {
  if (selector) return { of: 'labels', selector };
  return accountRef ? { of: 'account', name: accountRef.name } : { of: 'namespace' };
}

export function scopeText(scope: BudgetScope): string {
  if (scope.of === 'account') return `accountRef: {name: ${scope.name}}`;
  return scope.of === 'namespace' ? 'namespace: true' : `selector: ${JSON.stringify(scope.selector)}`;
}
