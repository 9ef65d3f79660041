/**
 * CEL for rules: an expression that always ends.
 *
 * The library bounds what can be written (nodes, depth), and not what it costs to evaluate. So only functions are there whose cost is known:
 * no `matches`, since a regular expression may never end, and no `cel.bind`, which can double a list at each level. Before each evaluation the
 * most that it can cost is estimated from the sizes of what it is given. Above the limit it is an error, which denies.
 *
 * | counted                                  | as                                                            |
 * |------------------------------------------|---------------------------------------------------------------|
 * | a node of the expression                 | 1 step                                                        |
 * | a macro (`all`, `exists`, `map`, …)      | its body, for each element that its list can have             |
 * | a function, `+`                          | also the sizes of its operands and of its result              |
 * | an equation                              | also all that the operands can hold                           |
 * | size of a value                          | its longest list or map; of a text, a hundredth of its length |
 */
import { Environment, type ASTNode } from '@marcbachmann/cel-js';

export const expressionLimits = {
  characters: 4096,
  nodes: 1000,
  depth: 32,
  /** Macros in macros. */
  macros: 2,
  /** Of a list or map that a rule is given. */
  elements: 1000,
  /** That all rules together may take for one object. */
  steps: 1_000_000,
} as const;

const macros = new Set(['all', 'exists', 'exists_one', 'map', 'filter']);

/** Those without a known cost are not there. */
const functions = new Set([
  ...macros,
  'has',
  'size',
  'startsWith',
  'endsWith',
  'contains',
  'lowerAscii',
  'upperAscii',
  'trim',
  'indexOf',
  'lastIndexOf',
  'substring',
  'split',
  'join',
  'bool',
  'double',
  'dyn',
  'int',
  'string',
  'type',
  'uint',
  'timestamp',
  'duration',
  'getDate',
  'getDayOfMonth',
  'getDayOfWeek',
  'getDayOfYear',
  'getFullYear',
  'getHours',
  'getMinutes',
  'getMonth',
  'getSeconds',
]);

export const variables = ['object', 'change', 'cost', 'plan', 'now'] as const;
export type Variables = Readonly<Record<(typeof variables)[number], unknown>>;

/** Texts are counted in hundreds of characters. */
const textUnit = 100;

const environment = new Environment({
  limits: {
    maxAstNodes: expressionLimits.nodes,
    maxDepth: expressionLimits.depth,
    maxListElements: expressionLimits.elements,
    maxMapEntries: expressionLimits.elements,
  },
})
  .registerVariable('object', 'dyn')
  .registerVariable('change', 'dyn')
  .registerVariable('cost', 'dyn')
  .registerVariable('plan', 'dyn')
  .registerVariable('now', 'google.protobuf.Timestamp');

/** An expression that can't be used, or can't be evaluated. */
export class ExpressionError extends Error {
  override readonly name = 'ExpressionError';
}

/** What rules are given of an object, and how many steps are left for it. */
export interface Evaluation {
  readonly values: Variables;
  readonly sizes: Sizes;
  stepsLeft: number;
}

export function evaluationOf(values: Variables): Evaluation {
  return { values, sizes: sizesOf(values), stepsLeft: expressionLimits.steps };
}

export interface Expression {
  /** Throws an `ExpressionError`. */
  evaluate(evaluation: Evaluation): boolean;
}

/** Throws an `ExpressionError`. */
export function compile(text: string): Expression {
  if (text.length > expressionLimits.characters) {
    throw new ExpressionError(
      `has ${text.length} characters, and at most ${expressionLimits.characters} are allowed`,
    );
  }
  const parsed = attempt(() => environment.parse(text));
  const { type } = attempt(() => parsed.check());
  const check = attempt(() => environment.check(text));
  if (!check.valid) throw new ExpressionError(firstLine(check.error));
  if (type !== 'bool' && type !== 'dyn') throw new ExpressionError(`is a ${type}, and must be a bool`);
  checkNode(parsed.ast, 0);
  return {
    evaluate: (evaluation) => {
      const { values, sizes } = evaluation;
      const { cost } = estimate(parsed.ast, { data: sizes, elements: new Map() });
      if (cost > evaluation.stepsLeft) {
        throw new ExpressionError(
          `the rules may take more than ${expressionLimits.steps} steps on this object; make them simpler`,
        );
      }
      evaluation.stepsLeft -= cost;
      const result: unknown = attempt(() => parsed({ ...values }));
      if (typeof result !== 'boolean') throw new ExpressionError('did not return a bool');
      return result;
    },
  };
}

function attempt<Result>(act: () => Result): Result {
  try {
    return act();
  } catch (error) {
    throw new ExpressionError(firstLine(error));
  }
}

/** The others repeat the expression. */
function firstLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? '';
}

// ---- what may be written -----------------------------------------------------------------------------

type Call = {
  readonly name: string;
  readonly receiver: ASTNode | undefined;
  readonly args: readonly ASTNode[];
};

function callOf(node: ASTNode): Call | undefined {
  if (node.op === 'call') return { name: node.args[0], receiver: undefined, args: node.args[1] };
  if (node.op === 'rcall') return { name: node.args[0], receiver: node.args[1], args: node.args[2] };
  return undefined;
}

function isMacro({ name, receiver }: Call): boolean {
  return receiver !== undefined && macros.has(name);
}

/** The nodes within, without those of a name. */
function childrenOf(node: ASTNode): readonly ASTNode[] {
  const call = callOf(node);
  if (call)
    return [...(call.receiver ? [call.receiver] : []), ...(isMacro(call) ? call.args.slice(1) : call.args)];
  return [node.args].flat(2).filter(isNode);
}

