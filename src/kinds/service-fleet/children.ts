/**
 * The objects of a fleet: its replicas, and the volumes of their slots. A pure function of document and record. A retiring replica
 * is no object any more. Its volume is one until it has gone.
 */
import type { OwnedObject, Owner } from '../../engine/index.ts';
import {
  annotations,
  group,
  ownerLabel,
  type ContainerServiceSpec,
  type StorageVolumeSpec,
} from '../../resources/index.ts';
import { containerService } from '../container-service/declaration.ts';
import { storageVolume } from '../storage-volume/declaration.ts';
import { childName } from './roster.ts';
import { restartedFor, retryToken } from './retries.ts';
import { contentOf, revisionName, revisionOf, withContent } from './revisions.ts';
import type { ServiceFleetSpec } from './schema.ts';
import type { FleetState, RosterEntry } from './state.ts';
import { asRemembered } from './template.ts';
import { annotationsFrom, labelsFrom } from './template-metadata.ts';
import { volumeName } from './volumes.ts';

const slotLabel = `${group}/slot`;
const revisionLabel = `${group}/revision`;

export type FleetOwner = Owner<ServiceFleetSpec, FleetState>;

export function ownedBy(owner: FleetOwner): OwnedObject[] {
  return [...replicasOf(owner), ...volumesOf(owner)];
}

function replicasOf({ name, spec: given, state, revisions }: FleetOwner): OwnedObject[] {
  const spec = asRemembered(given, state);
  const isReturning = state.rollout?.phase === 'RollingBack';
  return (state.roster ?? [])
    .filter(({ phase }) => phase !== 'retiring')
    .map((entry) => {
      const revision = revisionOf(revisions, entry.revision);
      const content = revision?.content ?? contentOf(spec.template.spec, spec.storage?.perReplica?.sizeGb);
      return {
        kind: containerService.name,
        name: childName(name, entry.slot),
        labels: {
          ...labelsFrom(spec.template),
          [ownerLabel]: name,
          [slotLabel]: String(entry.slot),
          ...(revision ? { [revisionLabel]: revisionName(revision.number) } : {}),
        },
        annotations: annotationsOf(spec, entry, childName(name, entry.slot)),
        spec: replicaSpec(spec, content, entry, { isReturning, fleet: name }),
        specPath: ['spec', 'template', 'spec'],
        content,
        revision,
        mayCorrect: entry.phase === 'wanted' && entry.corrects !== undefined,
        restartedFor: restartedFor(entry, content['restartToken']),
        drainingSince: entry.phase === 'draining' ? entry.since : undefined,
      };
    });
}

/** Deleted with its object only if that was decided. One that is lost for any other reason stays at the provider. */
function volumesOf({ name, spec, state }: FleetOwner): OwnedObject[] {
  const { expansion = 'Never' } = spec.storage?.perReplica ?? {};
  const { driftPolicy } = spec.template.spec;
  return (state.volumes ?? []).map(({ slot, account, region, geography, sizeGb, retired }) => {
    const volume: StorageVolumeSpec = {
      accountRef: { name: account },
      region,
      geography,
      sizeGb,
      expansion,
      driftPolicy,
      deletionPolicy: retired ? 'Delete' : 'Retain',
    };
    return {
      kind: storageVolume.name,
      name: volumeName(name, slot),
      labels: { ...labelsFrom(spec.template), [ownerLabel]: name, [slotLabel]: String(slot) },
      annotations: {},
      spec: volume,
      specPath: ['spec', 'storage', 'perReplica'],
      content: undefined,
      revision: undefined,
      mayCorrect: false,
      // It is not made any more, and not changed.
      drainingSince: retired ? 0 : undefined,
    };
  });
}

/** A replica has storage of its own by `storage.scratch` only, which confirms that its data may be lost. */
function annotationsOf(
  { template }: ServiceFleetSpec,
  { place: { volumeGb } }: RosterEntry,
  name: string,
): Record<string, string> {
  const own = annotationsFrom(template);
  return volumeGb === undefined ? own : { ...own, [annotations.confirmDataLoss]: name };
}

/**
 * What can't be changed while a replica exists stays as it was when it was added. One that drains is deleted in any
 * case; all others have the policy of the fleet.
 */
function replicaSpec(
  { template, deletionPolicy }: ServiceFleetSpec,
  content: Readonly<Record<string, unknown>>,
  entry: RosterEntry,
  { isReturning, fleet }: { readonly isReturning: boolean; readonly fleet: string },
): ContainerServiceSpec {
  const base = withContent(template.spec, content);
  const { account, region, geography, resources = base.resources } = entry.place;
  return {
    ...base,
    // One was open when the revision came in that is taken back.
    ...(isReturning ? { disruptionWindows: undefined } : {}),
    resources,
    restartToken: retryToken(entry) ?? base.restartToken,
    accountRef: { name: account },
    region,
    geography,
    storage: storageOf(fleet, entry),
    desiredState: 'Running',
    // Where nobody knows yet what the fleet takes of it, a replica keeps what it has.
    ...(base.image === undefined || base.resources === undefined ? {} : { templateRef: undefined }),
    templateUpdates: 'Ignore',
    replacement: 'Never',
    deletionPolicy: entry.phase === 'draining' ? 'Delete' : deletionPolicy,
  };
}

function storageOf(
  fleet: string,
  { slot, place: { volumeGb, volume } }: RosterEntry,
): ContainerServiceSpec['storage'] {
  if (volume) return { volumeRef: { name: volumeName(fleet, slot) } };
  return volumeGb === undefined ? undefined : { volumeGb };
}
