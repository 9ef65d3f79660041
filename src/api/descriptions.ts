/**
 * How the values of one answer are described where they can't be read. An answer may have hundreds of thousands of such values, so the work for
 * all of them has a bound: equal ones are described once, and what comes after the first 10,000 is described by its type alone.
 */
import { concealing } from '../base/index.ts';
import type { Unreadable } from './wire-answers.ts';

/** As many as an account of 10,000 services needs for a field that is odd in each. */
const mostDescribed = 10_000;
const longestFound = 120;
/** Of a value, before secrets are removed from it. */
const longestChecked = 4 * longestFound;

export class Descriptions {
  readonly #show: (text: string) => string;
  /** By the checked text. */
  readonly #known = new Map<string, string>();
  readonly #problems = new Map<object, Map<string, Unreadable>>();

  /** `secrets`: values that no description may repeat. */
  constructor(secrets: readonly string[]) {
    this.#show = concealing({ secrets, shortestSecret: 4, longest: longestFound });
  }

  /** What was found to contradict the rule, by its description. */
  problemsOf(rule: object): Map<string, Unreadable> {
    const known = this.#problems.get(rule);
    if (known) return known;
    const problems = new Map<string, Unreadable>();
    this.#problems.set(rule, problems);
    return problems;
  }

  /** Its type and what it is, of one line and bounded. */
  of(value: unknown): string {
    if (value === null || value === undefined) return 'nothing';
    if (this.#known.size >= mostDescribed) return typeName(value);
    const text = (JSON.stringify(value) ?? '').slice(0, longestChecked);
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    const found = `${typeName(value)}: ${this.#show(text)}`;
    this.#known.set(text, found);
    return found;
  }
}

export function typeName(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'an object';
  return typeof value === 'string' ? 'a text' : `a ${typeof value}`;
}
