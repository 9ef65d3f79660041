/** All but `connect.ts`, which is loaded only by who talks to a cluster, with all that it takes. */
export * from './election.ts';
export * from './errors.ts';
export { heldLeases, LeaseRecord, readLease, type HeldLease, type LeaseHolder } from './lease-record.ts';
export * from './object-store.ts';
export * from './recorder.ts';
export * from './reflector.ts';
export * from './resource-version.ts';
export * from './reviews.ts';
export type * from './types.ts';
