/**
 * A fleet of which a budget wants fewer replicas (engine/plan/shedding.ts): a limit on the number that is wanted, never below the least
 * number of the document or its schedule. What drains, and when it is deleted, follows from the fleet's own rules. So protected
 * replicas stay, and a deletion waits for a disruption window. While only protected ones are left to drain (`ReplicasProtected`), the
 * step is passed over for five minutes, and others are stopped.
 *
 * Not of fleets whose replicas would lose data with their deletion, or may be deleted whatever runs in them.
 */
import type { ShedSubject, ShedWay } from '../../engine/index.ts';
import { annotations, windowState } from '../../resources/index.ts';
import { leastReplicas, wantedReplicas } from './counts.ts';
import type { ServiceFleetSpec } from './schema.ts';
import type { FleetState } from './state.ts';
import { annotationsFrom } from './template-metadata.ts';

type Subject = ShedSubject<ServiceFleetSpec, FleetState>;

export function shedFleet({ record, object, nowMs }: Subject): ShedWay {
  const { spec } = object;
  const { count } = wantedReplicas(spec, nowMs, record.kind.scaled);
  return {
    annotations: { ...annotationsFrom(spec.template), ...object.annotations },
    isWanted: true,
    obstacle: obstacleOf(object, nowMs),
    isDown: false,
    isStopping: false,
    isUp: true,
    savesMicros: 0n,
    replicas: { wanted: count, least: leastReplicas(spec, nowMs) },
    staying: record.kind.roster?.filter(({ phase }) => phase === 'wanted').length ?? count,
  };
}

function obstacleOf({ spec, annotations: given }: Subject['object'], nowMs: number): string | undefined {
  const { template, storage } = spec;
  if (given[annotations.paused] === 'true') return `it has the annotation ${annotations.paused}`;
  if (storage?.scratch) return 'its replicas have storage that is deleted with them (`scratch`)';
  if (storage?.perReplica?.retire === 'Delete')
    return 'the volumes of its replicas are deleted with them (`retire: Delete`)';
  const { disruption, disruptionWindows } = template.spec;
  if (disruption === 'Never') return 'its replicas have `disruption: Never`';
  if (disruption === 'Always')
    return 'its replicas have `disruption: Always`, so nothing would keep one that works';
  return windowState(disruptionWindows, nowMs).open ? undefined : 'no disruption window of it is open';
}
