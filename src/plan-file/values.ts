/**
 * How a plan file compares values that it must not hold: by HMAC, with a key that is made of the API key of the account. Who has the
 * API key can compare. A reader of the file can't guess a value, however short it is.
 */
import { createHmac } from 'node:crypto';
import { canonicalJson } from '../base/index.ts';

/** For `AccountHandle.derivedKey`. */
export const valuesPurpose = 'plan-file';

export class HiddenValues {
  readonly #key: Buffer;
  #isUsed = false;

  constructor(key: Buffer) {
    this.#key = key;
  }

  of(value: string): string {
    this.#isUsed = true;
    return this.#hmac(`value:${value}`);
  }

  /** By the names of the values. */
  ofAll(values: Readonly<Record<string, string>>): Record<string, string> {
    return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, this.of(value)]));
  }

  /** Equal for equal keys. Undefined: no value was hidden, so the key is of no importance. */
  get check(): string | undefined {
    return this.#isUsed ? this.checkAnyway : undefined;
  }

  /** The same key, for what is compared without consequences. */
  unnoticed(): HiddenValues {
    return new HiddenValues(this.#key);
  }

  get checkAnyway(): string {
    return this.#hmac('check');
  }

  #hmac(text: string): string {
    return `hmac-sha256:${createHmac('sha256', this.#key).update(text).digest('hex')}`;
  }
}

/** A document, or a part of one, with digests in place of the literal values of its environments. */
export function withoutValues(value: unknown, hidden: HiddenValues): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutValues(item, hidden));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      name === 'env' && Array.isArray(member)
        ? member.map((entry) => withoutValue(entry, hidden))
        : withoutValues(member, hidden),
    ]),
  );
}

function withoutValue(entry: unknown, hidden: HiddenValues): unknown {
  if (typeof entry !== 'object' || entry === null || !('value' in entry)) return entry;
  const { value } = entry;
  return { ...entry, value: hidden.of(typeof value === 'string' ? value : canonicalJson(value)) };
}
