import { z } from 'zod';
import { constrained, given, listOf } from '../../resources/parts/constraints.ts';
import { kindSchema, nameRef } from '../../resources/parts/fields.ts';
import { labelSelector } from '../../resources/parts/label-selector.ts';
import { timeZone } from '../../resources/parts/windows.ts';

const largestMicros = Number.MAX_SAFE_INTEGER;
const micros = z.int().min(1).max(largestMicros);
export const selector = labelSelector(
  'selects by at least one label; for all of the namespace write `namespace: true` in its place',
);

const limits = constrained(
  z.strictObject({
    hourlyMicros: micros.optional().describe('What all of it may cost in an hour, in micro-USD.'),
    monthlyMicros: micros
      .optional()
      .describe('What all of it may cost in a calendar month in `timeZone`, in micro-USD.'),
    perObjectHourlyMicros: micros
      .optional()
      .describe('What each service and volume may cost in an hour, in micro-USD.'),
    runwayHours: z
      .int()
      .min(1)
      .max(8760)
      .optional()
      .describe('For how many hours the balance has to last; with `accountRef` only.'),
  }),
  {
    holds: (each) => Object.values(each).some((limit) => limit !== undefined),
    rule: 'has(self.hourlyMicros) || has(self.monthlyMicros) || has(self.perObjectHourlyMicros) || has(self.runwayHours)',
    schema: given.anyOf('hourlyMicros', 'monthlyMicros', 'perObjectHourlyMicros', 'runwayHours'),
    message: 'needs at least one of hourlyMicros, monthlyMicros, perObjectHourlyMicros and runwayHours',
  },
);

const thresholds = z
  .array(z.int().min(1).max(100))
  .max(5)
  .superRefine((all, context) => {
    for (const [index, percent] of all.entries()) {
      if (all.indexOf(percent) === index) continue;
      context.addIssue({ code: 'custom', path: [index], message: `${percent} is given twice` });
    }
  })
  .meta(listOf.values);

const shed = z.strictObject({
  graceMinutes: z
    .int()
    .min(1)
    .max(1440)
    .default(15)
    .describe('For how long a limit has to be passed before the first service is stopped.'),
  maxPerMinute: z
    .int()
    .min(1)
    .max(100)
    .default(1)
    .describe('How many services and replicas are stopped in a minute at most.'),
  resumeBelowPercent: z
    .int()
    .min(1)
    .max(100)
    .default(90)
    .describe('A service is started again if no more than this of each limit is used with it.'),
  resumeAfterMinutes: z.int().min(1).max(10_080).default(30).describe('For how long that has to be so.'),
});

const fields = z.strictObject({
  selector: selector.optional().describe('It limits the objects of its namespace with these labels.'),
  namespace: z.literal(true).optional().describe('It limits all objects of its namespace.'),
  accountRef: nameRef
    .optional()
    .describe('It limits the whole Account, and counts what is not managed in it, too.'),
  limits: limits.describe('How much it allows.'),
  timeZone: timeZone
    .default('UTC')
    .describe('In which a month begins and ends, such as Europe/Berlin (IANA time zone database).'),
  horizonHours: z
    .int()
    .min(1)
    .max(744)
    .default(24)
    .describe('How far ahead the monthly limit looks: what is added has to be paid for so long.'),
  mode: z
    .enum(['Report', 'Gate', 'Shed'])
    .default('Gate')
    .describe(
      'Gate: what would pass a limit waits. Report: it is only shown. Shed: it waits, and while a limit is passed, services are stopped.',
    ),
  warnAt: thresholds.default([80, 95]).describe('Per cent of a limit at which it warns.'),
  unpriced: z
    .enum(['Allow', 'Block'])
    .default('Allow')
    .describe('Whether something may be made whose price is not known.'),
  shed: shed.prefault({}).describe('When services are stopped and started again, with `mode: Shed`.'),
});

const scopes = ['selector', 'namespace', 'accountRef'] as const;

const budgetSpec = constrained(
  fields,
  {
    holds: (spec) => scopes.filter((scope) => spec[scope] !== undefined).length === 1,
    rule: '[has(self.selector), has(self.__namespace__), has(self.accountRef)].filter(given, given).size() == 1',
    schema: given.exactlyOneOf(...scopes),
    message: 'needs exactly one of selector, namespace and accountRef',
  },
  {
    holds: ({ limits: { runwayHours }, accountRef }) => runwayHours === undefined || accountRef !== undefined,
    rule: '!has(self.limits.runwayHours) || has(self.accountRef)',
    schema: (errorMessage) => ({
      anyOf: [
        { required: ['accountRef'] },
        { properties: { limits: { properties: { runwayHours: false } } }, errorMessage },
      ],
    }),
    message: 'runwayHours is about a balance, so it needs accountRef',
    field: 'limits.runwayHours',
  },
);
export type BudgetSpec = z.infer<typeof budgetSpec>;

export const budgetDocument = kindSchema(
  'Budget',
  budgetSpec,
  'How much a part of the fleet, a namespace or an account may cost. What would pass a limit waits.',
);
