/** What is remembered of an Account. */
import { z } from 'zod';
import type { KindStateDeclaration } from '../../resources/parts/kind-state.ts';
import { storedTally } from '../../resources/parts/tally.ts';

const money = z.object({
  balanceMicros: z.number(),
  burnMicrosPerHour: z.number(),
  runwayHours: z.number().optional(),
  /** RFC 3339. */
  moneyAt: z.string(),
});

const schema = z.object({
  /** The amounts that the status shows. They change with every charge, and are shown anew once a minute. */
  shownMoney: money.optional(),
  /** What everything in the account has cost. */
  tally: storedTally.optional(),
});

export type AccountState = Readonly<z.output<typeof schema>>;
export type ShownMoney = Readonly<z.output<typeof money>>;

export const accountState: KindStateDeclaration<AccountState> = {
  schema,
  counted: ['tally', 'shownMoney'],
  /** The month begins anew. */
  unsigned: (state) => ({ ...state, tally: undefined }),
};
