/** `/api/v1/money`: as `fleetkeeper cost`, of what accounts were last seen to hold. */
import type { z } from 'zod';
import {
  accountKey,
  parseObjectKey,
  traitsOf,
  type ManagedKind,
  type ObjectKey,
} from '../../resources/index.ts';
import {
  accountRows,
  aheadAt,
  budgetCounts,
  costItems,
  costsBy,
  withSpent,
  type AccountRow,
  type CostBy,
  type CostInputs,
  type CostItem,
} from '../../shown/cost.ts';
import type { ObjectRecord } from '../../state/index.ts';
import type { Scheduled } from '../../shown/ahead.ts';
import { surveyor, type Holding } from '../../shown/survey.ts';
import { sees, seesAccount, seesKey, type Reader } from '../fleet/reader.ts';
import type { IndexedRow } from '../fleet/row.ts';
import { numberIn } from '../fleet/row.ts';
import { isAccountStale, type AccountNow, type FleetSource, type Holdings } from '../fleet/source.ts';
import { firstOfBalance, onceEach } from '../../shown/shared-things.ts';
import type { money } from '../schemas/answers.ts';
import { budgetKinds, visibleAccounts, visibleBudgets } from './accounts.ts';
import { gapsOf, shownRecord, shownRow, type AnswerContext } from './context.ts';
import { priceChangesOf } from './price-changes.ts';

export type Money = z.infer<typeof money>;

const mostRows = 200;
const expensiveShown = 20;

export function moneyOf(context: AnswerContext, by: CostBy): Money {
  const accounts = visibleAccounts(context);
  const priced = pricedIn(context);
  // Who sees an account sees what all of it costs.
  const counted = accountRows({
    accounts: accounts.map(({ name }) => name),
    items: priced.whole,
    month: undefined,
    fleet: priced.fleet,
    nowMs: context.nowMs,
  });
  const { currency, rows, unmanaged, total, by: shownBy } = costsOf(context, priced, by, counted);
  const spent = new Map(counted.map((row) => [row.account, row]));
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
    isComplete:
      isComplete(context.source, priced.isHeld, accounts) &&
      !gapsOf(context).some(({ isOfObjects }) => isOfObjects),
  };
}

type Costs = ReturnType<typeof withSpent>;

interface Priced {
  /** That the reader sees. */
  readonly items: readonly CostItem[];
  /** In the accounts that he sees. */
  readonly whole: readonly CostItem[];
  readonly fleet: Scheduled;
  /** It is what accounts hold, and not what statuses show. */
  readonly isHeld: boolean;
}

function pricedIn(context: AnswerContext): Priced {
  const { source } = context;
  const holdings = source.holdings();
  if (!holdings) {
    const items = recordedCosts(context);
    return { items, whole: items, fleet: { store: source.store }, isHeld: false };
  }
  const { accounts, fleet } = surveyed(holdings);
  const items = costItems(onceEach(visibleHoldings(context, accounts)));
  return { items, whole: costItems(accounts), fleet, isHeld: true };
}

function costsOf(
  context: AnswerContext,
  { items, fleet }: Priced,
  by: CostBy,
  counted: readonly AccountRow[],
): Costs {
  const labelsOf = (key: ObjectKey) => context.source.labelsOf(key);
  // Those that have something of the reader, whether he sees all that is in them or not.
  const accounts = new Set([
    ...visibleAccounts(context).map(({ name }) => name),
    ...items.map(({ account }) => account),
  ]);
  const budgets = budgetCounts(visibleCounts(context), undefined);
  const balances = new Set(firstOfBalance([...accounts], context.source.store).values());
  return withSpent(costsBy(items, labelsOf, by, aheadAt(context.nowMs, fleet)), items, labelsOf, by, {
    counted,
    accounts: balances.size,
    budgets,
  });
}

function visibleHoldings(
  { index, reader }: AnswerContext,
  accounts: CostInputs['accounts'],
): CostInputs['accounts'] {
  return accounts.map(({ account, origin, holdings }) => {
    const seen = index.accounts.find(({ name }) => name === account);
    return { account, origin, holdings: holdings.filter((holding) => isVisible(holding, reader, seen)) };
  });
}

/** The Budgets whose amounts the reader sees. One whose amounts are hidden has spent no 0. */
function visibleCounts(context: AnswerContext): ObjectRecord[] {
  return budgetKinds
    .flatMap((kind) => context.source.store.recordsOfKind(kind))
    .filter(({ key }) => seesKey(context.reader, key))
    .map((record) => shownRecord(context, record))
    .filter(({ status }) => numberIn(status, 'spentMicros') !== undefined);
}

function surveyed({ accounts, fleet }: Holdings) {
  const survey = surveyor(fleet);
  return {
    fleet,
    accounts: accounts.map(({ contents, ...account }) => ({ ...account, holdings: survey(contents) })),
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
function isComplete({ place }: FleetSource, isHeld: boolean, accounts: readonly AccountNow[]): boolean {
  const areSummed = accounts.every((each) => each.burnMicrosPerHour !== undefined && !isAccountStale(each));
  const isKnown = isHeld || (place === 'cluster' && areSummed);
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
