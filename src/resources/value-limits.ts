/** Bounds of what Secrets and ConfigMaps give. Each is far above what a service needs. */
export const valueLimits = {
  /** One value of a Secret or a ConfigMap. */
  valueBytes: 256 * 1024,
  /** Names and values of one environment: as many as the largest request that the reference control plane takes. */
  environmentBytes: 256 * 1024,
} as const;
