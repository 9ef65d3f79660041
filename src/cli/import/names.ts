/** Names for imported objects: valid, telling, and each given once. */

/** A Kubernetes name (a DNS label) made of any text; empty when nothing of it can be used. */
export function labelOf(text: string, longest: number): string {
  return text
    .toLowerCase()
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+/g, '')
    .slice(0, longest)
    .replaceAll(/-+$/g, '');
}

export class Names {
  readonly #taken: Set<string>;
  readonly #longest: number;

  /** `taken`: what may not be given any more. */
  constructor(taken: Iterable<string>, longest: number) {
    this.#taken = new Set(taken);
    this.#longest = longest;
  }

  /** After `text`, with the beginning of the id behind it if that is taken; without `text`, after `noun`. */
  give(text: string | undefined, noun: string, id: string): string {
    const short = labelOf(id, 8);
    const plain = labelOf(text ?? '', this.#longest) || `${noun}-${short}`;
    const withId = (suffix: string) =>
      `${plain.slice(0, this.#longest - suffix.length - 1).replaceAll(/-+$/g, '')}-${suffix}`;
    const candidates = [plain, withId(short), withId(labelOf(id, 36))];
    const name = candidates.find((candidate) => !this.#taken.has(candidate)) ?? labelOf(id, 36);
    this.#taken.add(name);
    return name;
  }
}
