/** `/api/v1/money`: as `fleetkeeper cost`, of what accounts were last seen to hold. */
import type { z } from 'zod';
import { accountKey, traitsOf, type ManagedKind, type ObjectKey } from '../../resources/index.ts';
import { accountRows, costReport, type CostBy } from '../../shown/cost.ts';
import { survey, type Holding } from '../../shown/survey.ts';
import { sees, seesAccount, seesKey, type Reader } from '../fleet/reader.ts';
import type { IndexedRow } from '../fleet/row.ts';
import type { AccountNow } from '../fleet/source.ts';
import type { money } from '../schemas/answers.ts';
import { visibleAccounts, visibleBudgets } from './accounts.ts';
import type { AnswerContext } from './context.ts';

export type Money = z.infer<typeof money>;

const mostRows = 200;
const expensiveShown = 20;

export function moneyOf(context: AnswerContext, by: CostBy): Money {
  const { index, source, reader } = context;
  const holdings = source.holdings();
  const accounts = visibleAccounts(context);
  const all = (holdings?.accounts ?? []).map(({ account, contents }) => ({
    account,
    holdings: survey(contents, holdings?.fleet),
  }));
  const held = all.map(({ account, holdings: each }) => {
    const seen = index.accounts.find(({ name }) => name === account);
    return { account, holdings: each.filter((holding) => isVisible(holding, reader, seen)) };
  });
  const about = { month: undefined, fleet: holdings?.fleet, nowMs: context.nowMs };
  // Who sees an account sees what all of it costs.
  const spent = new Map(accountRows({ accounts: all, ...about }).map((row) => [row.account, row]));
  const inputs = {
    accounts: held,
    labelsOf: (key: ObjectKey) => source.labelsOf(key),
    records: [],
    ...about,
  };
  const { currency, rows, unmanaged, total, by: shownBy } = costReport(inputs, by);
  return {
    currency,
    by: shownBy,
    rows: rows.slice(0, mostRows),
    omitted: Math.max(0, rows.length - mostRows),
    unmanaged: { ...unmanaged },
    total: { ...total },
    mostExpensive: mostExpensive(context),
    budgets: visibleBudgets(context),
    accounts: accounts.map(({ name, balanceMicros, burnMicrosPerHour, runwaySeconds }) => ({
      account: name,
      balanceMicros: balanceMicros ?? null,
      burnMicrosPerHour: burnMicrosPerHour ?? null,
      runwaySeconds: runwaySeconds ?? null,
      month: spent.get(name)?.month ?? null,
      spentMicros: spent.get(name)?.spentMicros ?? null,
      forecastMicros: spent.get(name)?.forecastMicros ?? null,
    })),
    isComplete:
      holdings !== undefined && accounts.every(({ readAt, failure }) => readAt !== undefined && !failure),
  };
}

/** What no object of the reader's namespaces manages belongs to who may see the account. */
function isVisible({ managedBy }: Holding, reader: Reader, account: AccountNow | undefined): boolean {
  if (managedBy.is === 'fleet' || managedBy.is === 'duplicate') return seesKey(reader, managedBy.key);
  return account !== undefined && seesAccount(reader, account) && seesKey(reader, accountKey(account.name));
}

function mostExpensive({ index, reader }: AnswerContext): IndexedRow['row'][] {
  const found: IndexedRow['row'][] = [];
  for (const { row } of index.order('cost').after(undefined)) {
    if (found.length === expensiveShown || (row.hourlyMicros ?? 0) <= 0) break;
    // A budget or a fleet has the costs of others.
    if (sees(reader, row.namespace) && traitsOf(row.kind as ManagedKind).asks) found.push(row);
  }
  return found;
}
