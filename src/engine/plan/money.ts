/**
 * What an account costs and how long its balance lasts, in whole micro-USD. Amounts go up to 2^53-1 each (§2), so
 * they are added up as BigInt, and clamped where they become JSON.
 *
 * The rule of burn, for everything that shows a cost: the sum of the hourly costs that the API shows
 * (`hourlyMicros`), except for things that are known to be free. Services that are `paused`, `sleeping` or `deleting`
 * hold no compute, and cost nothing whatever price they show. Volumes cost until they are `deleting`. Unmanaged
 * things in the account count, too.
 */
import { actions, type ActionName } from '../../actions/index.ts';
import type { wire } from '../../api/index.ts';
import type { Gate, Plan, Step } from './types.ts';

const withoutCompute = new Set(['paused', 'sleeping', 'deleting']);
const largestMicros = BigInt(Number.MAX_SAFE_INTEGER);

/**
 * A price as the API shows it, rounded up to whole micro-USD. Undefined if none is shown, or the value can't
 * be a price.
 */
export function priceOf(shown: unknown): bigint | undefined {
  if (typeof shown !== 'number' || !(shown >= 0) || shown > Number.MAX_SAFE_INTEGER) return undefined;
  return BigInt(Math.ceil(shown));
}

/** Whether it holds compute, as far as is known. */
export function holdsCompute({ state }: Pick<wire.Service, 'state'>): boolean {
  return !withoutCompute.has(state ?? '');
}

/** The current cost of a service in micro-USD per hour. Undefined if it costs something but shows no price. */
export function serviceBurn(service: Pick<wire.Service, 'state' | 'hourlyMicros'>): bigint | undefined {
  return holdsCompute(service) ? priceOf(service.hourlyMicros) : 0n;
}

/** The current cost of a volume, in the same way. */
export function volumeBurn({
  status,
  hourlyMicros,
}: Pick<wire.Volume, 'status' | 'hourlyMicros'>): bigint | undefined {
  return status === 'deleting' ? 0n : priceOf(hourlyMicros);
}

/**
 * Micro-USD per hour. Things without a shown price count as 0. A list that did not change is the same one in the next snapshot, and is
 * added up once.
 */
export function burnMicrosPerHour({ services, volumes }: AccountLists): bigint {
  return sumOf(services, serviceBurn) + sumOf(volumes, volumeBurn);
}

interface AccountLists {
  readonly services: ReadonlyMap<string, wire.Service>;
  readonly volumes: ReadonlyMap<string, wire.Volume>;
}

const sums = new WeakMap<ReadonlyMap<string, unknown>, bigint>();

function sumOf<Item>(items: ReadonlyMap<string, Item>, burn: (item: Item) => bigint | undefined): bigint {
  const known = sums.get(items);
  if (known !== undefined) return known;
  let sum = 0n;
  for (const item of items.values()) sum += burn(item) ?? 0n;
  sums.set(items, sum);
  return sum;
}

/** Seconds until the balance is used up at this burn. Undefined if nothing burns. */
export function runwaySeconds(balanceMicros: number, burn: bigint): number | undefined {
  if (burn <= 0n) return undefined;
  if (balanceMicros <= 0) return 0;
  return Number((BigInt(balanceMicros) * 3600n) / burn);
}

/** For JSON, which has no BigInt: larger amounts are cut to the largest exact number. */
export function clampedMicros(micros: bigint): number {
  if (micros < -largestMicros) return Number(-largestMicros);
  return Number(micros > largestMicros ? largestMicros : micros);
}

/** `$1.94`, `$12,300.00`; of small amounts with more digits: `$0.0135`, `$0.000140`. */
export function usdOf(micros: bigint): string {
  const amount = clampedMicros(micros < 0n ? -micros : micros);
  const [whole = '', rest] = (amount / 1_000_000).toFixed(decimalsOf(amount)).split('.');
  const grouped = whole.replaceAll(/\B(?=(?:\d{3})+$)/g, ',');
  return `${micros < 0n ? '-' : ''}$${grouped}.${rest}`;
}

function decimalsOf(micros: number): number {
  if (micros === 0 || micros >= 100_000) return 2;
  return micros < 1000 ? 6 : 4;
}

export interface Funds {
  /** Undefined if it can't be read. */
  readonly balanceMicros: number | undefined;
  readonly currency: string;
  /** Below this, nothing is spent. If undefined, nothing is spent without a positive balance. */
  readonly minimumBalanceMicros: number | undefined;
  /** Undefined if the identity does not show it. */
  readonly emailVerified: boolean | undefined;
  /** The balance at which the API recently refused for lack of funds. */
  readonly refusedAtMicros: number | undefined;
}

