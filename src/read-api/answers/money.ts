/** `/api/v1/money`: as `fleetkeeper cost`, of what accounts were last seen to hold. */
import type { z } from 'zod';
import {
  accountKey,
  parseObjectKey,
  traitsOf,
  type ManagedKind,
  type ObjectKey,
} from '../../resources/index.ts';
import { accountRows, aheadAt, costItems, costsBy, type CostBy, type CostItem } from '../../shown/cost.ts';
import { surveyor, type Holding } from '../../shown/survey.ts';
import { sees, seesAccount, seesKey, type Reader } from '../fleet/reader.ts';
import type { IndexedRow } from '../fleet/row.ts';
import { numberIn } from '../fleet/row.ts';
import { isAccountStale, type AccountNow, type FleetSource, type Holdings } from '../fleet/source.ts';
import type { money } from '../schemas/answers.ts';
import { visibleAccounts, visibleBudgets } from './accounts.ts';
import { shownRow, type AnswerContext } from './context.ts';
import { priceChangesOf } from './price-changes.ts';

export type Money = z.infer<typeof money>;

const mostRows = 200;
const expensiveShown = 20;

export function moneyOf(context: AnswerContext, by: CostBy): Money {
  const accounts = visibleAccounts(context);
  const holdings = context.source.holdings();
  // Who sees an account sees what all of it costs.
  const all = holdings && surveyed(holdings);
  const { currency, rows, unmanaged, total, by: shownBy } = costsOf(context, all, by);
  const spent = new Map(
    accountRows({
      accounts: all?.accounts ?? [],
      month: undefined,
      fleet: all?.fleet,
      nowMs: context.nowMs,
    }).map((row) => [row.account, row]),
  );
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
    priceChanges: priceChangesOf(context),
    isComplete: isComplete(context.source, holdings, accounts),
  };
}

type Costs = ReturnType<typeof costsBy>;

function costsOf(context: AnswerContext, all: Surveyed | undefined, by: CostBy): Costs {
  const { index, source, reader } = context;
  const labelsOf = (key: ObjectKey) => source.labelsOf(key);
  if (!all) {
    const ahead = aheadAt(context.nowMs, { store: source.store });
    return costsBy(recordedCosts(context), labelsOf, by, ahead);
  }
  const held = all.accounts.map(({ account, holdings: each }) => {
    const seen = index.accounts.find(({ name }) => name === account);
    return { account, holdings: each.filter((holding) => isVisible(holding, reader, seen)) };
  });
  return costsBy(costItems(held), labelsOf, by, aheadAt(context.nowMs, all.fleet));
}

type Surveyed = ReturnType<typeof surveyed>;

function surveyed({ accounts, fleet }: Holdings) {
  const survey = surveyor(fleet);
  return {
    fleet,
    accounts: accounts.map(({ account, contents }) => ({ account, holdings: survey(contents) })),
  };
}

/** As statuses show them. What an account holds beside its objects is the rest of its sums. */
function recordedCosts(context: AnswerContext): CostItem[] {
  const { index, source, reader } = context;
  const items: CostItem[] = [];
  for (const key of source.store.everyKey()) {
    const { kind, namespace } = parseObjectKey(key);
    const record = source.store.record(key);
    if (!sees(reader, namespace) || !costsByItself(kind) || record?.externalId === undefined) continue;
    const { account = '', hourlyMicros = null } = index.rows.get(key)?.row ?? {};
    const micros = hourlyMicros === null ? undefined : BigInt(hourlyMicros);
    items.push({ account: account ?? '', key, things: 1, micros });
  }
  const rest = visibleAccounts(context).flatMap((account) => restOf(account, items, context) ?? []);
  return [...items, ...rest];
}

/** A budget or a fleet has the costs of others. */
function costsByItself(kind: ManagedKind): boolean {
  return traitsOf(kind).asks !== undefined;
}

/** What nobody manages as far as is known here. */
function restOf(
  { name, burnMicrosPerHour }: AccountNow,
  items: readonly CostItem[],
  { source }: AnswerContext,
): CostItem | undefined {
  const status = source.store.record(accountKey(name))?.status;
  const [services, volumes] = [numberIn(status, 'services'), numberIn(status, 'volumes')];
  if (burnMicrosPerHour === undefined || services === undefined || volumes === undefined) return undefined;
  const own = items.filter(({ account }) => account === name);
  const things = services + volumes - own.length;
  const micros = own.reduce((left, item) => left - (item.micros ?? 0n), BigInt(burnMicrosPerHour));
  return things > 0
    ? { account: name, key: undefined, things, micros: micros > 0n ? micros : 0n }
    : undefined;
}

/** Sums of statuses are those of accounts whose sums are known. */
function isComplete(
  { place }: FleetSource,
  holdings: Holdings | undefined,
  accounts: readonly AccountNow[],
): boolean {
  const areSummed = accounts.every((each) => each.burnMicrosPerHour !== undefined && !isAccountStale(each));
  const isKnown = holdings !== undefined || (place === 'cluster' && areSummed);
  return isKnown && accounts.every(({ readAt, failure }) => readAt !== undefined && !failure);
}

/** What no object of the reader's namespaces manages belongs to who may see the account. */
function isVisible({ managedBy }: Holding, reader: Reader, account: AccountNow | undefined): boolean {
  if (managedBy.is === 'fleet' || managedBy.is === 'duplicate') return seesKey(reader, managedBy.key);
  return account !== undefined && seesAccount(reader, account) && seesKey(reader, accountKey(account.name));
}

function mostExpensive(context: AnswerContext): IndexedRow['row'][] {
  const { index, reader } = context;
  const found: IndexedRow['row'][] = [];
  for (const indexed of index.order('cost').after(undefined)) {
    const { row } = indexed;
    if (found.length === expensiveShown || (row.hourlyMicros ?? 0) <= 0) break;
    if (sees(reader, row.namespace) && costsByItself(row.kind as ManagedKind))
      found.push(shownRow(context, indexed));
  }
  return found;
}
