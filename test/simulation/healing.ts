/** What people see to once nothing goes wrong any more, since nobody else can. */
import { annotations, objectKey, parseObjectKey, remoteName } from '../../src/resources/index.ts';
import type { Document } from './documents.ts';
import { fleetOf, mendedFleet } from './fleets.ts';
import { marked } from './truth.ts';
import type { Json, View } from './watch.ts';

/** What an API hides of services, and somebody may have changed. */
type Hidden = 'nothing' | 'environments' | 'other fields';

/**
 * The word that data may be lost, a size that the volume can have, and tasks that have ended. `hides`: drift of what the API hides is only
 * reported after it was corrected once. An edit sends it again.
 */
export function mended(
  document: Document,
  { disk, plane, wanted, isContested }: View,
  hides: Hidden,
): Document {
  const { kind, name, spec } = document;
  switch (kind) {
    case 'ProtectedTask':
      return { ...document, spec: { ...spec, released: true } };
    // One that was kept when its document went may not be as a new document wants it.
    case 'ContainerService':
      return left({
        ...consenting(document, kind),
        spec: { ...spec, ...edited(spec.env, hides), replacement: 'Recreate' },
      });
    case 'StorageVolume': {
      const id = disk.record(objectKey(kind, 'default', name))?.externalId ?? '';
      // Others may have made it larger, and nobody here has seen it yet.
      const sizeGb = Math.max(spec.sizeGb + 10, plane.store?.volumes.get(id)?.requestedSizeGb ?? 0);
      return { ...consenting(document, kind), spec: { ...spec, sizeGb, expansion: 'PauseService' } };
    }
    case 'ServiceFleet':
      return mendedFleet(document, edited(spec.template.spec.env, hides), {
        isDeclared: (key) => wanted.has(key),
        isContested,
      });
    case 'ServiceTemplate':
    case 'ImageRegistry':
      return document;
  }
}

export interface KeptThing {
  readonly kind: 'services' | 'volumes';
  readonly id: string;
}

/**
 * What was let go, and found again by nobody before its new document went, too: a mark is not enough to delete it, so its object waits for people,
 * and says so (`MarkedElsewhere`). In a cluster the new document has another mark.
 */
export function keptUnseen(view: View): KeptThing[] {
  if (view.isCluster) return [];
  return view.disk.records().flatMap(({ key, externalId }) => {
    const kind = kinds[parseObjectKey(key).kind];
    const intent = view.disk.intent(key);
    const isKnown = externalId !== undefined || (intent && view.isOpen(intent));
    const wasKept = view.history(key).some(({ spec }) => spec.deletionPolicy === 'Retain');
    const fleet = fleetOf(key);
    const isWanted = view.wanted.has(key) || (fleet !== undefined && view.wanted.has(fleet));
    if (kind === undefined || isKnown || !wasKept || isWanted) return [];
    return marked(view, key, 'alive').map((id) => ({ kind, id }));
  });
}

/** A document with the name of a replica had left a service with storage, which the fleet does not delete: people do, as it says. */
export function heldForData(view: View): KeptThing[] {
  return view.disk.records().flatMap(({ key, externalId: id, derived, status }) => {
    const kind = kinds[parseObjectKey(key).kind];
    const stalled = status?.conditions.find(({ type }) => type === 'Stalled');
    const isHeld = stalled?.status === 'True' && stalled.reason === 'DataLossUnconfirmed';
    return kind && id !== undefined && derived && isHeld ? [{ kind, id }] : [];
  });
}

const kinds: Partial<Record<string, KeptThing['kind']>> = {
  ContainerService: 'services',
  StorageVolume: 'volumes',
};

function edited(env: Json, hides: Hidden): object {
  if (hides === 'nothing' || (hides === 'environments' && !env)) return {};
  const others = (env ?? []).filter(({ name }: Json) => name !== 'MENDED');
  return { env: [...others, { name: 'MENDED', value: 'yes' }] };
}

/** A document that is written anew may give less than the one before it. */
function left(document: Document): Document {
  const fields = 'httpPort,command,sleepAfterMinutes,env';
  return { ...document, annotations: { ...document.annotations, [annotations.leaveFields]: fields } };
}

function consenting(document: Document, kind: 'ContainerService' | 'StorageVolume'): Document {
  const name = remoteName(kind, document.name, document.spec);
  return { ...document, annotations: { ...document.annotations, [annotations.confirmDataLoss]: name } };
}
