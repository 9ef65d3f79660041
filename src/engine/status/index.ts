export { allocation, no, yes, type ConditionEntry } from './allocation.ts';
export { buildStatus, type StatusInputs } from './build.ts';
export { buildConditions, type ConditionInputs, type Health, type Statement } from './conditions.ts';
export { newEvents, nothingReported, type PassView, type ReportedEvents } from './events.ts';
export { handledToken } from './handled-token.ts';
export { absent, available, notReady, present, shownMicros } from './health.ts';
export { isReportedReady } from './reported.ts';
