/** What an ImageRegistry gives to the services whose images it opens. */
import type { DesiredSnapshot } from '../../desired/index.ts';
import type { AccountSnapshot } from '../../observed/index.ts';
import type { RegistryView } from '../../plan/index.ts';
import { itemsOf, type Fleet } from '../../reconcile/index.ts';
import {
  normalRepository,
  parseObjectKey,
  repositoryOf,
  shownRepository,
  type ImageRegistrySpec,
  type ObjectKey,
} from '../../resources/index.ts';
import type { ObjectRecord } from '../../state/index.ts';

/** The ImageRegistry that gives access to `image`, in the same namespace and account. */
export function registryView(
  fleet: Fleet,
  record: ObjectRecord,
  image: string | undefined,
  snapshot: AccountSnapshot | undefined,
): RegistryView {
  const repository = image === undefined ? undefined : repositoryOf(image);
  if (repository === undefined) return { kind: 'none' };
  const { namespace } = parseObjectKey(record.key);
  const { accountRef } = fleet.planned<'ContainerService'>(record).spec;
  const key = registriesIn(fleet.snapshot).get(registryIndex(namespace, accountRef.name, repository));
  if (key === undefined) return { kind: 'none' };
  const { name } = parseObjectKey(key);
  const isThere =
    fleet.store.record(key)?.externalId !== undefined ||
    [...itemsOf(snapshot?.registries).values()].some(
      (registry) => shownRepository(registry.repository) === repository,
    );
  return { kind: isThere ? 'usable' : 'not-ready', name };
}

const indexes = new WeakMap<DesiredSnapshot, ReadonlyMap<string, ObjectKey>>();

/** Asked for every service: the few registries among the many objects are looked for once. */
function registriesIn(snapshot: DesiredSnapshot): ReadonlyMap<string, ObjectKey> {
  const known = indexes.get(snapshot);
  if (known) return known;
  const index = new Map<string, ObjectKey>();
  for (const { kind, key, namespace, spec } of snapshot.objects.values()) {
    if (kind !== 'ImageRegistry') continue;
    const { repository, accountRef } = spec as ImageRegistrySpec;
    index.set(registryIndex(namespace, accountRef.name, normalRepository(repository) ?? repository), key);
  }
  indexes.set(snapshot, index);
  return index;
}

function registryIndex(namespace: string, account: string, repository: string): string {
  return `${namespace}/${account} ${repository}`;
}
