/**
 * Budget: nothing of it exists at the provider. The sums are the engine's (engine/money/budgets.ts), and so is the gate. Its pass reports
 * them, stores what was spent, and warns.
 *
 * | document                                   | its pass                                                          |
 * |--------------------------------------------|-------------------------------------------------------------------|
 * | has another scope than at first            | Hold: the document from before stays in force, its limits, too    |
 * | is one too many for an object (more than 8) | Hold: it does not count for that object                          |
 * | is one too many for the process (more than 1,000) | Hold: it does not count                       |
 * | has `mode: Shed`, and nothing is left to stop | Hold (shedding.ts); what is stopped, and what comes back, is stored |
 * | any other                                  | in sync; the amounts are stored once a minute, and at the end     |
 */
import { sameValue } from '../../base/index.ts';
import {
  holdFor,
  inSync,
  planShedding,
  readTally,
  storedAfterMs,
  storedTally,
  type Plan,
  type SheddingPlan,
  type Tally,
} from '../../engine/plan/index.ts';
import { defineKind, type BudgetView, type View } from '../../engine/index.ts';
import type { ObjectRecord } from '../../state/index.ts';
import { leftState } from './left.ts';
import { budgetHealth, observedBudget, withinBudget } from './status.ts';
import type { BudgetSpec } from './schema.ts';
import type { BudgetState } from './state.ts';
import { contentOf, scopeOf, scopeText } from './schema-terms.ts';
import {
  blockedShedding,
  observedShedding,
  sheddingCondition,
  sheddingNews,
  sheddingState,
} from './shedding.ts';
import { budgetNews, passingNews } from './warnings.ts';

export interface BudgetLook {
  readonly record: ObjectRecord<BudgetState>;
  readonly spec: BudgetSpec;
  /** Undefined while it is being deleted. */
  readonly view: BudgetView | undefined;
  /** The one to show and to store. */
  readonly tally: Tally | undefined;
  /** With `mode: Shed`. */
  readonly shedding: SheddingPlan | undefined;
}

const passMs = 60_000;

function look({
  key,
  record,
  object,
  money,
  mode,
  isOneShot,
  clock,
  stopping,
}: View<BudgetSpec, never, undefined, BudgetState>): BudgetLook {
  const view = money.budget(key);
  const stored = record.kind.tally && readTally(record.kind.tally);
  // A preview stops nothing, and lets nothing go.
  const inputs =
    mode === 'preview' || object.deleting ? undefined : money.shedding(key, record.kind.shedding);
  const shedding = inputs && planShedding({ ...inputs, isOneShot });
  return {
    record,
    spec: object.spec,
    view,
    tally: fresh(view?.tally, stored, clock.wallMs(), stopping()),
    shedding,
  };
}

/**
 * The amounts grow with each read. They are stored once a minute, when the burn changes, when the clock was set back, and at the end.
 * `nowMs`: the newest read is older.
 */
function fresh(
  now: Tally | undefined,
  stored: Tally | undefined,
  nowMs: number,
  isEnd: boolean,
): Tally | undefined {
  if (!now || !stored) return now ?? stored;
  const isSame = now.burnMicros === stored.burnMicros && now.month === stored.month && now.at >= stored.at;
  return isSame && !isEnd && nowMs - stored.at < storedAfterMs ? stored : now;
}

function plan(seen: BudgetLook): Plan {
  const { record, spec, view, shedding } = seen;
  if (record.deletionRequestedAt !== undefined || !view) return inSync();
  const scope = scopeOf(spec);
  if (!sameValue(scope, view.terms.scope)) {
    const message = `a budget is always about the same: ${scopeText(view.terms.scope)} stays in force, with the limits from before this edit; take the change back, or write another budget`;
    return holdFor('ImmutableFieldChanged', message, { path: ['spec'] });
  }
  if (view.isBeyond) {
    const message =
      'more than 1,000 budgets are in this process; the youngest ones, such as this, do not count';
    return holdFor('InvalidSpec', message, { path: ['spec'] });
  }
  if (view.isCrowded) {
    const message =
      'more than 8 budgets are about the same object; the youngest ones, such as this, do not count for it';
    return holdFor('InvalidSpec', message, { path: ['spec'] });
  }
  return blockedShedding(seen) ?? inSync([], Math.min(passMs, shedding?.againAfterMs ?? passMs));
}

export const budget = defineKind<BudgetSpec, never, BudgetLook, undefined, BudgetState>({
  name: 'Budget',
  needsNoAccountRead: true,
  storesAtEnd: true,
  account: () => ({ handle: undefined, problem: undefined }),
  released: ({ record }) => record.deletionRequestedAt !== undefined,
  look,
  plan,
  status: (seen) => {
    const { news, warned } = budgetNews(seen);
    const overspend = passingNews(seen);
    const { tally, view, record, shedding } = seen;
    const scope = record.kind.scope ?? scopeOf(seen.spec);
    const isSame = sameValue(scope, scopeOf(seen.spec));
    return {
      health: budgetHealth(view),
      observed: { ...observedBudget(seen), ...observedShedding(shedding) },
      revision: undefined,
      kind: {
        ...record.kind,
        scope,
        ...(isSame ? { inForce: contentOf(seen.spec) } : {}),
        warned,
        passing: overspend.passing,
        ...(tally ? { tally: storedTally(tally) } : {}),
        ...sheddingState(seen),
        ...leftState(seen),
      },
      more: [['WithinBudget', withinBudget(seen)], ...sheddingCondition(seen)],
      news: [...news, ...overspend.news, ...sheddingNews(seen)],
    };
  },
});
