/** `cost` for people. */
import { usdOf } from '../../engine/plan/index.ts';
import type { BudgetRow, CostReport, CostRow } from '../../shown/cost.ts';
import { renderTable } from '../output/render.ts';
import { oneLine } from '../output/terminal-text.ts';

const hoursPerMonth = 730n;

function cells(name: string, { things, hourlyMicros, unpriced }: Omit<CostRow, 'name'>): string[] {
  const micros = BigInt(hourlyMicros);
  return [name, String(things), usdOf(micros), usdOf(micros * hoursPerMonth), String(unpriced)];
}

function amount(micros: number | null): string {
  return micros === null ? '-' : usdOf(BigInt(micros));
}

export function costText(report: CostReport): string {
  const { by, rows, unmanaged, total, budgets } = report;
  const head = [by.toUpperCase(), 'THINGS', 'USD/HOUR', 'USD/730 H', 'UNPRICED'];
  const table = renderTable(head, [
    ...rows.map((row) => cells(oneLine(row.name ?? '(none)'), row)),
    cells('not managed by this fleet', unmanaged),
    cells('all', total),
  ]);
  return budgets.length === 0 ? table : `${table}\n\n${budgetTable(budgets)}`;
}

function budgetTable(budgets: readonly BudgetRow[]): string {
  return renderTable(
    [
      'BUDGET',
      'MONTH',
      'SPENT',
      'ESTIMATED',
      'UNATTRIBUTED',
      'FORECAST',
      'LIMIT',
      'USD/HOUR',
      'LIMIT/HOUR',
      'USED UP',
    ],
    budgets.map((budget) => [
      `${budget.namespace}/${budget.name}`,
      budget.month,
      amount(budget.spentMicros),
      amount(budget.estimatedMicros),
      amount(budget.unattributedMicros),
      amount(budget.forecastMicros),
      amount(budget.limitMicros),
      amount(budget.hourlyMicros),
      amount(budget.hourlyLimitMicros),
      budget.exhaustedAt ?? '-',
    ]),
  );
}
