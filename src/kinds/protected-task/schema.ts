import { z } from 'zod';
import { constrained, given } from '../../resources/parts/constraints.ts';
import { fittingName, kindSchema, nameRef } from '../../resources/parts/fields.ts';

/** §8: of an activity. */
const longestTaskName = 128;

const until = constrained(
  z.strictObject({
    jobRef: nameRef
      .optional()
      .describe('A Job of the same namespace: over when it has ended. In a cluster only.'),
    deadline: z.iso
      .datetime({ offset: true, error: 'must be a time as in RFC 3339' })
      .max(64)
      .optional()
      .describe('A time as in RFC 3339: over then.'),
  }),
  {
    holds: ({ jobRef, deadline }) => (jobRef === undefined) !== (deadline === undefined),
    rule: 'has(self.jobRef) != has(self.deadline)',
    schema: given.exactlyOneOf('jobRef', 'deadline'),
    message: 'needs exactly one of jobRef and deadline',
  },
);

const protectedTaskSpec = z.strictObject({
  serviceRef: nameRef.describe('The ContainerService in which the task runs; fixed.'),
  taskName: z
    .string()
    .min(1)
    .max(longestTaskName)
    .optional()
    .describe('Name of the activity at the provider (§2); default metadata.name.'),
  released: z
    .boolean()
    .default(false)
    .describe(
      'The task is over, and its service may be disturbed again. A task that was released is over for good.',
    ),
  until: until.optional().describe('When the task is over by itself; default: when it is released.'),
});
export type ProtectedTaskSpec = z.infer<typeof protectedTaskSpec>;

/** Without a `taskName`, the object's own name is the activity's. */
export const protectedTaskDocument = constrained(
  kindSchema(
    'ProtectedTask',
    protectedTaskSpec,
    'Work in a service that must not be disturbed: an activity that is registered, kept fresh and released (§4 rule 6).',
  ),
  fittingName(longestTaskName, 'taskName', 'activity'),
);
