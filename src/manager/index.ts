export * from './fleet-metrics.ts';
export * from './account-specs.ts';
export * from './accounts.ts';
export * from './manager.ts';
export * from './preview.ts';
export * from './health.ts';
export * from './cluster-events.ts';
export * from './cluster-objects.ts';
