/** What the configuration (`containers.kubernetes`, and `cluster` of regions and geographies) makes of a place. */
import type { ClusterPlace, ControlPlaneConfig } from '../../domain/config.ts';
import type { Place } from '../../domain/runtime.ts';

/** What a region has counts in its geographies, unless they state something else. */
export function placeIn(config: ControlPlaneConfig, { region, geography }: Place): ClusterPlace {
  const ofRegion = config.regions.find(({ name }) => name === region);
  const ofGeography = ofRegion?.geographies.find(({ name }) => name === geography);
  return { ...ofRegion?.cluster, ...ofGeography?.cluster };
}
