/** `cost` for people. */
import { usdOf } from '../../engine/plan/index.ts';
import type { AccountRow, BudgetRow, CostReport, CostRow } from '../../shown/cost.ts';
import { renderTable } from '../output/render.ts';
import { oneLine } from '../output/terminal-text.ts';

const hoursPerMonth = 730n;

function cells(name: string, sum: Omit<CostRow, 'name'>): string[] {
  const { things, hourlyMicros, aheadMicros, unpriced } = sum;
  const micros = BigInt(hourlyMicros);
  const ahead = usdOf(BigInt(aheadMicros));
  return [name, String(things), usdOf(micros), usdOf(micros * hoursPerMonth), ahead, String(unpriced)];
}

function amount(micros: number | null): string {
  return micros === null ? '-' : usdOf(BigInt(micros));
}

export function costText(report: CostReport): string {
  const { by, rows, unmanaged, total, accounts, budgets } = report;
  const head = [by.toUpperCase(), 'THINGS', 'USD/HOUR', 'USD/730 H', 'TO MONTH END', 'UNPRICED'];
  const table = renderTable(head, [
    ...rows.map((row) => cells(oneLine(row.name ?? '(none)'), row)),
    cells('not managed by this fleet', unmanaged),
    cells('all', total),
  ]);
  return [
    table,
    ...(accounts.length === 0 ? [] : [accountTable(accounts)]),
    ...(budgets.length === 0 ? [] : [budgetTable(budgets)]),
  ].join('\n\n');
}

function accountTable(accounts: readonly AccountRow[]): string {
  return renderTable(
    ['ACCOUNT', 'MONTH', 'SPENT', 'ESTIMATED', 'UNATTRIBUTED', 'FORECAST', 'COUNTED SINCE'],
    accounts.map((row) => [
      row.account,
      row.month,
      amount(row.spentMicros),
      amount(row.estimatedMicros),
      amount(row.unattributedMicros),
      amount(row.forecastMicros),
      row.since ?? '-',
    ]),
  );
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
