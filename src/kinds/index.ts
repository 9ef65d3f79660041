export * from './registry.ts';
export { endpointsOf, prometheusTargets } from './service-fleet/endpoints.ts';
