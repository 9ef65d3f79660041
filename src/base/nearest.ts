/** The name that was probably meant: for messages about names that do not exist. */

/** More names than these are not compared. */
const mostNames = 1000;

/**
 * The known name that was most likely meant. It differs in case only, or by at most two letters changed,
 * added, left out or swapped (one in a short name).
 */
export function nearest(word: string, known: readonly string[]): string | undefined {
  if (word.length > 64) return undefined;
  const limit = word.length <= 3 ? 1 : 2;
  const ranked = known
    .slice(0, mostNames)
    .map((candidate) => ({ candidate, edits: edits(word.toLowerCase(), candidate.toLowerCase()) }))
    .filter((entry) => entry.edits <= limit)
    .sort((left, right) => left.edits - right.edits || (left.candidate < right.candidate ? -1 : 1));
  return ranked[0]?.candidate;
}

/** What to do about a name that does not exist: the nearest one, or else `otherwise`. */
export function nearestOr(word: string, known: readonly string[], otherwise: string): string {
  const meant = nearest(word, known);
  return meant === undefined ? otherwise : `did you mean \`${meant}\`? Otherwise ${otherwise}`;
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
