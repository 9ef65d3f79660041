/** What accounts hold, with its cost. Pure. */
import { clampedMicros } from '../../engine/plan/index.ts';
import { renderTable } from '../output/render.ts';
import { oneLine } from '../output/terminal-text.ts';
import { onceEach, type Held } from '../../shown/shared-things.ts';
import type { Holding, ManagedBy } from '../../shown/survey.ts';

export interface InventoryItem {
  /** `namespace/name`. */
  readonly account: string;
  readonly kind: Holding['kind'];
  readonly id: string;
  readonly name: string | null;
  readonly state: string | null;
  /** What it costs now, by the rule of burn (engine/plan/money.ts). Null where the API shows no price; templates and registries cost nothing. */
  readonly hourlyMicros: number | null;
  /** `object`: `Kind/namespace/name` of the folder that was given. */
  readonly managedBy: { readonly object: string } | { readonly owner: string } | null;
  /** `Kind/namespace/name` of the object whose mark it carries, and which stands for something else. */
  readonly duplicateOf?: string;
  /** It has the mark of the fleet that was given, and no document and no record of that fleet has it. */
  readonly undeclared?: true;
}

export interface Inventory {
  readonly items: readonly InventoryItem[];
  readonly totals: {
    readonly items: number;
    readonly hourlyMicros: number;
    /** Items without a price. */
    readonly unpriced: number;
    /** Things with the mark of another owner that are not listed. */
    readonly ofOwners: number;
  };
}

/** `all`: also what somebody manages. */
export function inventoryOf(accounts: readonly Held[], all: boolean): Inventory {
  const held = onceEach(accounts);
  const isListed = (holding: Holding) => all || isAbandoned(holding);
  const ofOwners = held
    .flatMap(({ holdings }) => holdings)
    .filter((holding) => holding.managedBy.is === 'owner' && !isListed(holding)).length;
  const items = held
    .flatMap(({ account, holdings }) => holdings.filter(isListed).map((holding) => itemOf(account, holding)))
    .sort((left, right) => (sortKey(left) < sortKey(right) ? -1 : 1));
  const prices = items.flatMap(({ hourlyMicros }) => hourlyMicros ?? []);
  return {
    items,
    totals: {
      items: items.length,
      hourlyMicros: clampedMicros(prices.reduce((sum, micros) => sum + BigInt(micros), 0n)),
      unpriced: items.length - prices.length,
      ofOwners,
    },
  };
}

/** Nobody manages it, as far as can be seen. */
export function isAbandoned({ managedBy }: Holding): boolean {
  if (managedBy.is === 'duplicate') return true;
  return managedBy.is === 'nobody' || (managedBy.is === 'owner' && managedBy.isOurs);
}

function itemOf(account: string, holding: Holding): InventoryItem {
  const { kind, things, id, name, value, managedBy } = holding;
  return {
    account,
    kind,
    id,
    name: name ?? null,
    managedBy: shownManager(managedBy),
    ...(managedBy.is === 'duplicate' ? { duplicateOf: managedBy.key } : {}),
    ...(managedBy.is === 'owner' && managedBy.isOurs ? { undeclared: true } : {}),
    state: things.state(value) ?? null,
    hourlyMicros: shownMicros(things.burn(value)),
  };
}

function shownMicros(burn: bigint | undefined): number | null {
  return burn === undefined ? null : clampedMicros(burn);
}

function shownManager(managedBy: ManagedBy): InventoryItem['managedBy'] {
  switch (managedBy.is) {
    case 'nobody':
    case 'duplicate':
      return null;
    case 'fleet':
      return { object: managedBy.key };
    case 'owner':
      return { owner: managedBy.owner };
  }
}

function sortKey({ account, kind, name, id }: InventoryItem): string {
  return [account, kind, name ?? '', id].join('\u0000');
}

/** As clouds bill it. */
const hoursPerMonth = 730;

export function inventoryText({ items, totals }: Inventory, all: boolean): string {
  const marked = markedText(totals.ofOwners);
  if (items.length === 0) return all ? 'There is nothing.' : ['Nothing is unmanaged.', ...marked].join('\n');
  const several = new Set(items.map(({ account }) => account)).size > 1;
  const withAccount = (account: string, cells: string[]) => (several ? [account, ...cells] : cells);
  const head = ['KIND', 'NAME', 'ID', 'STATE', 'USD/HOUR', ...(all ? ['MANAGED BY'] : [])];
  const rows = items.map((item) => withAccount(item.account, cellsOf(item, all)));
  const unpriced = totals.unpriced === 0 ? '' : `; ${totals.unpriced} without a price`;
  const month = usd(totals.hourlyMicros * hoursPerMonth, 2);
  const what = all ? '' : ' that nobody manages';
  const sum = `${totals.items} thing(s)${what}: ${usd(totals.hourlyMicros, 4)} USD an hour, ${month} USD a month of ${hoursPerMonth} hours${unpriced}`;
  const duplicates = items.flatMap(({ id, duplicateOf: of }) =>
    of === undefined
      ? []
      : [`${id} carries the mark of ${of}, which is recorded for something else; \`plan\` shows what to do`],
  );
  const undeclared = items.flatMap(({ id, undeclared: isOurs }) =>
    isOurs
      ? [`${id} has this fleet's mark and no document: one was removed or renamed, or \`Retain\` left it`]
      : [],
  );
  const notes = [...duplicates, ...undeclared];
  return [renderTable(withAccount('ACCOUNT', head), rows), '', ...notes, sum, ...marked].join('\n');
}

/** What `deletionPolicy: Retain` left has its mark still, as what is managed has. */
function markedText(count: number): string[] {
  if (count === 0) return [];
  return [
    `${count} more with the mark of an owner: managed, or left by \`deletionPolicy: Retain\`. --all lists them; with its folder (-f), what an owner left is listed here`,
  ];
}

function cellsOf(
  { kind, name, id, state, hourlyMicros, managedBy, duplicateOf }: InventoryItem,
  all: boolean,
): string[] {
  const cells = [kind, oneLine(name ?? '-'), id, oneLine(state ?? '-'), price(hourlyMicros)];
  return all ? [...cells, duplicateOf ? `duplicate of ${duplicateOf}` : managerText(managedBy)] : cells;
}

function price(hourlyMicros: number | null): string {
  return hourlyMicros === null ? '-' : usd(hourlyMicros, 4);
}

function usd(micros: number, digits: number): string {
  return (micros / 1_000_000).toFixed(digits);
}

function managerText(managedBy: InventoryItem['managedBy']): string {
  if (managedBy === null) return 'nobody';
  return 'object' in managedBy ? managedBy.object : `owner ${managedBy.owner}`;
}
