/** What an ImageRegistry gives to the services whose images it opens. */
import { byAccountRef, byNamespace } from '../../desired/index.ts';
import type { AccountSnapshot } from '../../observed/index.ts';
import { itemsOf, type Fleet } from '../../engine/index.ts';
import { normalRepository, parseObjectKey, repositoryOf, shownRepository } from '../../resources/index.ts';
import type { ObjectRecord } from '../../state/index.ts';
import type { RegistryView } from '../container-service/inputs.ts';

/** The ImageRegistry that gives access to `image`, in the same namespace and account. */
export function registryView(
  fleet: Fleet,
  record: ObjectRecord,
  image: string | undefined,
  snapshot: AccountSnapshot | undefined,
): RegistryView {
  const { namespace } = parseObjectKey(record.key);
  const { accountRef } = fleet.planned(record, 'ContainerService').spec;
  const registries = byAccountRef(fleet.snapshot.objects, 'ImageRegistry', namespace, accountRef.name);
  // Most fleets have none.
  const repository = image === undefined || registries.length === 0 ? undefined : repositoryOf(image);
  if (repository === undefined) return { kind: 'none' };
  const registry = registries.findLast(
    ({ spec }) => (normalRepository(spec.repository) ?? spec.repository) === repository,
  );
  if (registry === undefined) return { kind: 'none' };
  const isThere =
    fleet.store.record(registry.key)?.externalId !== undefined ||
    [...itemsOf(snapshot?.registries).values()].some(
      (shown) => shownRepository(shown.repository) === repository,
    );
  return { kind: isThere ? 'usable' : 'not-ready', name: registry.name };
}

/** User names and passwords that the provider may have pulled `image` with, and may repeat in an error; as far as there are any. */
export function accessValues({ snapshot }: Fleet, namespace: string, image: string | undefined): string[] {
  const repository = image === undefined ? undefined : repositoryOf(image);
  if (repository === undefined) return [];
  return byNamespace(snapshot.objects, 'ImageRegistry', namespace)
    .filter(({ spec }) => (normalRepository(spec.repository) ?? spec.repository) === repository)
    .flatMap(({ spec: { credentialsSecretRef: reference } }) => {
      const secret = reference && snapshot.secrets.get(`${namespace}/${reference.name}`);
      const keys = reference ? [reference.usernameKey, reference.passwordKey] : [];
      return keys.flatMap((key) => secret?.get(key)?.reveal().trim() ?? []);
    });
}
