/** The replicas of a fleet as objects: a pure function of document and roster. A retiring one is no object any more. */
import type { OwnedObject, Owner } from '../../engine/index.ts';
import { annotations, group, type ContainerServiceSpec } from '../../resources/index.ts';
import { containerService } from '../container-service/declaration.ts';
import { childName } from './roster.ts';
import { contentOf, revisionName, revisionOf, withContent } from './revisions.ts';
import type { ServiceFleetSpec } from './schema.ts';
import type { FleetState, RosterEntry } from './state.ts';

export const fleetLabel = `${group}/fleet`;
const slotLabel = `${group}/slot`;
const revisionLabel = `${group}/revision`;

export function replicasOf({
  name,
  spec,
  state,
  revisions,
}: Owner<ServiceFleetSpec, FleetState>): OwnedObject[] {
  const isReturning = state.rollout?.phase === 'RollingBack';
  return (state.roster ?? [])
    .filter(({ phase }) => phase !== 'retiring')
    .map((entry) => {
      const revision = revisionOf(revisions, entry.revision);
      const content = revision?.content ?? contentOf(spec.template.spec);
      return {
        kind: containerService.name,
        name: childName(name, entry.slot),
        labels: {
          ...spec.template.metadata.labels,
          [fleetLabel]: name,
          [slotLabel]: String(entry.slot),
          ...(revision ? { [revisionLabel]: revisionName(revision.number) } : {}),
        },
        annotations: annotationsOf(spec, entry, childName(name, entry.slot)),
        spec: replicaSpec(spec, content, entry, isReturning),
        specPath: ['spec', 'template'],
        content,
        revision,
        mayCorrect: entry.phase === 'wanted' && entry.corrects !== undefined,
        drainingSince: entry.phase === 'draining' ? entry.since : undefined,
      };
    });
}

/** A replica has storage of its own by `storage.scratch` only, which confirms that its data may be lost. */
function annotationsOf(
  { template }: ServiceFleetSpec,
  { place: { volumeGb } }: RosterEntry,
  name: string,
): Record<string, string> {
  const own = template.metadata.annotations;
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
  isReturning: boolean,
): ContainerServiceSpec {
  const base = withContent(template.spec, content);
  const { account, region, geography, volumeGb, resources = base.resources } = entry.place;
  return {
    ...base,
    // One was open when the revision came in that is taken back.
    ...(isReturning ? { disruptionWindows: undefined } : {}),
    resources,
    accountRef: { name: account },
    region,
    geography,
    storage: volumeGb === undefined ? undefined : { volumeGb },
    desiredState: 'Running',
    templateUpdates: 'Ignore',
    replacement: 'Never',
    deletionPolicy: entry.phase === 'draining' ? 'Delete' : deletionPolicy,
  };
}
