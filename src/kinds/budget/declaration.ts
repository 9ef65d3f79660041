/** Budget: what all of the code may know of the kind. */
import { z } from 'zod';
import * as columns from '../../resources/parts/columns.ts';
import { declareKind } from '../../resources/parts/declaration.ts';
import { listOf } from '../../resources/parts/constraints.ts';
import * as status from '../../resources/parts/status.ts';
import { alike } from '../../resources/parts/transitions.ts';
import { budgetHints } from './schema-hints.ts';
import { budgetDocument } from './schema.ts';
import { budgetState } from './state.ts';
import { inForceOf, termsOf } from './schema-terms.ts';

export const budget = declareKind({
  name: 'Budget',
  plural: 'budgets',
  shortName: 'fbdg',
  noun: 'budget',
  document: budgetDocument,
  hints: budgetHints,
  alsoCalled: ['Quota', 'ResourceQuota'],
  home: 'accountRef',
  countsForBrake: false,
  budget: (spec, state) => ({
    terms: termsOf(spec, state),
    tally: state.tally,
    shedding: state.shedding,
    left: state.left,
  }),
  spent: ({ tally }) => tally,
  withLeft: (state, left) => ({ ...state, left }),
  budgetInForce: inForceOf,
  state: budgetState,
  columns: [
    columns.condition('Within', 'WithinBudget', 'No limit is passed.'),
    columns.whole('Hourly', '.status.hourlyMicros', 'What its members cost in an hour, in micro-USD.'),
    columns.whole('Spent', '.status.spentMicros', 'What they cost in this month, in micro-USD.'),
    columns.whole('Waiting', '.status.waiting', 'Members that wait for it.'),
    columns.ready,
    columns.created,
    columns.wide(columns.text('Mode', '.spec.mode', 'What it does about a limit.')),
    columns.wide(columns.whole('Members', '.status.members', 'How many it counts.')),
    columns.reason,
  ],
  selectable: ['.spec.mode'],
  status: z.object({
    ...status.common(),
    members: status.count.describe('How many services and volumes it counts.'),
    waiting: status.count.describe('Members that wait for it.'),
    hourlyMicros: status.micros('What its members cost in an hour'),
    reservedMicros: status.micros(
      'What was requested for them and is not shown yet, or is kept for those that are lost, per hour',
    ),
    unpricedObjects: status.count.describe('Members that cost something and show no price.'),
    leftObjects: status.count.describe(
      'How many things it counts that members left at the provider (`deletionPolicy: Retain`).',
    ),
    month: status.text.describe('The month that the next amounts are about, such as 2026-11.'),
    since: status.time.describe(
      'Since when it is counted: the begin of the month, or when it was counted first.',
    ),
    spentMicros: status.micros('What the members have cost since then'),
    estimatedMicros: status.micros('The part of that which nobody observed, because no manager was running'),
    unattributedMicros: status.micros(
      'With `accountRef`: what the balance has lost beside that, such as charges for something else',
    ),
    forecastMicros: status.micros(
      'What the month will cost at the burn of now, with the schedules of fleets',
    ),
    exhaustedAt: status.time.describe('When the monthly limit is reached then; absent if it is not.'),
    runwayHours: z.number().optional().describe('With `accountRef`: for how many hours the balance lasts.'),
    countedAt: status.time.describe(
      'When these amounts were counted. They are updated once a minute, or when a limit is passed.',
    ),
    shedObjects: status.count.describe(
      'How many are stopped for it, or have fewer replicas, with `mode: Shed`.',
    ),
    shedding: z
      .array(
        z
          .object({
            object: z.string().describe('The service or fleet.'),
            since: z.iso.datetime({ offset: true }).describe('Since when.'),
          })
          .describe('One of them.'),
      )
      .meta(listOf.whole)
      .optional()
      .describe('The first 50 of them.'),
    days: z
      .array(
        z
          .object({
            date: z.string().describe('The day.'),
            micros: z.int().describe('What it has cost, in micro-USD.'),
          })
          .describe('One day in the time zone of the budget.'),
      )
      .meta(listOf.whole)
      .optional()
      .describe('What each of the last days has cost; at most 62.'),
  }),
  transitions: [
    {
      rule: `${alike('spec.selector')} && ${alike('spec.__namespace__')} && ${alike('spec.accountRef')}`,
      message: 'what a budget is about never changes; write another one',
      fieldPath: '.spec',
    },
  ],
});
