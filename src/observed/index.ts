export * from './account-informer.ts';
export * from './readiness.ts';
export * from './catalog-cache.ts';
export type { Listing } from './listing.ts';
export * from './ledger.ts';
export * from './measurements.ts';
