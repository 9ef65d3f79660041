import { sameValue } from '../../../base/stable.ts';
import { defaultConfig } from '../../config/config-file.ts';
import type { ControlPlaneConfig } from '../../domain/config.ts';

/** The GPUs of the default regions are made up. Real containers have those that the operator names. */
export function withoutMadeUpGpus(config: ControlPlaneConfig): ControlPlaneConfig {
  if (!sameValue(config.regions, defaultConfig.regions)) return config;
  const regions = config.regions.map((region) => ({
    ...region,
    geographies: region.geographies.map((geography) => ({ ...geography, gpus: {} })),
  }));
  return { ...config, regions };
}
