/**
 * What the nodes have, as the bound of what is sold where the configuration states none: of each geography, and of all
 * of them together. Read once, at the start. What changes later is noticed when a Pod finds no room.
 */
import type { Logger } from 'pino';
import { messageOf } from '../../../base/user-error.ts';
import type { KubernetesApi, KubernetesObject, ResourceType } from '../../../kubernetes/index.ts';
import type { ControlPlaneConfig } from '../../domain/config.ts';
import { labels } from './names.ts';
import { freeOf } from './nodes.ts';
import { placeIn } from './places.ts';
import { resources } from './resources.ts';

const pageSize = 500;

/** The configuration with every bound that the nodes give. */
export async function withNodesOf(
  api: Pick<KubernetesApi, 'list'>,
  config: ControlPlaneConfig,
  logger: Pick<Logger, 'info' | 'warn'>,
): Promise<ControlPlaneConfig> {
  try {
    const nodes = await all(api, resources.nodes, {});
    // Those of control planes are counted by their records.
    const foreign = await all(api, resources.pods, { labelSelector: `!${labels.installation}` });
    return bounded(config, nodes, foreign, logger);
  } catch (error) {
    logger.warn(
      { error: messageOf(error) },
      "can't read how much the nodes of the cluster have, so nothing is bounded: state it in the configuration",
    );
    return config;
  }
}

function bounded(
  config: ControlPlaneConfig,
  nodes: readonly KubernetesObject[],
  foreign: readonly KubernetesObject[],
  logger: Pick<Logger, 'info'>,
): ControlPlaneConfig {
  const regions = config.regions.map((region) => ({
    ...region,
    geographies: region.geographies.map((geography) => {
      const { nodeSelector = {} } = placeIn(config, { region: region.name, geography: geography.name });
      const { cpu, memoryGb } = freeOf(nodes, foreign, nodeSelector);
      return { ...geography, cpu: geography.cpu ?? cpu, memoryGb: geography.memoryGb ?? memoryGb };
    }),
  }));
  const { capacity } = config.containers;
  const { cpu, memoryGb } = freeOf(nodes, foreign, {});
  const whole = {
    ...capacity,
    cpu: capacity.cpu === undefined ? cpu : capacity.cpu,
    memoryGb: capacity.memoryGb === undefined ? memoryGb : capacity.memoryGb,
  };
  logger.info({ ...whole, nodes: nodes.length }, 'all services together have at most');
  return { ...config, regions, containers: { ...config.containers, capacity: whole } };
}

async function all(
  api: Pick<KubernetesApi, 'list'>,
  type: ResourceType,
  scope: { readonly labelSelector?: string },
): Promise<KubernetesObject[]> {
  const found: KubernetesObject[] = [];
  let continueToken: string | undefined;
  do {
    const page = await api.list(type, { ...scope, limit: pageSize, continueToken });
    found.push(...page.items);
    ({ continueToken } = page);
  } while (continueToken !== undefined);
  return found;
}
