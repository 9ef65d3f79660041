export * from './lock.ts';
export * from './records.ts';
export * from './sqlite-store.ts';
export * from './memory-store.ts';
