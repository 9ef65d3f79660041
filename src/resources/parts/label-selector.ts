/** Labels of objects, as Kubernetes selects by them: all of it has to apply (`selects` in budget.ts). */
import { z } from 'zod';
import { constrained, listOf, mapOf } from './constraints.ts';

const labelKey = z.string().min(1).max(317);
const labelValue = z.string().max(63);

const requirement = constrained(
  z.strictObject({
    key: labelKey.describe('The label.'),
    operator: z.enum(['In', 'NotIn', 'Exists', 'DoesNotExist']).describe('How it is compared.'),
    values: z.array(labelValue).min(1).max(64).meta(listOf.whole).optional().describe('For In and NotIn.'),
  }),
  {
    holds: ({ operator, values }) => (operator === 'In' || operator === 'NotIn') === (values !== undefined),
    rule: "(self.operator in ['In', 'NotIn']) == has(self.values)",
    schema: (errorMessage) => ({
      anyOf: [
        { properties: { operator: { enum: ['In', 'NotIn'] } }, required: ['values'], errorMessage },
        { properties: { operator: { enum: ['Exists', 'DoesNotExist'] }, values: false } },
      ],
    }),
    message: 'needs `values` for In and NotIn, and none for Exists and DoesNotExist',
  },
);

/** `message`: what is wrong with one that selects by nothing. */
export const labelSelector = (message: string) =>
  constrained(
    z.strictObject({
      matchLabels: mapOf(labelKey, labelValue, 256)
        .optional()
        .describe('Labels with their values; all of them.'),
      matchExpressions: z
        .array(requirement)
        .min(1)
        .max(16)
        .meta(listOf.whole)
        .optional()
        .describe('Requirements; all of them.'),
    }),
    {
      holds: ({ matchLabels = {}, matchExpressions = [] }) =>
        Object.keys(matchLabels).length > 0 || matchExpressions.length > 0,
      rule: '(has(self.matchLabels) && self.matchLabels.size() > 0) || has(self.matchExpressions)',
      schema: (errorMessage) => ({
        anyOf: [
          { required: ['matchLabels'], properties: { matchLabels: { minProperties: 1 } }, errorMessage },
          { required: ['matchExpressions'], errorMessage },
        ],
      }),
      message,
    },
  );
