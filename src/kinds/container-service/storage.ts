/**
 * Which storage is deleted with a service, and which stays (§3 rule 3: its deletion destroys service-owned storage;
 * independent volumes remain).
 *
 * Independent storage that was created with a service (`volumeMode: independent`) has no object of its own, so the
 * service's record keeps its id. When the service is created anew, because it is replaced or was deleted by somebody
 * else, it is attached to that volume again. A second, empty one would cost twice and hide the files. New storage is
 * created only when the spec requests other storage than before, or when a person accepts that the files are lost.
 *
 * Neither the volumes of the account nor the service have to show storage that a service owns (§2 gaps). So its record keeps that it was made. The
 * document may request other storage by now, or none.
 */
import type { wire } from '../../api/index.ts';
import type { DigestKey } from '../../base/index.ts';
import {
  appliedAtCreation,
  dataLossConfirmed,
  isSameRegion,
  unusableReason,
  type Field,
  type PlannedObject,
} from '../../engine/plan/index.ts';
import { annotations, type ContainerServiceSpec, type ServiceState } from '../../resources/index.ts';
import type { ObjectRecord } from '../../state/index.ts';
import type { VolumeInputs } from '../storage-volume/inputs.ts';
import type { VolumeView } from './inputs.ts';

/** The independent volume that came with the creation of `service`. */
export function volumeMadeWith(
  { storage }: ContainerServiceSpec,
  service: wire.Service,
  volumes: ReadonlyMap<string, wire.Volume>,
): string | undefined {
  if (storage?.volumeGb === undefined || storage.volumeMode !== 'independent') return undefined;
  const attached = [...volumes.values()].find(
    ({ id, serviceId }) => serviceId === service.id || id === service.volumeId,
  );
  return attached?.mode === 'independent' ? attached.id : undefined;
}

/** What the spec's own storage is, as it is remembered of what was applied. */
export function madeStorage({ storage }: ContainerServiceSpec): object | undefined {
  return storage?.volumeGb === undefined
    ? undefined
    : { volumeGb: storage.volumeGb, volumeMode: storage.volumeMode };
}

/** `attached`: the volume of the service that has no object of its own. */
export function storageField(spec: ContainerServiceSpec, attached: wire.Volume | undefined): Field {
  const { volumeGb, volumeMode } = spec.storage ?? {};
  const { sizeGb, requestedSizeGb, mode } = attached ?? {};
  const isOfSize = volumeGb !== undefined && (volumeGb === sizeGb || volumeGb === requestedSizeGb);
  // Without a mode it belongs to the service; the only word that is known is the one for the contrary (§2).
  const isOfMode = typeof mode === 'string' && (volumeMode ?? mode) === mode;
  const isMeant = volumeMode !== undefined || mode !== independent;
  return {
    name: 'storage',
    path: 'storage',
    desired: madeStorage(spec),
    observed: undefined,
    resolved: {
      shown: attached && { volumeGb: sizeGb ?? requestedSizeGb, volumeMode: mode },
      matches: () => isOfSize && isOfMode && isMeant,
    },
  };
}

const independent = 'independent';

/**
 * For a service that does not exist, or is to be replaced: the volume that an earlier one of this object left.
 * `isDeleted`: of a service that uses the volume, whether it is deleted as well.
 */
export function keptVolume(
  { spec, annotations: given }: Pick<PlannedObject<ContainerServiceSpec>, 'spec' | 'annotations'>,
  { kind: { madeVolumeId: id }, applied }: ObjectRecord<ServiceState>,
  name: string,
  digestKey: DigestKey,
  volumes: ReadonlyMap<string, wire.Volume>,
  isDeleted?: (user: string) => boolean,
): VolumeView {
  if (id === undefined || applied['storage'] !== digestKey.digest(madeStorage(spec))) return { kind: 'none' };
  const volume = volumes.get(id);
  if (!volume) {
    if (dataLossConfirmed({ annotations: given }, name)) return { kind: 'none' };
    const message =
      `the volume ${id}, with the files of this service, is gone from the account; to create the service with empty ` +
      `storage, annotate the object with ${annotations.confirmDataLoss}: "${name}"`;
    return { kind: 'problem', reason: 'DataLost', message, path: ['spec', 'storage'] };
  }
  return elsewhere(volume, spec.region) ?? freeVolume(volume, isDeleted);
}

/** The volume that the spec names by its id, for a service that is yet to be created. */
export function namedVolume(
  id: string,
  { region }: ContainerServiceSpec,
  volumes: ReadonlyMap<string, wire.Volume>,
  isDeleted?: (user: string) => boolean,
): VolumeView {
  const volume = volumes.get(id);
  if (volume) return elsewhere(volume, region) ?? freeVolume(volume, isDeleted);
  const message = `there is no volume ${id} in the account; correct the id, or let a StorageVolume make one`;
  return { kind: 'problem', reason: 'ReferenceNotFound', message, path: ['spec', 'storage', 'volumeId'] };
}

function elsewhere(volume: wire.Volume, region: string): VolumeView | undefined {
  if (isSameRegion(volume.region ?? region, region)) return undefined;
  const message = `volume ${volume.id} is in the region ${volume.region}, and the service is for ${region}; a volume can only be used in its own region`;
  return { kind: 'problem', reason: 'InvalidReference', message, path: ['spec', 'region'] };
}

