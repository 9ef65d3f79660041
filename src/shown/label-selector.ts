/**
 * Selectors of labels, as `kubectl -l` has them:
 *
 *     selector    = requirement {"," requirement}        all of them have to be met
 *     requirement = key | "!" key | key ("=" | "==" | "!=") value | key ("in" | "notin") "(" value {"," value} ")"
 *
 * `!=` and `notin` also match objects without the label. A value may be empty.
 */
export type Labels = Readonly<Record<string, string>>;
export type LabelPredicate = (labels: Labels) => boolean;

type Requirement = LabelPredicate;

const forms = "such as app=web, app!=web, 'app in (web,api)', 'app notin (web)', app or '!app'";
const keyForm = /^(?:[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9](?:[-\w.]{0,61}[A-Za-z0-9])?$/;
const valueForm = /^(?:[A-Za-z0-9](?:[-\w.]{0,61}[A-Za-z0-9])?)?$/;
const tokenForm = /\s*(==|!=|[=!(),<>]|[^\s=!(),<>]+)/y;

/** What is wrong with a selector, for people. */
export class LabelSelectorError extends Error {}

/** Throws a `LabelSelectorError`. */
export function parseLabelSelector(text: string): LabelPredicate {
  const requirements = new Parser(text).selector();
  return (labels) => requirements.every((requirement) => requirement(labels));
}

class Parser {
  readonly #tokens: readonly string[];
  #next = 0;

  constructor(text: string) {
    this.#tokens = tokensOf(text);
    if (this.#tokens.length === 0) throw new LabelSelectorError(`expected a selector ${forms}`);
  }

  selector(): Requirement[] {
    const requirements = [this.#requirement()];
    while (this.#next < this.#tokens.length) {
      this.#expect(',', 'a comma, and the next requirement');
      requirements.push(this.#requirement());
    }
    return requirements;
  }

  #requirement(): Requirement {
    if (this.#take('!')) {
      const absent = this.#key();
      return (labels) => !Object.hasOwn(labels, absent);
    }
    const key = this.#key();
    const operator = this.#peek();
    if (operator === undefined || operator === ',') return (labels) => Object.hasOwn(labels, key);
    this.#next += 1;
    if (operator === '=' || operator === '==') return valueIn(key, [this.#value()]);
    if (operator === '!=') return not(valueIn(key, [this.#value()]));
    if (operator === 'in') return valueIn(key, this.#values());
    if (operator === 'notin') return not(valueIn(key, this.#values()));
    throw this.#unexpected('=, ==, !=, in or notin', operator);
  }

  #key(): string {
    const token = this.#peek();
    if (token === undefined || !keyForm.test(token)) throw this.#unexpected('the key of a label', token);
    this.#next += 1;
    return token;
  }

  /** Nothing, before a comma, a bracket or the end, is the empty value. */
  #value(): string {
    const token = this.#peek();
    if (token === undefined || token === ',' || token === ')') return '';
    if (!valueForm.test(token)) throw this.#unexpected('the value of a label', token);
    this.#next += 1;
    return token;
  }

  #values(): string[] {
    this.#expect('(', 'values in brackets');
    const values = [this.#value()];
    while (this.#take(',')) values.push(this.#value());
    this.#expect(')', 'a comma or a closing bracket');
    return values;
  }

  #peek(): string | undefined {
    return this.#tokens[this.#next];
  }

  #take(token: string): boolean {
    const found = this.#peek() === token;
    if (found) this.#next += 1;
    return found;
  }

  #expect(token: string, what: string): void {
    if (!this.#take(token)) throw this.#unexpected(what, this.#peek());
  }

  #unexpected(what: string, token: string | undefined): LabelSelectorError {
    const where = token === undefined ? 'at its end' : `at "${token}"`;
    return new LabelSelectorError(`expected ${what} ${where}; a selector is ${forms}`);
  }
}

function tokensOf(text: string): string[] {
  return Array.from(text.trim().matchAll(new RegExp(tokenForm, 'gy')), ([, token = '']) => token);
}

function valueIn(key: string, values: readonly string[]): Requirement {
  return (labels) => Object.hasOwn(labels, key) && values.includes(labels[key] ?? '');
}

function not(requirement: Requirement): Requirement {
  return (labels) => !requirement(labels);
}
