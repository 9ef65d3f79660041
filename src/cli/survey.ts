/**
 * What an account holds, and who manages it. Pure. A thing is managed by the folder that was given, when that has
 * written down its id, adopts it, or made its mark; by another owner, when it carries any other mark; else by nobody,
 * as far as can be seen: what another folder adopted without its environment, and registries, carry no mark.
 */
import type { wire } from '../api/index.ts';
import { canonicalId } from '../base/index.ts';
import { derivedUid, ownerId } from '../engine/plan/index.ts';
import { serviceMarks, templateMarks, volumeMarks } from '../kinds/index.ts';
import type { Marks } from '../engine/index.ts';
import { parseObjectKey, type ManagedKind, type ObjectKey } from '../resources/index.ts';
import { newRecord } from '../state/index.ts';
import type { FleetView } from './connection.ts';

export interface AccountContents {
  readonly services: readonly wire.Service[];
  readonly volumes: readonly wire.Volume[];
  /** Without the built-in ones, which are nobody's to manage. */
  readonly templates: readonly wire.Template[];
  readonly registries: readonly wire.Registry[];
}

export type ManagedBy =
  | { readonly is: 'nobody' }
  | { readonly is: 'fleet'; readonly key: ObjectKey }
  /** It carries the mark of an object of this fleet that stands for something else. */
  | { readonly is: 'duplicate'; readonly key: ObjectKey }
  /** `isOurs`: of this fleet's name, and none of its objects stands for it; as what `deletionPolicy: Retain` has left. */
  | { readonly is: 'owner'; readonly owner: string; readonly isOurs: boolean };

interface Remote {
  readonly ContainerService: wire.Service;
  readonly StorageVolume: wire.Volume;
  readonly ServiceTemplate: wire.Template;
  readonly ImageRegistry: wire.Registry;
}
export type HeldKind = keyof Remote;

export type Holding = {
  [Kind in HeldKind]: {
    readonly kind: Kind;
    readonly id: string;
    /** As the provider shows it, mark included. */
    readonly name: string | undefined;
    readonly managedBy: ManagedBy;
    /** The owner in its mark, as the annotation `adopt-from` names it. */
    readonly markedBy: string | undefined;
    readonly value: Remote[Kind];
  };
}[HeldKind];
export type Of<Kind extends HeldKind> = Extract<Holding, { kind: Kind }>;

const nobody: ManagedBy = { is: 'nobody' };

export function survey(contents: AccountContents, fleet: FleetView | undefined): Holding[] {
  const known = fleetKnowledge(fleet);
  const services = contents.services.map((value) => serviceHolding(value, known));
  const volumes = contents.volumes.map((value) => volumeHolding(value, known, services));
  const templates = contents.templates.map((value) => templateHolding(value, known));
  const registries = contents.registries.map((value) => registryHolding(value, known));
  return [...services, ...volumes, ...templates, ...registries];
}

function serviceHolding(value: wire.Service, known: FleetKnowledge): Of<'ContainerService'> {
  const { id, name } = value;
  return { kind: 'ContainerService', id, name, value, ...managers(value, serviceMarks, known) };
}

/** The storage of a service is deleted with it, and is managed by whoever manages the service. */
function volumeHolding(
  value: wire.Volume,
  known: FleetKnowledge,
  services: readonly Of<'ContainerService'>[],
): Of<'StorageVolume'> {
  const { id, name } = value;
  const own = managers(value, volumeMarks, known);
  const host = isServiceOwned(value)
    ? services.find((service) => service.id === value.serviceId || service.value.volumeId === id)
    : undefined;
  const managedBy = host && own.managedBy.is === 'nobody' ? host.managedBy : own.managedBy;
  return { kind: 'StorageVolume', id, name, value, markedBy: own.markedBy, managedBy };
}

function templateHolding(value: wire.Template, known: FleetKnowledge): Of<'ServiceTemplate'> {
  const { id, name } = value;
  return { kind: 'ServiceTemplate', id, name, value, ...managers(value, templateMarks, known) };
}

function registryHolding(value: wire.Registry, known: FleetKnowledge): Of<'ImageRegistry'> {
  const { id, repository } = value;
  return { kind: 'ImageRegistry', id, name: repository, value, ...managers(value, noMarks, known) };
}

/** `independent` is the one mode that is documented (§2); one that names no mode and a service may be either. */
export function isServiceOwned({ mode, serviceId }: wire.Volume): boolean {
  return mode === undefined || mode === null ? typeof serviceId === 'string' : mode !== 'independent';
}

interface FleetKnowledge {
  readonly ownerId: string | undefined;
  readonly byId: ReadonlyMap<string, ObjectKey>;
  readonly byMark: ReadonlyMap<string, ObjectKey>;
  /** Objects that stand for something by its id. */
  readonly recordedElsewhere: ReadonlySet<ObjectKey>;
}

function fleetKnowledge(fleet: FleetView | undefined): FleetKnowledge {
  const byId = new Map<string, ObjectKey>();
  const byMark = new Map<string, ObjectKey>();
  if (!fleet) return { ownerId: undefined, byId, byMark, recordedElsewhere: new Set() };
  const { store, snapshot } = fleet;
  const owner = { id: ownerId(store.ownerName), digestKey: store.digestKey };
  for (const { key, spec } of snapshot.objects.values()) {
    if ('adopt' in spec && spec.adopt) byId.set(canonicalId(spec.adopt.id), key);
  }
  const records = [...store.records()];
  for (const { key, externalId } of records) if (externalId !== undefined) byId.set(externalId, key);
  const unrecorded = [...snapshot.objects.keys()].filter((key) => !store.record(key));
  for (const record of [
    ...records,
    ...unrecorded.map((key) => newRecord(key, derivedUid(store.ownerName, key))),
  ]) {
    const own = marksOf[parseObjectKey(record.key).kind]?.own({ record, owner });
    if (own !== undefined) byMark.set(own, record.key);
  }
  return { ownerId: owner.id, byId, byMark, recordedElsewhere: new Set(byId.values()) };
}

const marksOf: Partial<Record<ManagedKind, Pick<Marks<never>, 'own'>>> = {
  ContainerService: serviceMarks,
  StorageVolume: volumeMarks,
  ServiceTemplate: templateMarks,
};

type Reading<Value> = Pick<Marks<Value>, 'of' | 'ownerIn'>;

const noMarks: Reading<unknown> = { of: () => [], ownerIn: () => '' };

function managers<Value extends { readonly id: string }>(
  value: Value,
  marks: Reading<Value>,
  { ownerId: ourId, byId, byMark, recordedElsewhere }: FleetKnowledge,
): Pick<Holding, 'managedBy' | 'markedBy'> {
  const carried = marks.of(value);
  const [mark] = carried;
  const markedBy = mark === undefined ? undefined : marks.ownerIn(mark);
  const recorded = byId.get(value.id);
  const marked = carried.map((one) => byMark.get(one)).find((found) => found);
  if (recorded === undefined && marked !== undefined && recordedElsewhere.has(marked)) {
    return { markedBy, managedBy: { is: 'duplicate', key: marked } };
  }
  const key = recorded ?? marked;
  if (key !== undefined) return { markedBy, managedBy: { is: 'fleet', key } };
  if (markedBy === undefined) return { markedBy, managedBy: nobody };
  return { markedBy, managedBy: { is: 'owner', owner: markedBy, isOurs: markedBy === ourId } };
}
