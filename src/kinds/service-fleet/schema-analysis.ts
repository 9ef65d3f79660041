/** The analysis of a rollout: what is measured while replicas have the new revision. */
import { z } from 'zod';
import { constrained, given, listOf } from '../../resources/parts/constraints.ts';

const http = z.strictObject({
  path: z
    .string()
    .max(1024)
    .regex(/^\/[\x21-\x7e]*$/, 'must start with "/" and hold no blanks')
    .describe('Path of the endpoint of a replica, which is asked with GET.'),
  status: constrained(
    z
      .string()
      .max(7)
      .regex(/^[2-5][0-9]{2}(-[2-5][0-9]{2})?$/, 'must be a status such as "200", or two such as "200-399"'),
    {
      holds: (status) => status.slice(0, 3) <= status.slice(-3),
      rule: "!self.contains('-') || int(self.split('-')[0]) <= int(self.split('-')[1])",
      // An editor can't compare two numbers in one text.
      schema: () => ({}),
      message: 'the first status is greater than the second one',
    },
  )
    .default('200-399')
    .describe('The status, or the lowest and the highest one, with which it passes.'),
  maxSeconds: z.int().min(1).max(60).default(5).describe('How long the answer may take, in seconds.'),
  contains: z
    .string()
    .min(1)
    .max(1024)
    .optional()
    .describe('A text that the answer has to contain; at most 1 MiB is read; default any answer.'),
});

const exec = z.strictObject({
  command: z
    .array(z.string().max(4096))
    .min(1)
    .max(64)
    .meta(listOf.whole)
    .describe('Command and arguments, which run in a replica. It passes with the exit code 0.'),
  timeoutSeconds: z.int().min(1).max(60).default(10).describe('How long it may run, in seconds.'),
});

const prometheus = constrained(
  z.strictObject({
    query: z.string().min(1).max(4096).describe('A query in PromQL. It has to give exactly one number.'),
    min: z.number().optional().describe('The least number with which it passes; default any.'),
    max: z.number().optional().describe('The greatest number with which it passes; default any.'),
  }),
  {
    holds: ({ min, max }) => min === undefined || max === undefined || min <= max,
    rule: '!has(self.min) || !has(self.max) || self.min <= self.max',
    // An editor can't compare two fields.
    schema: () => ({}),
    message: 'min is greater than max',
  },
);

const kinds = ['http', 'exec', 'prometheus'] as const;

const check = constrained(
  z.strictObject({
    http: http.optional().describe('The endpoint of the replica has to answer so.'),
    exec: exec.optional().describe('A command in the replica has to succeed.'),
    prometheus: prometheus
      .optional()
      .describe('A number has to be within bounds. The flag `--analysis-prometheus` has the address.'),
  }),
  {
    holds: (entry) => kinds.filter((kind) => entry[kind] !== undefined).length === 1,
    rule: '[has(self.http), has(self.exec), has(self.prometheus)].exists_one(given, given)',
    schema: given.exactlyOneOf(...kinds),
    message: 'needs exactly one of http, exec and prometheus',
  },
);

export const analysis = z.strictObject({
  forSeconds: z.int().min(10).max(86_400).describe('How long is measured before it is judged, in seconds.'),
  everySeconds: z
    .int()
    .min(5)
    .max(3600)
    .default(30)
    .describe('Seconds from one measurement to the next one.'),
  failures: z
    .int()
    .min(0)
    .max(100)
    .default(1)
    .describe('Measurements that may fail; if one more fails, the revision has failed.'),
  inconclusive: z
    .enum(['Wait', 'Fail'])
    .default('Wait')
    .describe(
      'What follows when its time is over without a result. Wait: a person decides, or later measurements. Fail: the revision fails.',
    ),
  checks: z.array(check).min(1).max(8).meta(listOf.whole).describe('What each measurement checks.'),
});
export type Analysis = z.infer<typeof analysis>;
export type AnalysisCheck = z.infer<typeof check>;
