/**
 * When lines of a log were written. The API gives text without times and takes no time to begin at (§4), so all that is
 * known is what the lines themselves show: a time of RFC 3339 at the beginning, or a field of a JSON line.
 *
 * | a line | counts as written |
 * |---|---|
 * | with a time | then |
 * | without one, such as a line of a stack trace | with the line before it |
 * | without one, before all that have one | unknown, if the first time is late enough; else too early |
 *
 * A local time without an offset is no time: which one it is depends on the container.
 */

const stamp = String.raw`\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:[Zz]|[+-]\d\d:?\d\d)`;
/** Behind colours and a bracket. */
const atBeginning = new RegExp(String.raw`^(?:\u001b\[[\d;]*m)*[[(]?(?<text>${stamp})`);
const inJson = new RegExp(
  String.raw`"(?:time|timestamp|@timestamp|ts|at)"\s*:\s*(?:"(?<text>${stamp})"|(?<number>\d{10}(?:\d{3})?)(?:\.\d+)?\s*[,}])`,
);
/** Where a field is searched for. */
const searchedChars = 1000;

/** Milliseconds since the epoch; undefined for a line that shows no time. */
export function timeOf(line: string): number | undefined {
  const match =
    atBeginning.exec(line) ?? (line.startsWith('{') ? inJson.exec(line.slice(0, searchedChars)) : null);
  const { text, number } = match?.groups ?? {};
  if (number !== undefined) return Number(number) * (number.length === 10 ? 1000 : 1);
  if (text === undefined) return undefined;
  const ms = Date.parse(text.replace(' ', 'T').replace(',', '.'));
  return Number.isNaN(ms) ? undefined : ms;
}

export interface LinesSince {
  readonly lines: readonly string[];
  /** Lines are shown of which nobody knows when they were written. */
  readonly isUnknown: boolean;
}

/** `lines` are in the order in which they were written. */
export function linesSince(lines: readonly string[], sinceMs: number): LinesSince {
  const times = lines.map(timeOf);
  const first = times.findIndex((time) => time !== undefined);
  if (first === -1) return { lines, isUnknown: lines.length > 0 };
  let latest = times[first] ?? 0;
  const isUnknown = first > 0 && latest >= sinceMs;
  const shown = lines.filter((_line, index) => {
    latest = times[index] ?? latest;
    return latest >= sinceMs;
  });
  return { lines: shown, isUnknown };
}
