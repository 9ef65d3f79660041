/**
 * The template language of Helm charts, as far as the charts of this repository use it (Go's text/template with some functions of Sprig): text,
 * actions, `if`, `range`, `with`, `define`, variables and pipelines. Anything else is an error. This half takes a template apart.
 */

export type Operand =
  | { readonly is: 'literal'; readonly value: string | number | boolean }
  /** `.A.B`, `$.A.B`, `$name.A`: from what it begins, and the names of fields. */
  | { readonly is: 'path'; readonly from: string; readonly fields: readonly string[] }
  | { readonly is: 'function'; readonly name: string }
  | { readonly is: 'pipeline'; readonly pipeline: Pipeline };

export type Command = readonly Operand[];
export type Pipeline = readonly Command[];

export interface Branch {
  readonly pipeline: Pipeline;
  readonly body: readonly Node[];
}

export type Node =
  | { readonly is: 'text'; readonly text: string }
  | { readonly is: 'print'; readonly pipeline: Pipeline }
  | { readonly is: 'set'; readonly variable: string; readonly pipeline: Pipeline }
  | { readonly is: 'if'; readonly branches: readonly Branch[]; readonly otherwise: readonly Node[] }
  | {
      readonly is: 'range' | 'with';
      readonly variable: string | undefined;
      readonly pipeline: Pipeline;
      readonly body: readonly Node[];
    }
  | { readonly is: 'define'; readonly name: string; readonly body: readonly Node[] };

type Part = { readonly text: string } | { readonly action: string };

/** `{{-` and `-}}` take the white space beside them away. */
function partsOf(source: string): Part[] {
  const parts: Part[] = [];
  let rest = source;
  for (;;) {
    const start = rest.indexOf('{{');
    if (start === -1) return [...parts, { text: rest }];
    const found =
      /^\{\{(-(?=\s))?((?:"(?:[^"\\\n]|\\.)*"|\/\*[\s\S]*?\*\/|(?!\}\}|\s-\}\})[\s\S])*)(\s-)?\}\}/.exec(
        rest.slice(start),
      );
    if (!found) throw new Error(`an action that does not end: ${rest.slice(start, start + 60)}`);
    const [all, left, action = '', right] = found;
    const text = rest.slice(0, start);
    parts.push({ text: left ? text.trimEnd() : text }, { action: action.trim() });
    const after = rest.slice(start + all.length);
    rest = right ? after.trimStart() : after;
  }
}

const token =
  /\s*(?:("(?:[^"\\]|\\.)*")|(-?\d+)\b|(true|false)\b|(\$\w*)?((?:\.[A-Za-z]\w*)+)|(\$\w*)|(\.)(?![\w.])|([a-zA-Z]\w*)|([()|]))/y;

class Expression {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  whole(): Pipeline {
    const pipeline = this.#pipeline();
    if (this.#text.slice(this.#at).trim() !== '') throw this.#strange();
    return pipeline;
  }

  #pipeline(): Pipeline {
    const commands: Operand[][] = [[]];
    for (;;) {
      const before = this.#at;
      const found = this.#next();
      if (found === undefined) break;
      if (found === ')') {
        this.#at = before;
        break;
      }
      if (found === '|') commands.push([]);
      else if (found === '(') {
        commands.at(-1)?.push({ is: 'pipeline', pipeline: this.#pipeline() });
        if (this.#next() !== ')') throw this.#strange();
      } else commands.at(-1)?.push(found);
    }
    if (commands.some((command) => command.length === 0)) throw this.#strange();
    return commands;
  }

  #next(): Operand | '(' | ')' | '|' | undefined {
    if (this.#text.slice(this.#at).trim() === '') return undefined;
    token.lastIndex = this.#at;
    const found = token.exec(this.#text);
    if (!found) throw this.#strange();
    this.#at = token.lastIndex;
    const [, text, number, truth, from = '', fields, variable, dot, name, sign] = found;
    if (text !== undefined) return { is: 'literal', value: JSON.parse(text) as string };
    if (number !== undefined) return { is: 'literal', value: Number(number) };
    if (truth !== undefined) return { is: 'literal', value: truth === 'true' };
    if (fields !== undefined) return { is: 'path', from: from || '.', fields: fields.slice(1).split('.') };
    if (variable !== undefined) return { is: 'path', from: variable, fields: [] };
    if (dot !== undefined) return { is: 'path', from: '.', fields: [] };
    if (name !== undefined) return { is: 'function', name };
    return sign as '(' | ')' | '|';
  }

  #strange(): Error {
    return new Error(`not of the part of the template language that charts here may use: ${this.#text}`);
  }
}

const pipelineOf = (text: string) => new Expression(text).whole();

class Template {
  readonly #parts: readonly Part[];
  #at = 0;

  constructor(source: string) {
    this.#parts = partsOf(source);
  }

  whole(): Node[] {
    const { body, end } = this.#body();
    if (end !== undefined) throw new Error(`{{ ${end} }} without a beginning`);
    return body;
  }

  /** Up to `end`, `else` or the end of the template. */
  #body(): { readonly body: Node[]; readonly end: string | undefined } {
    const body: Node[] = [];
    for (;;) {
      const part = this.#parts[this.#at];
      this.#at += 1;
      if (!part) return { body, end: undefined };
      if ('text' in part) body.push({ is: 'text', text: part.text });
      else if (part.action === 'end' || /^else\b/.test(part.action)) return { body, end: part.action };
      else if (!part.action.startsWith('/*')) body.push(this.#node(part.action));
    }
  }

  #node(action: string): Node {
    const [, word = '', rest = ''] = /^(if|range|with|define)\s+([\s\S]*)$/.exec(action) ?? [];
    if (word === 'if') return this.#if(rest);
    if (word === 'define')
      return { is: 'define', name: JSON.parse(rest) as string, body: this.#ended(action) };
    const [, variable, pipeline = rest || action] = /^(\$\w+)\s*:=\s*([\s\S]*)$/.exec(rest || action) ?? [];
    if (word === 'range' || word === 'with')
      return { is: word, variable, pipeline: pipelineOf(pipeline), body: this.#ended(action) };
    if (variable !== undefined) return { is: 'set', variable, pipeline: pipelineOf(pipeline) };
    return { is: 'print', pipeline: pipelineOf(action) };
  }

  #ended(action: string): Node[] {
    const { body, end } = this.#body();
    if (end !== 'end') throw new Error(`{{ ${action} }} is not followed by {{ end }}`);
    return body;
  }

  #if(condition: string): Node {
    const branches: Branch[] = [];
    let next = condition;
    for (;;) {
      const { body, end } = this.#body();
      branches.push({ pipeline: pipelineOf(next), body });
      if (end === 'end') return { is: 'if', branches, otherwise: [] };
      if (end === 'else') return { is: 'if', branches, otherwise: this.#ended('else') };
      const [, again] = /^else if\s+([\s\S]*)$/.exec(end ?? '') ?? [];
      if (again === undefined) throw new Error(`{{ if ${condition} }} is not followed by {{ end }}`);
      next = again;
    }
  }
}

export function parseTemplate(source: string): Node[] {
  return new Template(source).whole();
}
