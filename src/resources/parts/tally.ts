/** What was spent, as it is stored: in the record of a budget, and of an account. */
import { z } from 'zod';

const mostDigits = 40;

/** Micro-USD, or micro-USD times milliseconds. */
export const storedAmount = z.string().regex(new RegExp(`^-?\\d{1,${mostDigits}}$`));

/** The largest amount that can be stored, in either direction. Everything that an account can show (§2) costs far less in a thousand years. */
export const largestAmount = 10n ** BigInt(mostDigits) - 1n;

/** What can be stored of an amount. */
export function storable(amount: bigint): bigint {
  if (amount > largestAmount) return largestAmount;
  return amount < -largestAmount ? -largestAmount : amount;
}

/** Amounts are micro-USD times milliseconds (engine/plan/tally.ts). */
const storedCount = z.object({
  month: z.string(),
  /** Unix milliseconds. */
  since: z.number(),
  at: z.number(),
  spent: storedAmount,
  estimated: storedAmount,
  unattributed: storedAmount,
  burnMicros: storedAmount,
  balanceMicros: storedAmount.optional(),
});

export const storedTally = storedCount.extend({
  days: z.record(z.string(), storedAmount),
  jump: storedCount.extend({ today: storedAmount, until: z.number() }).optional(),
});
