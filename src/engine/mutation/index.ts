export { knownBefore } from './before-creation.ts';
export { hasDerivedKey } from './creation-keys.ts';
export * from './executor.ts';
export * from './refusals.ts';
export type { RecordedMutation } from './remember.ts';
export * from './requests.ts';
export * from './scarcity.ts';
