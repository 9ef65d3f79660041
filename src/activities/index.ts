export * from './keeper.ts';
export type { LeaseRequest, LeaseState } from './lease.ts';
