/** The other half of the template language: what a template makes of values. Stricter than Helm: nothing that is missing is printed. */
import { stringify } from 'yaml';
import { unreachable } from '../../../src/base/index.ts';
import { parseTemplate, type Command, type Node, type Operand, type Pipeline } from './parse.ts';

type Call = (...given: readonly unknown[]) => unknown;

interface Scope {
  readonly dot: unknown;
  readonly variables: ReadonlyMap<string, unknown>;
}

function isTrue(value: unknown): boolean {
  if (value === undefined || value === null || value === false || value === 0 || value === '') return false;
  return typeof value !== 'object' || Object.keys(value).length > 0;
}

function shown(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw new Error(`a template prints ${JSON.stringify(value)}, which is no text`);
}

const indented = (columns: number, text: string) => text.replaceAll(/^/gm, ' '.repeat(columns));

const functions: Readonly<Record<string, Call>> = {
  default: (instead, value) => (isTrue(value) ? value : instead),
  required(message, value) {
    if (value === undefined || value === null || value === '') throw new Error(shown(message));
    return value;
  },
  quote: (value) => JSON.stringify(shown(value)),
  toYaml: (value) => stringify(value, { sortMapEntries: true, indentSeq: false, lineWidth: 0 }).trimEnd(),
  nindent: (columns, text) => `\n${indented(Number(columns), shown(text))}`,
  until: (count) => Array.from({ length: Number(count) }, (_, index) => index),
  not: (value) => !isTrue(value),
  int: (value) => Math.trunc(Number(value)),
  eq: (left, right) => left === right,
  gt: (left, right) => Number(left) > Number(right),
  join: (separator, list) => (list as readonly unknown[]).map(shown).join(shown(separator)),
};

export class Templates {
  readonly #named = new Map<string, readonly Node[]>();
  readonly #files = new Map<string, readonly Node[]>();

  constructor(files: ReadonlyMap<string, string>) {
    for (const [file, source] of files) {
      const nodes = parseTemplate(source);
      this.#files.set(file, nodes);
      for (const node of nodes) if (node.is === 'define') this.#named.set(node.name, node.body);
    }
  }

  render(file: string, dot: unknown): string {
    return this.#body(this.#files.get(file) ?? [], this.#scope(dot));
  }

  #scope(dot: unknown): Scope {
    return { dot, variables: new Map([['$', dot]]) };
  }

  #body(nodes: readonly Node[], outer: Scope): string {
    let scope = outer;
    let text = '';
    for (const node of nodes) {
      if (node.is === 'set') {
        const value = this.#value(node.pipeline, scope);
        scope = { dot: scope.dot, variables: new Map(scope.variables).set(node.variable, value) };
      } else text += this.#node(node, scope);
    }
    return text;
  }

  #node(node: Exclude<Node, { is: 'set' }>, scope: Scope): string {
    switch (node.is) {
      case 'text':
        return node.text;
      case 'print':
        return shown(this.#value(node.pipeline, scope));
      case 'define':
        return '';
      case 'if': {
        const branch = node.branches.find(({ pipeline }) => isTrue(this.#value(pipeline, scope)));
        return this.#body(branch?.body ?? node.otherwise, scope);
      }
      case 'range':
      case 'with':
        return this.#each(node, scope);
      default:
        return unreachable(node);
    }
  }

  #each({ is, variable, pipeline, body }: Extract<Node, { is: 'range' | 'with' }>, scope: Scope): string {
    const value = this.#value(pipeline, scope);
    if (is === 'range' && !Array.isArray(value) && isTrue(value)) throw new Error('range is for lists');
    const items: readonly unknown[] =
      is === 'with' ? (isTrue(value) ? [value] : []) : ((value ?? []) as unknown[]);
    return items
      .map((dot) => {
        const variables = new Map(variable === undefined ? [] : [[variable, dot] as const]);
        return this.#body(body, { dot, variables: new Map([...scope.variables, ...variables]) });
      })
      .join('');
  }

  #value(pipeline: Pipeline, scope: Scope): unknown {
    let piped: readonly unknown[] = [];
    for (const command of pipeline) piped = [this.#command(command, piped, scope)];
    return piped[0];
  }

  #command([first, ...rest]: Command, piped: readonly unknown[], scope: Scope): unknown {
    if (!first) throw new Error('an empty command');
    const given = [...rest.map((operand) => this.#operand(operand, scope)), ...piped];
    const found = first.is === 'function' ? this.#function(first.name) : this.#operand(first, scope);
    if (typeof found === 'function') return (found as Call)(...given);
    if (given.length > 0) throw new Error('only functions take arguments');
    return found;
  }

  #function(name: string): Call {
    if (name === 'include') {
      return (template, dot) => {
        const body = this.#named.get(shown(template));
        if (!body) throw new Error(`there is no template ${shown(template)}`);
        return this.#body(body, this.#scope(dot));
      };
    }
    const found = Object.hasOwn(functions, name) ? functions[name] : undefined;
    if (!found) throw new Error(`charts here may not use the function ${name}`);
    return found;
  }

  #operand(operand: Operand, scope: Scope): unknown {
    switch (operand.is) {
      case 'literal':
        return operand.value;
      case 'pipeline':
        return this.#value(operand.pipeline, scope);
      case 'function':
        return this.#function(operand.name)();
      case 'path': {
        const { from, fields } = operand;
        if (from !== '.' && !scope.variables.has(from)) throw new Error(`there is no variable ${from}`);
        const start = from === '.' ? scope.dot : scope.variables.get(from);
        return fields.reduce<unknown>((value, field) => {
          if (typeof value !== 'object' || value === null) throw new Error(`nothing has the field ${field}`);
          return Object.hasOwn(value, field)
            ? (value as Readonly<Record<string, unknown>>)[field]
            : undefined;
        }, start);
      }
      default:
        return unreachable(operand);
    }
  }
}
