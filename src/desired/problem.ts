import type { Location, Problem } from './source.ts';

/** E.g. `['spec', 'env', 1, 'name']` as `spec.env[1].name`. */
export function pathText(path: readonly (string | number)[]): string {
  return path
    .map((part, index) => (typeof part === 'number' ? `[${part}]` : index === 0 ? part : `.${part}`))
    .join('');
}

/** Text from a file, fit for a terminal: without control characters, and bounded. */
export function printable(text: string, longest = 200): string {
  const clean = text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, '?');
  return clean.length > longest ? `${clean.slice(0, longest - 1)}…` : clean;
}

/** `fleet/web.yaml:14`, or `containerservices/default/web` without a line. */
export function placeText({ file, line }: Location): string {
  return line === undefined ? file : `${file}:${line}`;
}

/** `fleet/web.yaml:14: spec.env[1].name: what is wrong; what to do`: one line. */
export function formatProblem(problem: Problem): string {
  const path = problem.path === undefined ? '' : `${problem.path}: `;
  return printable(`${placeText(problem)}: ${path}${problem.message}; ${problem.remedy}`, 2000);
}

/** A stable order, whatever the order in which files were read. */
export function compareProblems(left: Problem, right: Problem): number {
  return (
    compareText(left.file, right.file) ||
    (left.line ?? 0) - (right.line ?? 0) ||
    compareText(left.path ?? '', right.path ?? '') ||
    compareText(left.message, right.message)
  );
}

export function compareText(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

/**
 * The known word that was most likely meant. It differs in case only, or by at most two letters changed,
 * added, left out or swapped (one in a short word).
 */
export function nearest(word: string, known: readonly string[]): string | undefined {
  if (word.length > 64) return undefined;
  const limit = word.length <= 3 ? 1 : 2;
  const ranked = known
    .map((candidate) => ({ candidate, edits: edits(word.toLowerCase(), candidate.toLowerCase()) }))
    .filter((entry) => entry.edits <= limit)
    .sort((left, right) => left.edits - right.edits || compareText(left.candidate, right.candidate));
  return ranked[0]?.candidate;
}

/** Edit distance in which a swap of neighbours counts one (optimal string alignment). */
function edits(from: string, to: string): number {
  if (Math.abs(from.length - to.length) > 2) return 3;
  let before: number[] = [];
  let previous = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const same = from[row - 1] === to[column - 1];
      let cost = Math.min(
        (previous[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (previous[column - 1] ?? 0) + (same ? 0 : 1),
      );
      if (row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]) {
        cost = Math.min(cost, (before[column - 2] ?? 0) + 1);
      }
      current.push(cost);
    }
    before = previous;
    previous = current;
  }
  return previous[to.length] ?? 0;
}
