/** Registries of an account, whoever made them: what `inventory` shows of them, and the documents that `import` writes. */
import type { wire } from '../../api/index.ts';
import type { HeldThings, Place, SpecDraft } from '../../engine/index.ts';
import { shownRepository } from '../../resources/index.ts';
import { accountRef, adopted } from '../drafts.ts';

export const heldRegistries: HeldThings<wire.Registry> = {
  name: ({ repository }) => repository,
  state: () => undefined,
  burn: () => 0n,
  // The last part of a repository identifies it best.
  bestName: (name) => name.split('/').slice(-2).join('-'),
  draft,
};

function draft(registry: wire.Registry, place: Place): SpecDraft {
  return {
    spec: {
      ...accountRef(place),
      repository: shownRepository(registry.repository) ?? registry.repository,
      ...adopted(registry.id),
    },
    needed: ['repository'],
    gaps: [
      {
        field: 'credentialsSecretRef',
        why: 'user names and passwords are never shown. Without it the registry keeps its own; if given, they are replaced once',
        example: ['credentialsSecretRef: {name: FILL-IN, usernameKey: username, passwordKey: password}'],
      },
    ],
  };
}
