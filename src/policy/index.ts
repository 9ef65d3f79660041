export { expressionLimits } from './expressions.ts';
export { readRules, type Rule } from './file.ts';
export { createPolicy } from './policy.ts';
export type { PolicyPlan } from './values.ts';