/** Why nothing that costs more is created, started or grown in the account. The first reason counts. */
export function spendingGate(account: string, funds: Funds): Gate | undefined {
  const { balanceMicros, currency, minimumBalanceMicros, emailVerified, refusedAtMicros } = funds;
  const stopped = 'nothing that costs more is created, started or grown';
  if (emailVerified === false) return emailGate(account);
  if (currency !== 'USD') {
    return {
      kind: 'hold',
      reason: 'ContractDrift',
      message: `the account ${account} uses ${JSON.stringify(currency)}, and the contract knows USD only (§2): ${stopped}, because no amount can be compared`,
    };
  }
  if (balanceMicros === undefined) {
    return {
      kind: 'wait',
      reason: 'BalanceUnknown',
      message: `the balance of account ${account} can't be read (§2: balanceMicros, an integer); ${stopped}`,
    };
  }
  if (minimumBalanceMicros !== undefined && balanceMicros < minimumBalanceMicros) {
    return {
      kind: 'wait',
      reason: 'BalanceTooLow',
      message: `the balance of account ${account} is below minimumBalanceMicros, ${usdOf(BigInt(minimumBalanceMicros))}; ${stopped}`,
    };
  }
  if (minimumBalanceMicros === undefined && balanceMicros <= 0) {
    return {
      kind: 'wait',
      reason: 'InsufficientFunds',
      message: `account ${account} has no balance left; ${stopped} until it is topped up (if the account may be overdrawn, set the limit with minimumBalanceMicros)`,
    };
  }
  if (refusedAtMicros !== undefined && balanceMicros <= refusedAtMicros) {
    return {
      kind: 'wait',
      reason: 'InsufficientFunds',
      message: `the API refused for lack of funds at a balance of ${usdOf(BigInt(refusedAtMicros))}; ${stopped} until account ${account} is topped up or ten minutes have passed`,
    };
  }
  return undefined;
}

/** What the steps of a plan add to the hourly cost, and what they take from it, as far as it is known. */
export function increasesOf(plan: Plan): bigint {
  if (plan.kind === 'act') return changeOf([plan.step, ...plan.later]);
  if (plan.kind === 'wait') return changeOf(plan.steps);
  return plan.kind === 'arrange' ? changeOf([plan]) : 0n;
}

function changeOf(costs: readonly Pick<Step, 'cost'>[]): bigint {
  return costs.reduce((total, { cost }) => total + (cost ? cost.afterMicros - cost.beforeMicros : 0n), 0n);
}

/**
 * What a step adds to the hourly cost, in addition to what is open: requested but not shown with a price yet
 * (S15).
 */
export interface Increase {
  readonly micros: bigint;
  /** Of the account's other open requests. */
  readonly openMicros: bigint;
  /** The price is unknown until something else that is open shows it. */
  readonly awaited: string | undefined;
  /** A budget makes the object wait. */
  readonly isLimited: boolean;
}

/**
 * Whether the balance is sufficient for a step. One hour of each increase counts, since that is the unit of
 * price. An unknown price does not count as 0: in an account with a floor, or with a budget, one request reveals it, and the
 * others wait for that.
 */
export function increaseGate(
  account: string,
  { balanceMicros, minimumBalanceMicros }: Pick<Funds, 'balanceMicros' | 'minimumBalanceMicros'>,
  { micros, openMicros, awaited, isLimited }: Increase,
): Gate | undefined {
  if (awaited !== undefined && (minimumBalanceMicros !== undefined || isLimited)) {
    const limit = isLimited ? 'a budget limits it' : `the account ${account} has a floor`;
    return {
      kind: 'wait',
      reason: 'PriceUnknown',
      message: `its cost per hour is not known (${awaited}), and ${limit}. Another object requests the same; this one continues when that shows its price. \`prices\` of the Account can state it earlier`,
    };
  }
  // The gate of the account reports that.
  if (balanceMicros === undefined) return undefined;
  const left = BigInt(Math.floor(balanceMicros)) - openMicros - micros;
  const isEnough = minimumBalanceMicros === undefined ? left > 0n : left >= BigInt(minimumBalanceMicros);
  if (isEnough) return undefined;
  const open = openMicros === 0n ? '' : `, and other requests under way add ${usdOf(openMicros)}/h`;
  const sum = `it adds ${usdOf(micros)}/h${open}; the balance of account ${account} is ${usdOf(BigInt(Math.floor(balanceMicros)))}`;
  return minimumBalanceMicros === undefined
    ? {
        kind: 'wait',
        reason: 'InsufficientFunds',
        message: `${sum}, which does not last for an hour of that`,
      }
    : {
        kind: 'wait',
        reason: 'BalanceTooLow',
        message: `${sum}, and minimumBalanceMicros, ${usdOf(BigInt(minimumBalanceMicros))}, would not be left after an hour`,
      };
}

/** A balance of this age does not show what may be spent now. */
const balanceFreshMs = 60_000;

/** A step that costs more waits until the balance has been read recently. `ageMs`: the age of the last read. */
export function freshnessGate(action: ActionName, ageMs: number): (Gate & { kind: 'wait' }) | undefined {
  if (!actions[action].spends || ageMs <= balanceFreshMs) return undefined;
  return {
    kind: 'wait',
    reason: 'AwaitingObservation',
    message: `the balance was read ${Math.round(ageMs / 1000)} s ago, and is read again before more is spent`,
  };
}

/** One gate for the whole account, so it is known without a refusal for each object. */
export function verificationGate(
  account: string,
  action: ActionName,
  emailVerified: boolean | undefined,
): Gate | undefined {
  return emailVerified === false && actions[action].needsVerifiedEmail ? emailGate(account) : undefined;
}

function emailGate(account: string): Gate {
  return {
    kind: 'hold',
    reason: 'EmailUnverified',
    message: `the e-mail address of account ${account} is not verified, and the API creates, starts and changes nothing without that (§5.4); verify it with the provider`,
  };
}
