export * from './cost.ts';
export * from './description.ts';
export * from './entries.ts';
export * from './label-selector.ts';
export * from './manager-state.ts';
export * from './rollout-progress.ts';
export * from './survey.ts';
export * from './waiting-for.ts';
