export * from './allocation.ts';
export * from './account.ts';
export * from './build.ts';
export * from './conditions.ts';
export * from './happenings.ts';
export * from './shared.ts';
export * from './task.ts';
