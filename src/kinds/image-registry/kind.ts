/**
 * ImageRegistry: access to private images of a repository (§2 "Registry"). There is no room for a mark in it: an entry is an object's if it made
 * it, and so is the one that appears while a creation for the object is open, or that is there after the state was lost.
 */
import { createRegistry, isCreation } from '../../actions/index.ts';
import type { wire } from '../../api/index.ts';
import { defineKind, itemsOf, type RemoteThings, type Subject, type View } from '../../engine/index.ts';
import { normalRepository, shownRepository, type ImageRegistrySpec } from '../../resources/index.ts';
import { isCreationLost } from '../../state/index.ts';
import { readFromList } from '../listed.ts';
import { desiredCredentials } from './desired-credentials.ts';
import { heldRegistries } from './held.ts';
import { identifyRegistry, registryMarks, showsLostState } from './identify.ts';
import type { LinkedService, RegistryInputs } from './inputs.ts';
import { linkedServices, planRegistry, registryDigests } from './plan.ts';
import { observedRegistry, registryHealth } from './status.ts';

type Registry = wire.Registry;
type RegistryView = View<ImageRegistrySpec, Registry, unknown>;

const remote: RemoteThings<ImageRegistrySpec, Registry, RegistryInputs> = {
  listing: ({ registries }) => registries,
  read: (api, id) => readFromList(api.registries(), id),
  marks: registryMarks,
  creation: createRegistry,
  held: heldRegistries,
  identify(view, items, madeId) {
    const { record, store, fleet, seen } = view;
    const isLost = isCreationLost(record);
    const isUnresolved = record.creationInDoubt !== undefined && !isLost;
    const isAwaited = isUnresolved || isCreation(store.openIntent(record.key)?.action ?? '');
    return identifyRegistry(fleet.identity(record, madeId), items, repositoryOf(view), {
      isAwaited,
      isLost,
      stateLost: seen.snapshot !== undefined && showsLostState(seen.snapshot, fleet.owner),
      holderOf: (id) => store.recordOf(id)?.key,
    });
  },
  couldBe: ({ repository }, subject) => mayBeFor(repository, subject),
  hidesMarks: ({ repository }) => shownRepository(repository) === undefined,
  refutes: ({ id, repository }, subject) =>
    mayBeFor(repository, subject) ? undefined : `${id} is for another repository (${repository})`,
  /** After a lost state, the credentials are taken for those of the Secret: they can't be read. */
  found: (look, byMark) => (byMark ? { applied: registryDigests(look) } : {}),
};

/** What can't be read as a repository may be any. */
function mayBeFor(repository: string | undefined, subject: Subject<ImageRegistrySpec>): boolean {
  const shown = shownRepository(repository);
  return shown === undefined || shown === repositoryOf(subject);
}

function repositoryOf({ object: { spec } }: Pick<Subject<ImageRegistrySpec>, 'object'>): string {
  return normalRepository(spec.repository) ?? spec.repository;
}

function registryLook(view: RegistryView): RegistryInputs {
  const { fleet, key, record, object, seen, clock } = view;
  const { observation, account, snapshot } = seen;
  return {
    object,
    record,
    owner: fleet.owner,
    observation,
    credentials: desiredCredentials(fleet, key, account),
    linked: linked(view),
    registriesInAccount: itemsOf(snapshot?.registries).size,
    gates: view.gates(),
    driftBrake: view.driftBrake(),
    nowMs: clock.wallMs(),
  };
}

function linked(view: RegistryView): readonly LinkedService[] {
  const { observation, account } = view.seen;
  const services = account?.informer.current?.services;
  return services && observation.kind === 'present'
    ? linkedServices(observation.value, repositoryOf(view), services)
    : [];
}

export const imageRegistry = defineKind<ImageRegistrySpec, Registry, RegistryInputs>({
  name: 'ImageRegistry',
  remote,
  look: registryLook,
  plan: planRegistry,
  target: (look) => ({ digests: registryDigests(look) }),
  settled: (look) => ({
    applied: { ...look.record.applied, ...registryDigests(look) },
    repeated: undefined,
    unconfirmed: [],
    refusal: undefined,
  }),
  status: (look) => ({
    health: registryHealth(look.observation, look.linked),
    observed: observedRegistry(look.observation, repositoryOf(look), look.linked),
    revision: look.observation.kind === 'present' ? look.observation.value.revision : undefined,
  }),
  secrets({ fleet, key, seen }) {
    const credentials = desiredCredentials(fleet, key, seen.account);
    return credentials.kind === 'given' ? Object.values(credentials.values.reveal()) : [];
  },
});
