/**
 * What can go wrong between the operator and its cluster, in the cluster, and among the replicas. A run in a folder knows nothing of
 * these: they are drawn from a stream of their own.
 */
import type { SeededRandom } from '../../support/seeded-random.ts';

/** Of single requests to the API server, and of events of watches: drawn for each. */
export const apiFaults = [
  'api-refuse',
  'api-lose-reply',
  'api-error',
  'api-throttle',
  'api-conflict',
  'api-slow',
  'list-stale',
  'watch-cut',
  'watch-expired',
  'watch-late',
  'watch-twice',
  'watch-silent',
] as const;
export type ApiFault = (typeof apiFaults)[number];

/** Each is an action at a moment of its own. */
export const clusterDeeds = [
  'kill-leader',
  'stop-leader',
  'stall-leader',
  'api-outage',
  'compact-history',
  'touch-object',
  'wipe-status',
  'copy-object',
  'take-lease',
] as const;
/**
 * Nobody reaches the API server for longer than a record of an activity lives, or the leader alone does not. It is drawn from a stream of
 * its own.
 */
export const isolation = 'isolate-leader';
export type ClusterDeed = (typeof clusterDeeds)[number] | typeof isolation;

export type ClusterFault = ApiFault | ClusterDeed;

export function drawClusterFaults(random: SeededRandom): Map<ClusterFault, number> {
  const density = random.pick([0.2, 0.4, 0.6]);
  const chosen = new Map<ClusterFault, number>();
  for (const kind of [...apiFaults, ...clusterDeeds]) {
    const isChosen = random.chance(density);
    const probability = random.pick([0.01, 0.04, 0.1]);
    if (isChosen) chosen.set(kind, probability);
  }
  return chosen;
}
