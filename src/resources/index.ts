export * from './conditions.ts';
export * from './keys.ts';
export * from './kinds.ts';
