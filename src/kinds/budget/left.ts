/** What members left at the provider: what is remembered of it, and what is shown. Pure. */
import { withLeft, withMissing, withoutLeft } from '../../engine/plan/index.ts';
import type { BudgetLook } from './kind.ts';
import type { BudgetState } from './state.ts';

/** With what was left without notice, and without what is gone or belongs to another object. */
export function leftState({
  record: {
    kind: { left = [] },
  },
  view,
}: Pick<BudgetLook, 'record' | 'view'>): Pick<BudgetState, 'left'> {
  const { unsavedLeft = [], leftOver = nothing } = view ?? {};
  const all = unsavedLeft.reduce((sum, { account, ids }) => withLeft(sum, account, ids) ?? sum, left);
  const rest = withoutLeft(all, leftOver);
  const kept = view ? withMissing(rest, view.leftMissing) : rest;
  return { left: kept.length > 0 ? kept : undefined };
}

const nothing: ReadonlySet<string> = new Set();

/** Nothing else shows why a limit is passed, or near. */
export function leftText({ view }: Pick<BudgetLook, 'view'>): string {
  const ids = view?.left ?? [];
  if (ids.length === 0) return '';
  const more = ids.length > mostNamed ? ` and ${ids.length - mostNamed} more` : '';
  return `it counts what was left at the provider (\`deletionPolicy: Retain\`): ${ids.slice(0, mostNamed).join(', ')}${more}`;
}

const mostNamed = 10;
