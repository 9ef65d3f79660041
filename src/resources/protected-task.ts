import { z } from 'zod';
import { kindSchema, nameRef } from './fields.ts';

/** §8: of an activity. */
const longestTaskName = 128;

const until = z
  .strictObject({
    /** A Job in the same namespace of the cluster. */
    jobRef: nameRef.optional(),
    deadline: z.iso.datetime({ offset: true, error: 'must be a time as in RFC 3339' }).optional(),
  })
  .refine(
    ({ jobRef, deadline }) => (jobRef === undefined) !== (deadline === undefined),
    'needs exactly one of jobRef and deadline',
  );

const protectedTaskSpec = z.strictObject({
  serviceRef: nameRef,
  taskName: z.string().min(1).max(longestTaskName).optional(),
  released: z.boolean().default(false),
  until: until.optional(),
});
export type ProtectedTaskSpec = z.infer<typeof protectedTaskSpec>;

/** Without a `taskName`, the object's own name is the activity's. */
export const protectedTask = kindSchema('ProtectedTask', protectedTaskSpec).superRefine(
  ({ metadata: { name }, spec }, context) => {
    if (spec.taskName !== undefined || name.length <= longestTaskName) return;
    const message = `at most ${longestTaskName} characters, unless \`spec.taskName\` gives the activity a shorter name`;
    context.addIssue({ code: 'custom', path: ['metadata', 'name'], message });
  },
);
