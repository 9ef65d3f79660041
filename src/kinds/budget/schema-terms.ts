/** What a document of a Budget limits. */
import {
  isSameScope,
  type BudgetInForce,
  type BudgetScope,
  type BudgetTerms,
} from '../../resources/parts/budget.ts';
import type { BudgetSpec } from './schema.ts';
import type { BudgetState } from './state.ts';

/** With the scope with which it was made: another one is another budget, and nothing of such an edit is in force. */
export function termsOf(spec: BudgetSpec, state: BudgetState): BudgetTerms {
  const { scope = scopeOf(spec) } = state;
  return { scope, ...(contentBefore(spec, state) ?? contentOf(spec)) };
}

/** The part of them that is shown; of any spec, as far as it has numbers. */
export function inForceOf(spec: Partial<BudgetSpec>, state: BudgetState): BudgetInForce {
  const { scope = scopeOf(spec) } = state;
  const { limits, mode } = contentBefore(spec, state) ?? spec;
  const numbers = Object.entries(limits ?? {}).filter(([, limit]) => Number.isFinite(limit));
  return { scope, limits: Object.fromEntries(numbers), mode: mode ?? 'Gate' };
}

/** Of a document that is held, because it has another scope. */
function contentBefore(
  spec: Partial<BudgetSpec>,
  { scope = scopeOf(spec), inForce }: BudgetState,
): BudgetState['inForce'] {
  return isSameScope(scope, scopeOf(spec)) ? undefined : inForce;
}

/** All but the scope. */
export function contentOf(spec: BudgetSpec): NonNullable<BudgetState['inForce']> {
  const { limits, timeZone, horizonHours, mode, unpriced, shed } = spec;
  const warnAt = spec.warnAt.toSorted((left, right) => left - right);
  return { limits, timeZone, horizonHours, mode, warnAt, unpriced, shed };
}

export function scopeOf({ selector, accountRef }: Partial<BudgetSpec>): NonNullable<BudgetState['scope']> {
  if (selector) return { of: 'labels', selector };
  return accountRef ? { of: 'account', name: accountRef.name } : { of: 'namespace' };
}

export function scopeText(scope: BudgetScope): string {
  if (scope.of === 'account') return `accountRef: {name: ${scope.name}}`;
  return scope.of === 'namespace' ? 'namespace: true' : `selector: ${JSON.stringify(scope.selector)}`;
}
