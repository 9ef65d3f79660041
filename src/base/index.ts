export * from './backoff.ts';
export * from './clock.ts';
export * from './invariant.ts';
export * from './random.ts';
export * from './sensitive.ts';
export * from './sqlite.ts';
export * from './stable.ts';
export * from './user-error.ts';
