export * from './fleet-metrics.ts';
export * from './accounts.ts';
export * from './manager.ts';
export * from './preview.ts';
