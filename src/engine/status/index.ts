export { allocation, no, yes, type Told } from './allocation.ts';
export { buildStatus, type StatusInputs } from './build.ts';
export { buildConditions, type ConditionInputs, type Health, type Statement } from './conditions.ts';
export { happenings, nothingTold, type PassView, type ToldNews } from './events.ts';
export { absent, available, notReady, present, shownMicros } from './health.ts';
