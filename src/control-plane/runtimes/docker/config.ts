import { UserError } from '../../../base/user-error.ts';
import type { ContainersConfig, ControlPlaneConfig } from '../../domain/config.ts';
import { Egress, systemNameServers } from './network/egress.ts';
import type { EngineAddress } from './engine/engine.ts';
import type { DockerOptions } from './operations.ts';
import { RegistryPolicy } from '../containers/registry-policy.ts';

/** Who restricts what containers may reach: this process, somebody else, or nobody. */
export type EgressMode = 'enforce' | 'external' | 'open';

/** Throws a `UserError` when the egress rules are to be enforced and can't be, or GPUs are offered that nobody named. */
export async function dockerOptions(
  config: ControlPlaneConfig,
  asked: { readonly publishHost: string; readonly egress: EgressMode; readonly address: EngineAddress },
): Promise<DockerOptions> {
  requireDevices(config);
  const { registries, gpus, egress } = config.containers;
  return {
    publication: { host: asked.publishHost },
    registries: new RegistryPolicy(registries),
    gpus,
    egress: asked.egress === 'enforce' ? await checkedEgress(egress, asked.address) : undefined,
  };
}

async function checkedEgress(policy: ContainersConfig['egress'], address: EngineAddress): Promise<Egress> {
  if ('host' in address) {
    throw new UserError(
      `can't restrict what containers may reach: the container engine is at ${address.host}:${address.port}, and its firewall can't be set from here`,
      'use --egress external when something else restricts them there, or --egress open where every tenant is trusted',
    );
  }
  const egress = new Egress({ ...policy, nameServers: systemNameServers() });
  await egress.check();
  return egress;
}

function requireDevices({ regions, containers }: ControlPlaneConfig): void {
  for (const { name, geographies } of regions) {
    for (const geography of geographies) {
      for (const [model, count] of Object.entries(geography.gpus)) {
        const named = containers.gpus.filter((device) => device.model === model).length;
        if (count <= named) continue;
        throw new UserError(
          `region ${name} offers ${count} GPUs of model ${model} in ${geography.name}, and containers.gpus names ${named}`,
          'name each GPU in the configuration, as {id: GPU-UUID, model: MODEL}; "nvidia-smi -L" lists the ids',
        );
      }
    }
  }
}
