/** What `status` and `describe` show of a budget, from its limits in force and its status. */
import { budgetInForce } from '../../resources/index.ts';
import { usd } from '../output/render.ts';
import { conditionOf, textOf, type StatusEntry } from '../../shown/entries.ts';
import { isBudget } from '../../shown/waiting-for.ts';

const limitTexts: Readonly<Record<string, (limit: number) => string>> = {
  hourlyMicros: (limit) => `${usd(limit)}/h`,
  monthlyMicros: (limit) => `${usd(limit)} a month`,
  perObjectHourlyMicros: (limit) => `${usd(limit)}/h for each`,
  runwayHours: (limit) => `a balance for ${limit} h`,
};

/** Of a budget that is near a limit, or beyond: `Exceeded: hourlyMicros: $16.00 of $15.00 an hour, 106 %`. */
export function budgetState(entry: StatusEntry): string | undefined {
  if (!isBudget(entry)) return undefined;
  const within = conditionOf(entry, 'WithinBudget');
  if (!within || within.reason === 'WithinLimits') return undefined;
  return `${within.reason}: ${within.message}`;
}

const mostNamed = 10;

export function budgetRows(entry: StatusEntry, waiting: readonly string[]): [string, string | undefined][] {
  if (!isBudget(entry)) return [];
  const { status } = entry.record;
  const amount = (field: string) => {
    const value = status?.[field];
    return typeof value === 'number' ? value : undefined;
  };
  const limits: Readonly<Record<string, number | undefined>> = { ...budgetInForce(entry.record)?.limits };
  const texts = Object.entries(limits).flatMap(([name, limit]) =>
    limit === undefined ? [] : [limitTexts[name]?.(limit) ?? name],
  );
  const unpriced = amount('unpricedObjects') ?? 0;
  const left = amount('leftObjects') ?? 0;
  const count = amount('waiting') ?? 0;
  const named = waiting.slice(0, mostNamed).join(', ');
  return [
    ['Limits:', texts.join(', ')],
    ['Members:', `${amount('members') ?? 0}${unpriced > 0 ? `, ${unpriced} without a price` : ''}`],
    ['Left:', left > 0 ? `${left} at the provider, by deletionPolicy: Retain` : undefined],
    ['Reserved:', `${usd(amount('reservedMicros') ?? 0)}/h`],
    ['Waiting:', `${count}${named === '' ? '' : `: ${named}${count > mostNamed ? ', …' : ''}`}`],
    ['Shed:', shedText(status)],
    ['Spent:', spentText(textOf(status?.['month']), amount)],
    ['Forecast:', forecastText(textOf(status?.['exhaustedAt']), amount)],
    ['Runway:', amount('runwayHours') === undefined ? undefined : `${amount('runwayHours')} h`],
  ];
}

type Amount = (field: string) => number | undefined;

function shedText(status: Readonly<Record<string, unknown>> | undefined): string | undefined {
  const { shedObjects: count, shedding } = status ?? {};
  if (typeof count !== 'number' || count === 0 || !Array.isArray(shedding)) return undefined;
  const names = shedding
    .slice(0, mostNamed)
    .flatMap((each: unknown) => textOf((each as { object?: unknown }).object) ?? []);
  const more = count > names.length ? ` and ${count - names.length} more` : '';
  return `${count}: ${names.join(', ')}${more}`;
}

function spentText(month: string | undefined, amount: Amount): string | undefined {
  const spent = amount('spentMicros');
  if (month === undefined || spent === undefined) return undefined;
  const estimated = amount('estimatedMicros') ?? 0;
  const unattributed = amount('unattributedMicros') ?? 0;
  const parts = [
    ...(estimated === 0 ? [] : [`${usd(estimated)} of it estimated`]),
    ...(unattributed === 0 ? [] : [`${usd(unattributed)} more not attributed`]),
  ];
  return [`${usd(spent)} in ${month}`, ...parts].join(', ');
}

function forecastText(exhaustedAt: string | undefined, amount: Amount): string | undefined {
  const forecast = amount('forecastMicros');
  if (forecast === undefined) return undefined;
  const reached = exhaustedAt === undefined ? '' : `; the limit is reached at ${exhaustedAt}`;
  return `${usd(forecast)} at the end of the month${reached}`;
}