function isNode(value: unknown): value is ASTNode {
  return typeof value === 'object' && value !== null && 'op' in value;
}

function checkNode(node: ASTNode, depth: number): void {
  const call = callOf(node);
  if (call && !functions.has(call.name)) {
    throw new ExpressionError(`\`${call.name}\` is not available in a policy: its cost has no bound`);
  }
  const inside = call && isMacro(call) ? depth + 1 : depth;
  if (inside > expressionLimits.macros) {
    throw new ExpressionError(`has macros in macros more than ${expressionLimits.macros} deep`);
  }
  for (const child of childrenOf(node)) checkNode(child, inside);
}

// ---- what it costs at most ---------------------------------------------------------------------------

/** Of the values that an expression is given. */
interface Sizes {
  /** Elements of the longest list or map; of a text, a hundredth of its length. */
  readonly longest: number;
  /** All values together, which a comparison may visit. */
  readonly weight: number;
  /** The weight of the largest element of a list. */
  readonly item: number;
}

function sizesOf(values: Variables): Sizes {
  const largest = { longest: 0, item: 1 };
  const weigh = (value: unknown): number => {
    if (typeof value === 'string') {
      const units = Math.ceil(value.length / textUnit);
      largest.longest = Math.max(largest.longest, units);
      return 1 + units;
    }
    if (typeof value !== 'object' || value === null) return 1;
    const own: readonly unknown[] = Object.values(value);
    largest.longest = Math.max(largest.longest, own.length);
    const weights = own.map(weigh);
    // Of a map, macros visit the names.
    const items = Array.isArray(value) ? weights : Object.keys(value).map(weigh);
    for (const weight of items) largest.item = Math.max(largest.item, weight);
    return weights.reduce((sum, weight) => sum + weight, 1);
  };
  const weight = Object.values(values).reduce<number>((sum, value) => sum + weigh(value), 0);
  return { ...largest, weight };
}

interface Scope {
  readonly data: Sizes;
  /** By the name of a macro's variable. */
  readonly elements: ReadonlyMap<string, Value>;
}

interface Value {
  /** Of the value, and of the largest that is in it. */
  readonly size: number;
  /** Of all that is in it, which a comparison may visit. */
  readonly weight: number;
  /** The weight of its largest element. */
  readonly item: number;
}

interface Estimate extends Value {
  readonly cost: number;
}

const truth: Value = { size: 0, weight: 1, item: 1 };

function estimate(node: ASTNode, scope: Scope): Estimate {
  const call = callOf(node);
  if (call && isMacro(call)) return estimateMacro(call, scope);
  if (node.op === 'value') return estimateLiteral(node.args);
  if (node.op === 'id') {
    const { longest: size, weight, item } = scope.data;
    return { cost: 1, ...(scope.elements.get(node.args) ?? { size, weight, item }) };
  }
  const parts = childrenOf(node).map((child) => estimate(child, scope));
  const total = (of: 'cost' | 'size' | 'weight') => parts.reduce((sum, part) => sum + part[of], 0);
  const most = (of: 'size' | 'weight' | 'item') =>
    parts.reduce((largest, part) => Math.max(largest, part[of]), 0);
  const cost = 1 + total('cost');
  if (call) {
    const size = sizeOfResult(call.name, total('size'));
    const weight = total('weight') + size;
    return { size, weight, item: weight, cost: cost + Math.max(total('size'), size) };
  }
  const { op } = node;
  if (op === '==' || op === '!=') {
    return { ...truth, cost: cost + Math.min(...parts.map(({ weight }) => weight)) };
  }
  if (op === 'in') return { ...truth, cost: cost + most('weight') };
  if (op === '+') {
    return { size: total('size'), weight: total('weight'), item: most('item'), cost: cost + total('size') };
  }
  if (op === 'list' || op === 'map') {
    const size = Math.max(parts.length, most('size'));
    return { size, weight: 1 + total('weight'), item: most('weight'), cost };
  }
  return { size: most('size'), weight: most('weight'), item: most('item'), cost };
}

function estimateMacro({ name, receiver, args }: Call, scope: Scope): Estimate {
  const [variable, ...body] = args;
  const list = receiver ? estimate(receiver, scope) : { ...truth, cost: 0 };
  const named = variable?.op === 'id' ? variable.args : '';
  const element = { size: list.item, weight: list.item, item: list.item };
  const inner = { ...scope, elements: new Map([...scope.elements, [named, element]]) };
  const parts = body.map((part) => estimate(part, inner));
  const cost = list.cost + list.size * parts.reduce((sum, part) => sum + part.cost, 1) + 1;
  const made = parts.at(-1);
  if (name === 'map' && made) {
    return {
      size: Math.max(list.size, made.size),
      weight: 1 + list.size * made.weight,
      item: made.weight,
      cost,
    };
  }
  return name === 'filter' ? { ...list, cost } : { ...truth, cost };
}

function estimateLiteral(value: unknown): Estimate {
  const size = typeof value === 'string' ? Math.ceil(value.length / textUnit) : 0;
  return { size, weight: 1 + size, item: 1 + size, cost: 1 };
}

/** A text of one unit may be split into as many parts as it has characters; a list of texts may be joined to one. */
function sizeOfResult(name: string, size: number): number {
  if (name === 'split') return size * textUnit;
  return name === 'join' ? size * size : size;
}
