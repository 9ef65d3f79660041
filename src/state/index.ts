export * from './identity-pin.ts';
export * from './lock.ts';
export * from './records.ts';
export { leaveResolution } from './resolutions.ts';
export * from './sqlite-store.ts';
export * from './memory-store.ts';
export * from './cluster-store.ts';
export * from './resolution-annotation.ts';
export * from './cluster-identity.ts';
