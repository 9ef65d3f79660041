/**
 * The status of an Account. Amounts change with every charge. So the status has them once a minute, or when the burn
 * changes; metrics have those of every read.
 */
import type { wire } from '../../api/index.ts';
import { rfc3339 } from '../../base/index.ts';
import {
  burnMicrosPerHour,
  clampedMicros,
  runwaySeconds,
  type Gate,
  type Quota,
} from '../../engine/plan/index.ts';
import type { ObjectStatus, ShownPrice } from '../../state/index.ts';
import type { Statement } from '../../engine/status/index.ts';

export interface AccountFacts {
  readonly url: string;
  /** The pinned identity; undefined when the API shows nothing to tell it by. */
  readonly identity: string | undefined;
  readonly emailVerified: boolean | undefined;
  /** As last read. */
  readonly read:
    | {
        readonly at: number;
        readonly balanceMicros: number | undefined;
        readonly currency: string;
        readonly services: ReadonlyMap<string, wire.Service>;
        readonly volumes: ReadonlyMap<string, wire.Volume>;
      }
    | undefined;
  readonly quotas: readonly Quota[];
  readonly payment: string | undefined;
  /** What was seen to cost something, newest first. */
  readonly prices: readonly ShownPrice[];
  readonly pricesSignature: string;
}

const moneyMs = 60_000;

export function observedAccount(
  facts: AccountFacts,
  previous: ObjectStatus | undefined,
): Record<string, unknown> {
  const { url, identity, emailVerified, read, quotas, payment, prices, pricesSignature } = facts;
  if (!read) return { url };
  return {
    url,
    identityPinned: identity !== undefined,
    ...(identity === undefined ? {} : { identity }),
    ...(emailVerified === undefined ? {} : { emailVerified }),
    services: read.services.size,
    volumes: read.volumes.size,
    limits: Object.fromEntries(quotas.map(({ resource, used, limit }) => [resource, { used, limit }])),
    currency: read.currency,
    ...(payment === undefined ? {} : { payment }),
    ...(read.balanceMicros === undefined
      ? {}
      : money({ ...read, balanceMicros: read.balanceMicros }, previous)),
    ...(prices.length === 0 ? {} : { prices, pricesSignature }),
  };
}

export function spendingStatement(gate: Gate | undefined): Statement {
  return gate
    ? { status: 'False', reason: gate.reason, message: gate.message }
    : { status: 'True', reason: 'Allowed', message: '' };
}

interface Money {
  readonly balanceMicros: number;
  readonly burnMicrosPerHour: number;
  readonly runwayHours: number | undefined;
  /** RFC 3339. */
  readonly moneyAt: string;
}

type MoneyRead = NonNullable<AccountFacts['read']> & { readonly balanceMicros: number };

function money(read: MoneyRead, previous: ObjectStatus | undefined): object {
  const burn = burnMicrosPerHour(read.services.values(), read.volumes.values());
  const seconds = runwaySeconds(read.balanceMicros, burn);
  const now: Money = {
    balanceMicros: read.balanceMicros,
    burnMicrosPerHour: clampedMicros(burn),
    runwayHours: seconds === undefined ? undefined : Math.floor(seconds / 360) / 10,
    moneyAt: rfc3339(read.at),
  };
  const before = moneyOf(previous);
  return before && isFresh(before, now) ? before : now;
}

function isFresh(before: Money, now: Money): boolean {
  if (before.burnMicrosPerHour !== now.burnMicrosPerHour) return false;
  return (
    before.balanceMicros === now.balanceMicros ||
    Date.parse(now.moneyAt) - Date.parse(before.moneyAt) < moneyMs
  );
}

function moneyOf(status: ObjectStatus | undefined): Money | undefined {
  const { balanceMicros, burnMicrosPerHour: burn, runwayHours, moneyAt } = (status ?? {}) as Partial<Money>;
  if (balanceMicros === undefined || burn === undefined || moneyAt === undefined) return undefined;
  return { balanceMicros, burnMicrosPerHour: burn, runwayHours, moneyAt };
}
