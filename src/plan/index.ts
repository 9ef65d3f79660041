export * from './brake.ts';
export * from './inputs.ts';
export * from './ownership.ts';
export { serviceDigests } from './service-fields.ts';
export { protectedReason } from './disruption.ts';
export * from './service.ts';
export * from './types.ts';
export * from './volume.ts';
export * from './settle.ts';
