import { z } from 'zod';
import { constrained, given, listOf } from '../../resources/parts/constraints.ts';

const refusalRule = constrained(
  z
    .strictObject({
      meaning: z
        .enum([
          'CapacityUnavailable',
          'InsufficientFunds',
          'LimitReached',
          'EmailUnverified',
          'RevisionConflict',
          'StateConflict',
          'KeyConflict',
          'Validation',
          'NotFound',
          'Forbidden',
          'CredentialRejected',
          'RateLimited',
          'Unavailable',
        ])
        .describe('What it means, and so whether and when the request is sent again.'),
      codes: z
        .array(z.string().min(1).max(200))
        .min(1)
        .max(50)
        .meta(listOf.whole)
        .optional()
        .describe('One of these is `error.code`; case of letters and separators do not matter.'),
      messages: z
        .array(z.string().min(1).max(200))
        .min(1)
        .max(50)
        .meta(listOf.whole)
        .optional()
        .describe('One of these is part of `error.message`, in any case of letters.'),
      statuses: z
        .array(z.int().min(400).max(503))
        .min(1)
        .max(50)
        .meta(listOf.whole)
        .optional()
        .describe('One of these is the status of the answer.'),
    })
    .describe('Codes, messages and statuses that are given must all match.'),
  {
    holds: ({ codes, messages, statuses }) => (codes ?? messages ?? statuses) !== undefined,
    rule: 'has(self.codes) || has(self.messages) || has(self.statuses)',
    schema: given.anyOf('codes', 'messages', 'statuses'),
    message: 'needs codes, messages or statuses',
  },
  {
    holds: ({ statuses = [] }) => statuses.every((status) => status < 500 || status === 503),
    rule: '!has(self.statuses) || self.statuses.all(status, status < 500 || status == 503)',
    schema: (errorMessage) => ({
      properties: {
        statuses: { items: { anyOf: [{ const: 503, errorMessage }, { exclusiveMaximum: 500 }] } },
      },
    }),
    message:
      'a refusal has a status from 400 to 499, or 503: what came of a request with any other one is not known',
    field: 'statuses',
  },
);

/** `Account.spec.refusals`: they come before the table of api/refusal-meanings.ts. */
export const refusalRules = z
  .array(refusalRule)
  .max(50)
  .meta(listOf.whole)
  .optional()
  .describe(
    'What refusals of this API mean, where it is not recognised by itself. The first rule that matches counts, before all that is built in.',
  );
