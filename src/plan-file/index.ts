export * from './compare.ts';
export * from './format.ts';
export { documentDigest } from './fingerprint.ts';
export * from './guard.ts';
export * from './planned-objects.ts';
export * from './values.ts';
