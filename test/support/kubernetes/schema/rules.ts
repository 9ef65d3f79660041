/**
 * `x-kubernetes-validations`: rules in CEL over an object and its parts.
 *
 * A rule is compiled twice: with the types of the schema, so that a field that does not exist is noticed when the
 * definition is created, and without, to be evaluated. A rule that mentions `oldSelf` is asked only where there is an old
 * value; one that does not is not asked again where nothing changed. Costs are not estimated.
 */
import { Optional, type Environment } from '@marcbachmann/cel-js';
import { fieldError, type FieldError } from '../errors.ts';
import { isFields, isSame } from '../objects.ts';
import { newEnvironment } from './cel-library.ts';
import { celValue, declareType } from './cel-types.ts';
import { joined, propertySchema, type Rule, type Schema } from './schema.ts';
import { correlatable, correlationKey } from './validate.ts';

/** An expression that can't be compiled. */
export class CelProblem extends Error {
  readonly field: 'rule' | 'messageExpression';
  readonly expression: string;

  constructor(field: CelProblem['field'], expression: string, problem: string) {
    super(`compilation failed: ${problem}`);
    this.field = field;
    this.expression = expression;
  }
}

type Evaluate = (context: Readonly<Record<string, unknown>>) => unknown;

const untyped = newEnvironment().registerVariable('self', 'dyn').registerVariable('oldSelf', 'dyn');
const compiled = new Map<string, Evaluate>();

function evaluation(expression: string): Evaluate {
  let evaluate = compiled.get(expression);
  if (!evaluate) {
    evaluate = untyped.parse(expression) as Evaluate;
    compiled.set(expression, evaluate);
  }
  return evaluate;
}

export function isTransitionRule({ rule }: Rule): boolean {
  return /\boldSelf\b/.test(rule);
}

/** Throws `CelProblem`. */
export function checkRule(rule: Rule, schema: Schema, isRoot: boolean): void {
  const environment = newEnvironment();
  const type = declareType(environment, schema, isRoot);
  environment.registerVariable('self', type);
  environment.registerVariable('oldSelf', rule.optionalOldSelf === true ? `optional<${type}>` : type);
  checkExpression(environment, 'rule', rule.rule, 'bool');
  // The library finds nothing wrong with `has` of a field that can't be there.
  for (const [, selection = ''] of rule.rule.matchAll(/\bhas\((self\.[\w.]+)\)/g)) {
    checkExpression(environment, 'rule', selection);
  }
  if (rule.messageExpression !== undefined) {
    checkExpression(environment, 'messageExpression', rule.messageExpression, 'string');
  }
}

function checkExpression(
  environment: Environment,
  field: CelProblem['field'],
  text: string,
  type?: string,
): void {
  const { valid, type: found, error } = environment.check(text);
  if (!valid) throw new CelProblem(field, text, error?.message ?? 'unknown problem');
  if (type !== undefined && found !== type && found !== 'dyn') {
    throw new CelProblem(field, text, `cel expression must evaluate to a ${type}, not ${found}`);
  }
}

/** All rules of the object, and of what is in it. */
export function evaluateRules(
  value: unknown,
  schema: Schema,
  path: string,
  old?: unknown,
): readonly FieldError[] {
  const errors = rulesHere(value, schema, path, old);
  if (Array.isArray(value)) {
    const { items } = schema;
    if (!items) return errors;
    const before = correlatable(schema, old);
    for (const [index, item] of value.entries()) {
      errors.push(
        ...evaluateRules(item, items, `${path}[${index}]`, before?.get(correlationKey(item, schema))),
      );
    }
  } else if (isFields(value)) {
    for (const [name, field] of Object.entries(value)) {
      const ofField = propertySchema(schema, name);
      if (!ofField) continue;
      errors.push(
        ...evaluateRules(field, ofField, joined(path, name, schema), isFields(old) ? old[name] : undefined),
      );
    }
  }
  return errors;
}

function rulesHere(value: unknown, schema: Schema, path: string, old: unknown): FieldError[] {
  const rules = schema['x-kubernetes-validations'];
  if (!rules?.length || value === null) return [];
  const isUnchanged = old !== undefined && isSame(value, old);
  const self = celValue(value, schema, path === '');
  const oldSelf = old === undefined ? undefined : celValue(old, schema, path === '');
  return rules.flatMap((rule) => {
    const asksOld = isTransitionRule(rule);
    if (asksOld ? oldSelf === undefined && rule.optionalOldSelf !== true : isUnchanged) return [];
    const optional = oldSelf === undefined ? Optional.none() : Optional.of(oldSelf);
    const context = { self, oldSelf: rule.optionalOldSelf === true ? optional : oldSelf };
    return failure(rule, context, schema, path);
  });
}

function failure(
  rule: Rule,
  context: Readonly<Record<string, unknown>>,
  schema: Schema,
  path: string,
): FieldError[] {
  let why = ruleMessage(rule, context);
  try {
    if (evaluation(rule.rule)(context) === true) return [];
  } catch (error) {
    why = `${(error as Error).message.split('\n')[0]} evaluating rule: ${why}`;
  }
  const reason = (rule.reason ?? 'FieldValueInvalid') as FieldError['reason'];
  const at = `${path}${rule.fieldPath ?? ''}`.replace(/^\./, '') || '<nil>';
  const showsValue = reason === 'FieldValueInvalid' || reason === 'FieldValueDuplicate';
  return [
    fieldError(
      reason,
      at,
      reason === 'FieldValueDuplicate' ? '' : why,
      showsValue ? (schema.type ?? '') : undefined,
    ),
  ];
}

function ruleMessage(rule: Rule, context: Readonly<Record<string, unknown>>): string {
  const fallback = rule.message ?? `failed rule: ${rule.rule.trim()}`;
  if (rule.messageExpression === undefined) return fallback;
  try {
    return String(evaluation(rule.messageExpression)(context)) || fallback;
  } catch {
    return fallback;
  }
}
