/**
 * Equal short texts of values that were parsed, kept once. A parser makes each text anew, and a fleet has few: the image, the region and the
 * digest of each are those of a thousand others. Bounded, and forgotten with this object.
 */
const longest = 100;
const mostTexts = 5000;

export class SharedTexts {
  readonly #known = new Map<string, string>();

  /** `value`: just parsed, so that nobody else has it. Its members are replaced by equal ones. Returns it. */
  share<Value>(value: Value): Value {
    return this.#shared(value) as Value;
  }

  #shared(value: unknown): unknown {
    if (typeof value === 'string') return this.#text(value);
    if (Array.isArray(value)) {
      for (const [index, member] of value.entries()) if (isText(member)) value[index] = this.#shared(member);
    } else if (typeof value === 'object' && value !== null) {
      const members = value as Record<string, unknown>;
      for (const name of Object.keys(members))
        if (isText(members[name])) members[name] = this.#shared(members[name]);
    }
    return value;
  }

  #text(text: string): string {
    if (text.length > longest) return text;
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    if (this.#known.size >= mostTexts) this.#known.clear();
    this.#known.set(text, text);
    return text;
  }
}

/** A text, or what may have some. */
function isText(value: unknown): boolean {
  return typeof value === 'string' || (typeof value === 'object' && value !== null);
}
