/** What is remembered of a Budget. */
import { z } from 'zod';
import type { KindStateDeclaration } from '../../resources/parts/kind-state.ts';

const amount = z.string().regex(/^-?\d{1,40}$/);

/** Amounts are micro-USD times milliseconds (engine/plan/tally.ts). */
const tally = z.object({
  month: z.string(),
  /** Unix milliseconds. */
  since: z.number(),
  at: z.number(),
  spent: amount,
  estimated: amount,
  unattributed: amount,
  burnMicros: amount,
  balanceMicros: amount.optional(),
  days: z.record(z.string(), amount),
});

const schema = z.object({
  tally: tally.optional(),
  /** The scope with which it was made, as JSON. It never changes. */
  scope: z.string().optional(),
  /** What was warned of last: the limit, per cent of it, and the month. */
  warned: z
    .array(z.object({ of: z.string(), percent: z.number(), month: z.string() }))
    .readonly()
    .optional(),
});

export type BudgetState = Readonly<z.output<typeof schema>>;

export const budgetState: KindStateDeclaration<BudgetState> = { schema };
