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
