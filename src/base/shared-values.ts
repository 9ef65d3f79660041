/**
 * Equal short texts and small parts of values that were parsed, kept once. A parser makes each anew, and a fleet has few: the image, the region,
 * the resources and the empty lists of each object are those of a thousand others. Bounded, and forgotten with this object.
 *
 * A part is small if it has few members, none of which has a part that is not small. It is frozen, since many values have it.
 */
const longestText = 100;
const mostMembers = 8;
const longestPart = 300;
/** V8 makes a slice of a longer text refer to it, so that a name of a file's text keeps all of that alive. */
const shortestSlice = 13;

export interface SharedValuesOptions {
  /** Texts, and parts. */
  readonly most?: number;
  /** The texts may be slices of a larger one, which is to be forgotten. */
  readonly areSlices?: boolean;
}

export class SharedValues {
  readonly #most: number;
  readonly #areSlices: boolean;
  readonly #texts = new Map<string, string>();
  readonly #parts = new Map<string, object>();

  constructor({ most = 5000, areSlices = false }: SharedValuesOptions = {}) {
    this.#most = most;
    this.#areSlices = areSlices;
  }

  /** `value`: just parsed, so that nobody else has it. Its members are replaced by equal ones. Returns it. */
  share<Value>(value: Value): Value {
    if (typeof value === 'object' && value !== null) this.#shareMembers(value as Members);
    return value;
  }

  /** The same for its texts only, where somebody else knows its parts. */
  shareTexts(value: object): void {
    this.#shareMembers(value as Members, false);
  }

  /** Whether the value is small. */
  #shareMembers(value: Members, withParts = true): boolean {
    if (!isPlain(value)) return false;
    // It was shared before, or is somebody else's.
    if (Object.isFrozen(value)) return false;
    let members = 0;
    let isSmall = true;
    for (const name of Object.keys(value)) {
      const member = value[name];
      members += 1;
      if (typeof member === 'string') {
        value[name] = this.#text(member);
        isSmall &&= member.length <= longestText;
      } else if (typeof member === 'object' && member !== null) {
        if (!this.#shareMembers(member as Members, withParts)) isSmall = false;
        else if (withParts) value[name] = this.#part(member);
      } else isSmall &&= isAsInJson(member);
    }
    return isSmall && members <= mostMembers;
  }

  #part(part: object): object {
    const text = JSON.stringify(part);
    if (text.length > longestPart) return part;
    const known = this.#parts.get(text);
    if (known !== undefined) return known;
    if (this.#parts.size >= this.#most) this.#parts.clear();
    this.#parts.set(text, Object.freeze(part));
    return part;
  }

  #text(text: string): string {
    if (text.length > longestText) return this.#areSlices ? copied(text) : text;
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    if (this.#texts.size >= this.#most) this.#texts.clear();
    const kept = this.#areSlices && text.length >= shortestSlice ? copied(text) : text;
    this.#texts.set(kept, kept);
    return kept;
  }
}

type Members = Record<string, unknown>;

/** Other objects may have what their members don't show. */
function isPlain(value: object): boolean {
  return Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
}

/** Its text in JSON is that of no other value. */
function isAsInJson(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value) && !Object.is(value, -0);
  return typeof value === 'boolean' || value === null;
}

/** Equal, and a text of its own. */
function copied(text: string): string {
  return JSON.parse(JSON.stringify(text)) as string;
}
