import { z } from 'zod';
import { constrained, given } from '../../resources/parts/constraints.ts';
import {
  accountRef,
  adopt,
  dataKey,
  deletionPolicy,
  driftPolicy,
  kindSchema,
  objectName,
} from '../../resources/parts/fields.ts';
import { normalRepository } from '../../resources/parts/repository.ts';

const host = '[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?';
const part = '[a-z0-9]+(([.]|_|__|-+)[a-z0-9]+)*';

const imageRegistrySpec = constrained(
  z.strictObject({
    accountRef,
    repository: constrained(z.string().max(255), {
      holds: (text) => normalRepository(text) !== undefined,
      rule: `self.matches('^${host}(/${part})+$') && self.matches('^(localhost/|[^/]*[.:A-Z])')`,
      schema: (errorMessage) => ({
        pattern: `^(?=localhost/|[^/]*[.:A-Z])${host}(/${part})+$`,
        errorMessage,
      }),
      message:
        'must be one exact repository with its host and without scheme, tag and digest; write it as ghcr.io/acme/trainer',
    }).describe(
      'One exact repository with its host, without scheme, tag and digest, such as ghcr.io/acme/trainer; fixed once it exists.',
    ),
    /** Absent: the credentials are not managed. */
    credentialsSecretRef: z
      .strictObject({
        name: objectName.describe('A Secret of the same namespace.'),
        usernameKey: dataKey.default('username').describe('The key in it that holds the user name.'),
        passwordKey: dataKey.default('password').describe('The key in it that holds the password or token.'),
      })
      .optional()
      .describe(
        'The credentials; when they change they are rotated, for future launches only (§4 rule 5). Required unless adopted; ' +
          'an adopted registry without it keeps its own.',
      ),
    driftPolicy,
    deletionPolicy: deletionPolicy
      .default('Delete')
      .describe(
        'What becomes of the entry when this object is deleted: it is deleted once every linked service sleeps (§3 rule 6), or stays, unmanaged.',
      ),
    adopt,
  }),
  {
    holds: ({ credentialsSecretRef, adopt: adopted }) =>
      credentialsSecretRef !== undefined || adopted !== undefined,
    rule: 'has(self.credentialsSecretRef) || has(self.adopt)',
    schema: given.anyOf('credentialsSecretRef', 'adopt'),
    message: 'is missing; add it: only a registry that is adopted can go without',
    field: 'credentialsSecretRef',
  },
);
export type ImageRegistrySpec = z.infer<typeof imageRegistrySpec>;

export const imageRegistryDocument = kindSchema(
  'ImageRegistry',
  imageRegistrySpec,
  'Access to the images of one private repository.',
);
