import { z } from 'zod';
import { accountRef, adopt, deletionPolicy, driftPolicy, kindSchema, objectName } from './fields.ts';
import { normalRepository } from './repository.ts';

const imageRegistrySpec = z
  .strictObject({
    accountRef,
    repository: z
      .string()
      .max(255)
      .refine((text) => normalRepository(text) !== undefined, {
        message:
          'must be one exact repository with its host and without scheme, tag and digest; write it as ghcr.io/acme/trainer',
      }),
    /** Absent: the credentials are not managed. */
    credentialsSecretRef: z
      .strictObject({
        name: objectName,
        usernameKey: z.string().min(1).default('username'),
        passwordKey: z.string().min(1).default('password'),
      })
      .optional(),
    driftPolicy,
    deletionPolicy: deletionPolicy.default('Delete'),
    adopt,
  })
  .superRefine((spec, context) => {
    if (spec.credentialsSecretRef !== undefined || spec.adopt !== undefined) return;
    const message = 'is missing; add it: only a registry that is adopted can go without';
    context.addIssue({ code: 'custom', path: ['credentialsSecretRef'], message });
  });
export type ImageRegistrySpec = z.infer<typeof imageRegistrySpec>;

export const imageRegistry = kindSchema('ImageRegistry', imageRegistrySpec);
