/** Rules about changes: which are denied, and which are warned of. Pure but for the clock that it is given. */
import type { PolicyFinding, PolicySubject, PolicyVerdict, StepPolicy } from '../engine/index.ts';
import { ExpressionError, evaluationOf, expressionLimits, type Evaluation } from './expressions.ts';
import type { Rule } from './file.ts';
import { variablesOf, type PolicyPlan } from './values.ts';

export interface PolicyOptions {
  readonly rules: () => readonly Rule[];
  readonly plan?: PolicyPlan;
  /** Unix milliseconds: `now` of the rules. */
  readonly nowMs: () => number;
}

export function createPolicy({ rules, plan = {}, nowMs }: PolicyOptions): StepPolicy {
  return { judge: (subject) => judge(rules(), subject, plan, nowMs()) };
}

function judge(
  rules: readonly Rule[],
  subject: PolicySubject,
  plan: PolicyPlan,
  nowMs: number,
): PolicyVerdict {
  const evaluation = evaluationOf(variablesOf(subject, plan, nowMs));
  const denied: PolicyFinding[] = [];
  const warnings: PolicyFinding[] = [];
  let hasFailed = false;
  for (const rule of rules) {
    try {
      if (!matches(rule, evaluation)) continue;
      const message = textOf(rule, subject);
      (rule.effect === 'deny' ? denied : warnings).push({ rule: rule.name, message });
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error;
      hasFailed = true;
      // A rule that states nothing must not let anything pass.
      denied.push({
        rule: rule.name,
        message: `the rule can't be evaluated, which denies: ${error.message}`,
      });
    }
  }
  const outcome = hasFailed ? 'error' : denied.length > 0 ? 'deny' : warnings.length > 0 ? 'warn' : 'allow';
  return { outcome, denied, warnings };
}

function matches({ when, test }: Rule, evaluation: Evaluation): boolean {
  const { elements } = expressionLimits;
  if (evaluation.sizes.longest > elements) {
    throw new ExpressionError(
      `the object has a list of more than ${elements} elements, or a text of more than ${elements * 100} characters`,
    );
  }
  return (when?.evaluate(evaluation) ?? true) && test.evaluate(evaluation);
}

function textOf({ name, message }: Rule, { key }: PolicySubject): string {
  return message.replaceAll('{{key}}', () => key).replaceAll('{{rule}}', () => name);
}
