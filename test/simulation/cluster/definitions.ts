/** The kinds that a cluster with our definitions serves. They are the same for all runs, and made once. */
import { customResourceDefinition } from '../../../src/crdgen/index.ts';
import { managedKinds } from '../../../src/resources/index.ts';
import { followDefinitions } from '../../support/kubernetes/definitions.ts';
import { Kinds } from '../../support/kubernetes/kinds.ts';
import { Store } from '../../support/kubernetes/store.ts';
import { Writes } from '../../support/kubernetes/writes.ts';

let served: Kinds | undefined;

export function servedKinds(): Kinds {
  served ??= defined();
  return served;
}

function defined(): Kinds {
  const kinds = new Kinds();
  const store = new Store(1);
  followDefinitions(store, kinds);
  const kind = kinds.find('apiextensions.k8s.io', 'v1', 'customresourcedefinitions');
  if (!kind) throw new Error('there are no definitions');
  const write = {
    kind,
    namespace: undefined,
    subresource: undefined,
    fieldManager: 'kubectl',
    fieldValidation: 'Strict',
    isDryRun: false,
    warnings: [],
  };
  const writes = new Writes(store, kinds);
  for (const each of managedKinds) writes.create(write, customResourceDefinition(each));
  return kinds;
}
