/** What was spent, as it is stored: in the record of a budget, and of an account. */
import { z } from 'zod';

export const storedAmount = z.string().regex(/^-?\d{1,40}$/);

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
