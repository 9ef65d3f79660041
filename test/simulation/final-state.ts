/**
 * How everything is once nothing more happens, without what differs from run to run: ids, revisions, times and sentences. Two runs that want
 * the same in the end have to end with the same portrait, whatever happened to them (L10, L12); so has one in which people changed
 * their minds and changed them back (L11).
 */
import { beaconPrefix, objectKey, type Condition, type ObjectKey } from '../../src/resources/index.ts';
import type { Document } from './documents.ts';
import { asAsked, replicaDocument, replicaKey, rosterOf, volumeInFleet } from './fleets.ts';
import type { Json, View } from './watch.ts';

export type FinalState = ReadonlyMap<ObjectKey, string>;

export function finalStateOf(view: View, documents: Iterable<[ObjectKey, Document]>): FinalState {
  return new Map(
    [...documents].map(([key, document]) => [key, JSON.stringify(likeness(view, key, document))]),
  );
}

/** The first object that looks otherwise; undefined when none does. */
export function differenceBetween(one: FinalState, other: FinalState): string | undefined {
  const unlike = [...one.keys()].find((key) => one.get(key) !== other.get(key));
  return unlike && `${unlike}:\n${one.get(unlike)}\nand\n${other.get(unlike)}`;
}

function likeness(view: View, key: ObjectKey, document: Document): object {
  const { status, externalId = '' } = view.disk.record(key) ?? {};
  // Whether nobody has used a service for a while is not to be judged.
  const isService = document.kind === 'ContainerService';
  const hasRevisionMoved = status?.conditions.some(({ reason }) => reason === 'RevisionMoved') === true;
  const conditions = (status?.conditions ?? [])
    .filter(({ type, reason }) => reason !== 'NotApplicable' && !(isService && type === 'Allocated'))
    .map((condition) => asDeclared(condition, hasRevisionMoved))
    .sort();
  const own = document.kind === 'ServiceFleet' ? fleetLikeness(view, key, document) : {};
  return { ...remoteLikeness(view, externalId, document), ...own, conditions };
}

const counts = ['replicas', 'desiredReplicas', 'updatedReplicas', 'availableReplicas', 'drainingReplicas'];

/** Which numbers its replicas have depends on what has happened. */
function fleetLikeness(view: View, key: ObjectKey, { spec: asked }: Document): object {
  const spec = asAsked(asked, view.wanted);
  const status: Json = view.disk.record(key)?.status;
  const roster = rosterOf(view.disk, key) ?? [];
  const replicas = roster.map(({ slot }) => {
    const replica = replicaKey(key, slot);
    return JSON.stringify({ ...likeness(view, replica, replicaDocument(replica, spec)), name: undefined });
  });
  return { counts: counts.map((name) => status?.[name]), replicas: replicas.sort() };
}

/**
 * Somebody has moved its revision once too often, and what the API hides may be changed: that is told until the document is edited, and sent with
 * that. Whoever takes the edit back is left without it, as a newcomer is; what is hidden is as it was (L1 compares values).
 */
function asDeclared({ type, status, reason }: Condition, hasRevisionMoved: boolean): string {
  if (hasRevisionMoved && type === 'Drifted') return 'Drifted=False NoDrift';
  if (hasRevisionMoved && type === 'Synced') return 'Synced=True AsDesired';
  return `${type}=${status} ${reason === 'Sleeping' ? 'Running' : reason}`;
}

function remoteLikeness({ plane }: View, id: string, { kind, spec }: Document): object {
  const { store } = plane;
  switch (kind) {
    case 'ContainerService': {
      const service = store?.services.get(id);
      if (!service) return {};
      const volume = store?.volumes.get(service.volumeId ?? '');
      return {
        ...managed(spec, service, ['image', 'command', 'resources', 'httpPort', 'sleepAfterMinutes']),
        name: service.name,
        environment:
          spec.env && service.environmentNames.filter((name) => !name.startsWith(beaconPrefix)).sort(),
        state: service.state === 'sleeping' ? 'running' : service.state,
        // Its own storage may have been made larger by others, and never becomes smaller.
        volume: volume && {
          mode: volume.mode,
          // Neither does that of a replica, which may have been larger once.
          ...(volume.mode === 'independent' && !isOfReplica(spec) ? { sizeGb: volume.sizeGb } : {}),
        },
      };
    }
    case 'StorageVolume': {
      const volume = store?.volumes.get(id);
      return { sizeGb: volume?.sizeGb, status: volume?.status, isAttached: volume?.serviceId !== null };
    }
    case 'ServiceTemplate': {
      const template = store?.templates.get(id);
      return { name: template?.name, ...managed(spec, template, ['image', 'resources']) };
    }
    case 'ImageRegistry':
      return { repository: store?.registries.get(id)?.repository };
    case 'ProtectedTask':
    case 'ServiceFleet':
      return {};
  }
}

function isOfReplica({ storage }: Json): boolean {
  const name: string | undefined = storage?.volumeRef?.name;
  return name !== undefined && volumeInFleet(objectKey('StorageVolume', 'default', name)) !== undefined;
}

/** What a document leaves out is nobody's business. */
function managed(spec: Json, is: Json, names: readonly string[]): object {
  return Object.fromEntries(
    names.filter((name) => spec[name] !== undefined).map((name) => [name, is?.[name]]),
  );
}
