export * from './build.ts';
export * from './conditions.ts';
