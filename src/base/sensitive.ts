import { inspect } from 'node:util';

const redacted = '[redacted]';

/**
 * A value that may hold a secret. Whatever prints it (a template string, JSON, the inspector, a logger)
 * gets a placeholder; only `reveal()` gives it, and only where it is put on the wire or digested.
 */
export class Sensitive<Value> {
  readonly #value: Value;

  constructor(value: Value) {
    this.#value = value;
  }

  reveal(): Value {
    return this.#value;
  }

  toString(): string {
    return redacted;
  }

  toJSON(): string {
    return redacted;
  }

  [inspect.custom](): string {
    return redacted;
  }
}
