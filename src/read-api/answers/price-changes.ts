/** What costs more or less than before, as the provider showed it. Pure. */
import { rfc3339 } from '../../base/index.ts';
import type { z } from 'zod';
import { accountKey } from '../../resources/index.ts';
import { shownPrices, type ShownPrice } from '../../state/index.ts';
import type { money } from '../schemas/answers.ts';
import { visibleAccounts } from './accounts.ts';
import type { AnswerContext } from './context.ts';

type PriceChange = z.infer<typeof money>['priceChanges'][number];

const mostChanges = 20;
const keptMs = 30 * 86_400_000;

/** Newest first. Who sees an account sees its prices. */
export function priceChangesOf(context: AnswerContext): PriceChange[] {
  const { source, nowMs } = context;
  const changes = new Map<string, PriceChange>();
  for (const { name } of visibleAccounts(context)) {
    const shown = source.store.record(accountKey(name))?.status?.['prices'];
    // The account of the environment has no object.
    const prices = Array.isArray(shown)
      ? (shown as readonly ShownPrice[])
      : shownPrices(source.store.prices(name));
    for (const price of prices) {
      const change = changeOf(name, price);
      if (change && nowMs - Date.parse(change.at) < keptMs) keep(changes, change);
    }
  }
  return [...changes.values()]
    .sort((left, right) => Date.parse(right.at) - Date.parse(left.at))
    .slice(0, mostChanges);
}

function changeOf(account: string, price: ShownPrice): PriceChange | undefined {
  const { region, geography, gpuModel = null, movedAt, beforeMicros, hourlyMicros = 0 } = price;
  const { gpuCount = 0, cpu = 0, memoryGb = 0, storageGb = 0 } = price;
  const atMs = Date.parse(movedAt ?? '');
  if (Number.isNaN(atMs) || beforeMicros === undefined) return undefined;
  const size = { gpuModel, gpuCount, cpu, memoryGb, storageGb };
  return { account, at: rfc3339(atMs), region, geography, ...size, beforeMicros, hourlyMicros };
}

/** A thing that was asked for anywhere has its price by both names of its place: the one that is known is shown. */
function keep(changes: Map<string, PriceChange>, change: PriceChange): void {
  const { geography: _, ...rest } = change;
  const id = JSON.stringify(rest);
  const before = changes.get(id);
  if (!before || before.geography === 'auto') changes.set(id, change);
}
