/** The volume that a service is attached to, or would be when it is created. */
import type { wire } from '../../api/index.ts';
import { canonicalId, nearestOr } from '../../base/index.ts';
import { byNamespace, placeText, referringOf, type DesiredObject } from '../../desired/index.ts';
import type { AccountSnapshot } from '../../observed/index.ts';
import type { AccountHandle } from '../../engine/index.ts';
import {
  parseObjectKey,
  remoteName,
  type ContainerServiceSpec,
  type ObjectKey,
} from '../../resources/index.ts';
import type { ObjectRecord } from '../../state/index.ts';
import { volumeInputs } from '../storage-volume/look.ts';
import { viewVolume } from '../storage-volume/plan.ts';
import { exchangeOf } from './exchange.ts';
import type { VolumeView } from './inputs.ts';
import type { ServiceView } from './look.ts';
import { attachable, keptVolume, namedVolume } from './storage.ts';
import { attachedVolumesOf, namedVolumeOf } from './volume-object.ts';

const refPath = ['spec', 'storage', 'volumeRef', 'name'];

/** `service`: the one that is there. `leaving`: the one that has to go before one is created in its place. */
export function volumeFor(
  view: ServiceView,
  service: wire.Service | undefined,
  leaving?: wire.Service,
): VolumeView {
  const { fleet, object, record } = view;
  const { storage } = object.spec;
  const isUnnamed = storage?.volumeRef === undefined && storage?.volumeId === undefined;
  if (isUnnamed && service) return attachedVolume(view, service);
  const volume = namedVolumeOf(fleet, record);
  if (volume === 'dangling') {
    const name = storage?.volumeRef?.name ?? '';
    const { namespace } = parseObjectKey(record.key);
    const known = byNamespace(fleet.snapshot.objects, 'StorageVolume', namespace).map((one) => one.name);
    const advice = nearestOr(name, known, 'add its document, or correct the name');
    const message = `there is no StorageVolume ${name} in this namespace; ${advice}`;
    return { kind: 'problem', reason: 'ReferenceNotFound', message, path: refPath };
  }
  const isDeleted = isDeletedWith(view, leaving);
  const { account, snapshot } = view.seen;
  if (storage?.volumeGb !== undefined && !service && snapshot) return keptVolumeOf(view, snapshot, isDeleted);
  if (!volume || !snapshot || !account) {
    const { volumeId } = storage ?? {};
    if (volumeId === undefined) return { kind: 'none' };
    if (service || !snapshot) return { kind: 'usable', id: volumeId };
    return namedVolume(canonicalId(volumeId), object.spec, snapshot.volumes, isDeleted);
  }
  return volumeOfObject(view, volume, { account, snapshot }, service, isDeleted);
}

/**
 * The service has it, and its document names none any more. So nothing is compared with it, and it holds nothing: the service only waits
 * while it is not ready, and pauses for its growth. One that is to be deleted waits for the service, which does not wait for it.
 */
function attachedVolume(view: ServiceView, service: wire.Service): VolumeView {
  const { account, snapshot } = view.seen;
  if (!account || !snapshot) return { kind: 'none' };
  const { store, fleet } = view;
  for (const volume of attachedVolumesOf(fleet, service, snapshot.volumes)) {
    const isDoubtful = (volume.unproven && !store.ownerConfirmed) || volume.distrusted !== undefined;
    const { kind } = parseObjectKey(volume.key);
    if (kind !== 'StorageVolume' || volume.account !== account.name || isDoubtful) continue;
    const inputs = volumeInputs(view, volume, account, snapshot);
    if (inputs.object.deleting) continue;
    const shown = viewVolume({ ...inputs, driftBrake: view.driftBrake(volume.key) });
    if (shown.kind === 'growing' || shown.kind === 'not-ready') return shown;
  }
  return { kind: 'none' };
}

type IsDeleted = ((user: string) => boolean) | undefined;

/** Who leaves its volume together with `leaving`. */
function isDeletedWith({ fleet, record, seen }: ServiceView, leaving: wire.Service | undefined): IsDeleted {
  if (!leaving) return undefined;
  const others = seen.snapshot ? exchangeOf(fleet, record, seen.snapshot) : [];
  const going = new Set([leaving.id, ...others.map(({ externalId }) => externalId)]);
  return (user) => going.has(user);
}

/** What the provider made together with an earlier service of the object. */
function keptVolumeOf(
  { object, record, fleet }: ServiceView,
  { volumes, unidentified }: AccountSnapshot,
  isDeleted: IsDeleted,
): VolumeView {
  const name = remoteName('ContainerService', object.name, object.spec);
  const { madeVolumeId: id } = record.kind;
  if (id !== undefined && !volumes.has(id) && (unidentified?.volumes.length ?? 0) > 0) {
    const message = `the account does not show the volume ${id}, and shows volumes that can't be identified`;
    return { kind: 'not-ready', id, message };
  }
  return keptVolume(object, record, name, fleet.owner.digestKey, volumes, isDeleted);
}

/**
 * Another service of the documents that has the volume, or is to get it first: one that exists, or else the first by name. It would be
 * awaited for ever.
 */
function sharedWith({ fleet, store, record }: ServiceView, volume: ObjectRecord): string | undefined {
  const others = referringOf(fleet.snapshot.objects, 'ContainerService', volume.key).filter(
    ({ key, cluster }) => key !== record.key && cluster?.deletionRequestedAt === undefined,
  );
  const isThere = (key: ObjectKey) => store.record(key)?.externalId !== undefined;
  const isFirst = ({ key }: DesiredObject) =>
    isThere(key) === isThere(record.key) ? key < record.key : isThere(key);
  const first = others.find(isFirst);
  return first && `${first.kind} ${first.name} (${placeText(first.location)})`;
}

/** As the document of the service names its volume, and where. */
function namesOf({ storage }: ContainerServiceSpec): { readonly name: string; readonly path: string[] } {
  const { volumeRef, volumeId } = storage ?? {};
  return volumeRef
    ? { name: `StorageVolume ${volumeRef.name}`, path: refPath }
    : { name: `volume ${volumeId}`, path: ['spec', 'storage', 'volumeId'] };
}

function volumeOfObject(
  view: ServiceView,
  volume: ObjectRecord,
  { account, snapshot }: { readonly account: AccountHandle; readonly snapshot: AccountSnapshot },
  service: wire.Service | undefined,
  isDeleted: IsDeleted,
): VolumeView {
  const { spec } = view.object;
  const { name, path } = namesOf(spec);
  if (volume.account !== undefined && volume.account !== account.name) {
    const message = `${name} lives in another account (${volume.account}); use one of ${account.name}`;
    return { kind: 'problem', reason: 'ReferenceNotFound', message, path };
  }
  const isUnproven = volume.unproven && !view.store.ownerConfirmed;
  if ((isUnproven || volume.distrusted !== undefined) && service === undefined) {
    const message = `${name} may be another fleet's (OwnershipUnproven); see its own condition first`;
    return { kind: 'problem', reason: 'OwnershipUnproven', message, path };
  }
  const inputs = {
    ...volumeInputs(view, volume, account, snapshot),
    driftBrake: view.driftBrake(volume.key),
  };
  const shown = viewVolume(inputs);
  const conflict = service ? undefined : sharedWith(view, volume);
  if (conflict !== undefined) {
    const message = `${name} is also that of ${conflict}, and a volume has one service (§2 serviceId); give one of them another volume`;
    return { kind: 'problem', reason: 'VolumeShared', message, path };
  }
  return service ? shown : attachable(shown, inputs, spec, isDeleted);
}
