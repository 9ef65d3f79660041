/** What is remembered of a Budget. */
import { z } from 'zod';
import type { KindStateDeclaration } from '../../resources/parts/kind-state.ts';
import { largestAmount, storedAmount as amount, storedTally as tally } from '../../resources/parts/tally.ts';
import { selector } from './schema.ts';

const scope = z.discriminatedUnion('of', [
  z.object({ of: z.literal('labels'), selector }),
  z.object({ of: z.literal('namespace') }),
  z.object({ of: z.literal('account'), name: z.string() }),
]);

/** As in a document (schema.ts), which was checked. */
const inForce = z.object({
  limits: z.object({
    hourlyMicros: z.number().optional(),
    monthlyMicros: z.number().optional(),
    perObjectHourlyMicros: z.number().optional(),
    runwayHours: z.number().optional(),
  }),
  timeZone: z.string(),
  horizonHours: z.number(),
  mode: z.enum(['Report', 'Gate', 'Shed']),
  warnAt: z.array(z.number()).readonly(),
  unpriced: z.enum(['Allow', 'Block']),
  shed: z.object({
    graceMinutes: z.number(),
    maxPerMinute: z.number(),
    resumeBelowPercent: z.number(),
    resumeAfterMinutes: z.number(),
  }),
});

const order = z.object({
  object: z.string(),
  uid: z.string(),
  since: z.number(),
  askedAt: z.number(),
  phase: z.enum(['asked', 'done']),
  /** One that is too large for an amount costs more than there is room for. */
  micros: amount.catch(String(largestAmount)),
  replicas: z.number().optional(),
});

/** See engine/plan/shedding.ts. */
const shedding = z.object({
  exceededSince: z.number().optional(),
  roomSince: z.number().optional(),
  orders: z.array(order).readonly(),
  ended: z.array(z.number()).readonly(),
  spared: z.array(z.object({ object: z.string(), since: z.number(), because: z.string() })).readonly(),
  returning: z.object({ object: z.string(), since: z.number() }).optional(),
});

const schema = z.object({
  tally: tally.optional(),
  /** The scope with which it was made. It never changes. */
  scope: scope.optional(),
  /** What it limited when its document had that scope last. An edit with another one waits as a whole. */
  inForce: inForce.optional(),
  /** What was warned of last: the limit, per cent of it, and the month. */
  warned: z
    .array(z.object({ of: z.string(), percent: z.number(), month: z.string() }))
    .readonly()
    .optional(),
  shedding: shedding.optional(),
  /** What members left at the provider, see engine/money/left-things.ts. */
  left: z
    .array(
      z.object({
        account: z.string(),
        ids: z.array(z.string()).readonly(),
        missing: z.record(z.string(), z.number()).optional(),
      }),
    )
    .readonly()
    .optional(),
  /** Which objects were reported that do not wait for it, and until when (Unix milliseconds). */
  passing: z
    .array(z.object({ object: z.string(), until: z.number() }))
    .readonly()
    .optional(),
});

export type BudgetState = Readonly<z.output<typeof schema>>;

export const budgetState: KindStateDeclaration<BudgetState> = {
  schema,
  counted: ['tally'],
  /** What somebody else has written would raise a limit, or move it elsewhere. The month begins anew. */
  unsigned: () => ({}),
};