/** A service that uses it and is being deleted may make it show an unknown status (§2 gives none). */
function freeVolume(volume: wire.Volume, isDeleted: (user: string) => boolean = () => false): VolumeView {
  const { id, serviceId, status } = volume;
  const unusable = unusableReason(volume);
  if (unusable !== undefined) return { kind: 'not-ready', id, message: unusable };
  if (serviceId && !isDeleted(serviceId)) {
    return { kind: 'not-ready', id, message: `volume ${id} is still attached to service ${serviceId}` };
  }
  const isUsable = serviceId ? !unusableStatuses.has(status ?? '') : status === 'ready';
  if (isUsable) return { kind: 'usable', id };
  return { kind: 'not-ready', id, message: `volume ${id} is ${status ?? 'in an unknown status'}` };
}

const unusableStatuses: ReadonlySet<string> = new Set(['provisioning', 'expanding', 'deleting', 'error']);

/** What a creation from this spec makes. */
export function storageMadeBy({ storage }: ContainerServiceSpec): NonNullable<ServiceState['storageMade']> {
  if (storage?.volumeGb === undefined) return 'none';
  return storage.volumeMode === independent ? 'independent' : 'own';
}

/** For the record: what a creation from this spec makes, and which creation that is. */
export function storageOfCreation(
  spec: ContainerServiceSpec,
  digestKey: DigestKey,
): Pick<ServiceState, 'storageMade' | 'storageMadeFor'> {
  return { storageMade: storageMadeBy(spec), storageMadeFor: digestKey.digest(madeStorage(spec)) };
}

/**
 * The storage that the service was made with. Where that is not recorded, what its documents have asked for may be its own. Undefined: nobody
 * knows of any. An earlier version may have made the service anew since, and have kept what is recorded. So that it owns none counts only if
 * the last creation had the same request.
 */
export function storageMadeWith(
  { adopt, storage }: ContainerServiceSpec,
  record: ObjectRecord<ServiceState>,
  digestKey: DigestKey,
): ServiceState['storageMade'] {
  const asked = appliedAtCreation(record, 'storage');
  const wasAsked = asked !== undefined && asked !== digestKey.digest(undefined);
  const { storageMade, storageMadeFor } = record.kind;
  const isOfCreation = storageMadeFor !== undefined && storageMadeFor === asked;
  // A request before the adoption may have been refused: it made nothing.
  const isMade = storageMade === 'own' || (adopt === undefined && isOfCreation);
  return (
    (isMade ? storageMade : undefined) ?? (wasAsked || storage?.volumeGb !== undefined ? 'own' : undefined)
  );
}

type ShownVolume = wire.Volume | wire.Unidentified<wire.Volume>;

/**
 * Whether deleting `service` destroys storage. The values of a volume's `mode` are not documented beyond
 * `independent`. So only a volume with that mode, or of a managed object, is known to stay. `made`: the storage that it was
 * made with, which nothing has to show.
 */
export function ownsStorage(
  spec: ContainerServiceSpec,
  service: wire.Service | undefined,
  volumes: Iterable<ShownVolume>,
  isManaged: (volumeId: string) => boolean,
  made: ServiceState['storageMade'],
): boolean {
  if (storageMadeBy(spec) === 'own') return true;
  if (!service) return false;
  const shown = [...volumes];
  const isAttached = ({ id, serviceId }: ShownVolume) =>
    serviceId === service.id || (id !== undefined && id === service.volumeId);
  const isKept = ({ id, mode }: ShownVolume) => mode === independent || (id !== undefined && isManaged(id));
  if (made === 'own' && !shown.some((volume) => isKept(volume) && isAttached(volume))) return true;
  if (hasUnlistedStorage(spec, service, shown, made) && !isManaged(service.volumeId ?? '')) return true;
  // What we made has the storage that it was made with: volumes are attached at a creation only (§2).
  const isFound = spec.adopt !== undefined || made === undefined;
  return shown.some((volume) => {
    const mayBe = isAttached(volume) || (isFound && hidesAttachment(volume));
    return mayBe && !isKept(volume);
  });
}

/**
 * It shows storage that is not among the volumes: where these are the independent ones, it is the service's own. One that was made with
 * independent storage has that.
 */
function hasUnlistedStorage(
  { storage }: ContainerServiceSpec,
  { volumeId }: wire.Service,
  volumes: readonly ShownVolume[],
  made: ServiceState['storageMade'],
): boolean {
  if (!volumeId || volumeId === storage?.volumeId?.toLowerCase() || made === 'independent') return false;
  return !volumes.some(({ id }) => id === volumeId);
}

/** Whose storage it is could not be read: it may be anybody's. */
function hidesAttachment({
  unreadable = [],
  serviceId,
}: Pick<wire.Volume, 'unreadable' | 'serviceId'>): boolean {
  const fields = new Set(['id', 'serviceId', 'volumes']);
  return typeof serviceId !== 'string' && unreadable.some(({ field }) => fields.has(field));
}

/**
 * For a service that is yet to be created: `view` of a volume object, or why it can't be attached to it (§2: at its
 * creation only). `isDeleted`: whether the service with this id is deleted before.
 */
export function attachable(
  view: VolumeView,
  { object, attachedTo }: VolumeInputs,
  { region }: ContainerServiceSpec,
  isDeleted: (user: string) => boolean = () => false,
): VolumeView {
  const label = `StorageVolume ${object.name}`;
  if (object.spec.region !== region) {
    const message = `${label} is for the region ${object.spec.region}, and the service for ${region}; a volume can only be used in its own region`;
    return { kind: 'problem', reason: 'InvalidReference', message, path: ['spec', 'region'] };
  }
  const isThere = view.kind === 'usable' || view.kind === 'growing';
  if (!isThere || attachedTo.kind === 'none' || isDeleted(attachedTo.id)) return view;
  const user =
    attachedTo.kind === 'ours' ? `ContainerService ${attachedTo.name}` : `service ${attachedTo.id}`;
  return { kind: 'not-ready', id: view.id, message: `${label} is still attached to ${user}` };
}
