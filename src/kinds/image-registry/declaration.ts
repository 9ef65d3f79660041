/** ImageRegistry: what all of the code may know of the kind. */
import { z } from 'zod';
import { listOf } from '../../resources/parts/constraints.ts';
import * as columns from '../../resources/parts/columns.ts';
import { declareKind } from '../../resources/parts/declaration.ts';
import * as status from '../../resources/parts/status.ts';
import { asShown, fixed, sameAccount, unchanged } from '../../resources/parts/transitions.ts';
import { registryHints } from './schema-hints.ts';
import { imageRegistryDocument } from './schema.ts';
import { noState } from '../../resources/parts/kind-state.ts';

export const imageRegistry = declareKind({
  name: 'ImageRegistry',
  plural: 'imageregistries',
  shortName: 'ireg',
  noun: 'registry',
  document: imageRegistryDocument,
  hints: registryHints,
  alsoCalled: ['Registry', 'RegistryCredentials'],
  list: 'registries',
  home: 'accountRef',
  data: ({ credentialsSecretRef: secret }) =>
    secret ? [{ kind: 'Secret', name: secret.name, keys: [secret.usernameKey, secret.passwordKey] }] : [],
  state: noState,
  columns: [
    columns.text('Repository', '.spec.repository', 'The repository that it gives access to.'),
    columns.ready,
    columns.drift,
    columns.age('Rotated', '.status.rotatedAt', 'Since the credentials were rotated.'),
    columns.created,
    columns.account,
    columns.id,
    columns.reason,
  ],
  selectable: [...columns.inAccount, '.spec.repository'],
  status: z.object({
    ...status.common(),
    repository: status.shownText.describe('The repository, as the provider knows it.'),
    linkedServices: z
      .array(
        z
          .object({
            id: z.string().describe('Its id at the provider.'),
            name: status.text.describe('Its name, if it is known.'),
            state: status.text.describe('Its state, if it is known.'),
            credentials: z
              .string()
              .describe('Those that its latest launch had: Current, Outdated or Unknown.'),
          })
          .describe('A service with an image of the repository.'),
      )
      .meta(listOf.whole)
      .optional()
      .describe('Services with images of the repository.'),
    rotatedAt: status.time.describe('When the credentials were last rotated, according to the provider.'),
  }),
  transitions: [
    fixed('registry', 'accountRef', sameAccount),
    fixed('registry', 'repository', `${unchanged('spec.repository')} || ${asShown('repository')}`),
  ],
});
