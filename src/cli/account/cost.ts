/** `cost` for people. */
import { usdOf } from '../../engine/plan/index.ts';
import type { AccountRow, BudgetRow, CostReport } from '../../shown/cost.ts';
import { renderTable } from '../output/render.ts';
import { oneLine } from '../output/terminal-text.ts';

const hoursPerMonth = 730n;

function cells(name: string, sum: CostReport['total'], isCounted: boolean): string[] {
  const { things, hourlyMicros, aheadMicros, unpriced, spentMicros, estimatedMicros, forecastMicros } = sum;
  const micros = BigInt(hourlyMicros);
  const ahead = usdOf(BigInt(aheadMicros));
  const now = [name, String(things), usdOf(micros), usdOf(micros * hoursPerMonth), ahead, String(unpriced)];
  return isCounted ? [...now, ...[spentMicros, estimatedMicros, forecastMicros].map(amount)] : now;
}

function amount(micros: number | null): string {
  return micros === null ? '-' : usdOf(BigInt(micros));
}

export function costText(report: CostReport): string {
  const { by, rows, unmanaged, total, accounts, budgets } = report;
  const isCounted = rows.some(({ spentMicros }) => spentMicros !== null);
  const head = [by.toUpperCase(), 'THINGS', 'USD/HOUR', 'USD/730 H', 'TO MONTH END', 'UNPRICED'];
  const table = renderTable(isCounted ? [...head, 'SPENT', 'ESTIMATED', 'FORECAST'] : head, [
    ...rows.map((row) => cells(oneLine(row.name ?? '(none)'), row, isCounted)),
    cells('not managed by this fleet', unmanaged, isCounted),
    cells('all', total, isCounted),
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
      row.sharesWith === null ? row.account : `${row.account} (as ${row.sharesWith})`,
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
      'COUNTED SINCE',
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
      budget.since ?? '-',
      amount(budget.limitMicros),
      amount(budget.hourlyMicros),
      amount(budget.hourlyLimitMicros),
      budget.exhaustedAt ?? '-',
    ]),
  );
}
