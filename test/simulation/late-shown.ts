/** Things that exist and are not shown yet, by list and by id, or are shown, and then for a while not: a replica lags behind. */
import type { SeededRandom } from '../support/seeded-random.ts';
import type { Json } from './watch.ts';

interface Hidden {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** Of the creation of a thing, until everything shows it. */
export const longestHiddenMs = 60_000;
const firstShownMs = 20_000;

export class LateShown {
  readonly #nowMs: () => number;
  readonly #random: SeededRandom;
  readonly #hidden = new Map<string, Hidden>();

  constructor(nowMs: () => number, random: SeededRandom) {
    this.#nowMs = nowMs;
    this.#random = random;
  }

  /** `isNew`: it has just been made. The answer to a repetition hides nothing: what it is about is as old as it is. */
  hide(id: string, isNew: boolean): void {
    const nowMs = this.#nowMs();
    const fromMs = nowMs + (this.#random.chance(0.4) ? this.#random.between(0, firstShownMs) : 0);
    const untilMs = nowMs + this.#random.between(firstShownMs, longestHiddenMs);
    if (isNew) this.#hidden.set(id, { fromMs, untilMs });
  }

  /** Its deletion was accepted: who forgets it then has asked for that. */
  reveal(id: string): void {
    this.#hidden.delete(id);
  }

  isHidden(id: string): boolean {
    const hidden = this.#hidden.get(id);
    const nowMs = this.#nowMs();
    return hidden !== undefined && nowMs >= hidden.fromMs && nowMs < hidden.untilMs;
  }

  /** Now or later. */
  hidesAny(): boolean {
    const nowMs = this.#nowMs();
    return [...this.#hidden.values()].some(({ untilMs }) => nowMs < untilMs);
  }

  /** Takes out of the answer to a read what is hidden; undefined: there is no such thing. */
  put(body: Json): Json {
    if (this.#hidden.size === 0) return body;
    const one = body.service ?? body.volume;
    if (one) return this.isHidden(one.id) ? undefined : body;
    const shown: Json = { ...body };
    for (const list of ['services', 'volumes', 'templates', 'registries']) {
      if (Array.isArray(shown[list])) shown[list] = shown[list].filter(({ id }: Json) => !this.isHidden(id));
    }
    return shown;
  }
}
