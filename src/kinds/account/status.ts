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
import type { ShownMoney } from '../../resources/index.ts';
import type { ShownCapacity, ShownPrice } from '../../state/index.ts';
import type { Statement } from '../../engine/status/index.ts';

export interface AccountFacts {
  readonly url: string;
  /** The pinned identity; undefined when the API shows nothing to tell it by. */
  readonly identity: string | undefined;
  readonly emailVerified: boolean | undefined;
  /** Other Accounts (`namespace/name`) that are the same account at the provider, as far as this process knows. */
  readonly sharedWith: readonly string[];
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
  /** What was learned of the provider's capacity, newest first. */
  readonly capacity: readonly ShownCapacity[];
  readonly capacitySignature: string;
}

const moneyMs = 60_000;

export function observedAccount(
  facts: AccountFacts,
  shownMoney: ShownMoney | undefined,
): Record<string, unknown> {
  const { url, identity, emailVerified, read, quotas, payment, prices, pricesSignature } = facts;
  const { capacity, capacitySignature } = facts;
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
    ...(read.balanceMicros === undefined ? {} : shownMoney),
    ...(prices.length === 0 ? {} : { prices, pricesSignature }),
    ...(capacity.length === 0 ? {} : { capacity, capacitySignature }),
  };
}

export function spendingStatement(gate: Gate | undefined): Statement {
  return gate
    ? { status: 'False', reason: gate.reason, message: gate.message }
    : { status: 'True', reason: 'Allowed', message: '' };
}

/** The amounts to show now. An account that shows no balance keeps those that were shown before. */
export function nextMoney({ read }: AccountFacts, before: ShownMoney | undefined): ShownMoney | undefined {
  if (read?.balanceMicros === undefined) return before;
  const { balanceMicros } = read;
  const burn = burnMicrosPerHour(read);
  const seconds = runwaySeconds(balanceMicros, burn);
  const now: ShownMoney = {
    balanceMicros,
    burnMicrosPerHour: clampedMicros(burn),
    runwayHours: seconds === undefined ? undefined : Math.floor(seconds / 360) / 10,
    moneyAt: rfc3339(read.at),
  };
  return before && isFresh(before, now) ? before : now;
}

function isFresh(before: ShownMoney, now: ShownMoney): boolean {
  if (before.burnMicrosPerHour !== now.burnMicrosPerHour) return false;
  return (
    before.balanceMicros === now.balanceMicros ||
    Date.parse(now.moneyAt) - Date.parse(before.moneyAt) < moneyMs
  );
}
