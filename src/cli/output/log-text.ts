/** Logs come whole, as text; what of them is to be shown. */

/** The last `count` lines. */
export function lastLines(text: string, count: number): string {
  return count === 0 ? '' : linesOf(text).slice(-count).join('');
}

/** Each with its end. */
export function linesOf(text: string): string[] {
  return text === '' ? [] : text.split(/(?<=\n)/);
}

/**
 * What `now` has beyond `before`. The API may show only the last part of a log, so `before` is looked for in three ways:
 * as the beginning of `now`; its end as the beginning of `now` (old lines have left); their common first lines (the
 * last ones are written anew). When nothing fits, all of `now` is new.
 */
export function newPart(before: string, now: string): string {
  if (now.startsWith(before)) return now.slice(before.length);
  const old = linesOf(before);
  const lines = linesOf(now);
  return lines.slice(overlap(old, lines) || commonStart(old, lines)).join('');
}

/** How many lines at the end of `old` are the beginning of `lines`: at most (Knuth, Morris and Pratt's failure function). */
function overlap(old: readonly string[], lines: readonly string[]): number {
  const failure = [0];
  const step = (matched: number, line: string | undefined): number => {
    let length = matched;
    while (length > 0 && (length === lines.length || lines[length] !== line))
      length = failure[length - 1] ?? 0;
    return lines[length] === line ? length + 1 : length;
  };
  for (let index = 1; index < lines.length; index += 1) {
    failure.push(step(failure[index - 1] ?? 0, lines[index]));
  }
  return old.reduce((matched, line) => step(matched, line), 0);
}

function commonStart(old: readonly string[], lines: readonly string[]): number {
  const differs = lines.findIndex((line, index) => old[index] !== line);
  return differs === -1 ? lines.length : differs;
}
