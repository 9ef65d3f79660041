/**
 * Days and months of a calendar in a time zone. Where clocks change at midnight, a day begins with the first moment that has its date.
 *
 * Nothing is computed from offsets: the time zone database is asked for the date of a moment, and the end of a day is searched for.
 */

const hourMs = 3_600_000;
/** Some place has skipped a whole day. */
const longestDayMs = 49 * hourMs;
const longestMonthMs = 33 * 24 * hourMs;

/** A day: its date as `2026-11-27`, and the moments from which and until which it lasts (Unix milliseconds). */
export interface CalendarDay {
  readonly date: string;
  /** A moment at which it had begun. */
  readonly from: number;
  readonly until: number;
}

const formats = new Map<string, Intl.DateTimeFormat>();
const days = new Map<string, CalendarDay>();
const monthEnds = new Map<string, { readonly from: number; readonly until: number }>();

/** `timeZone`: a name that `Intl` knows. */
export function dayAt(ms: number, timeZone: string): CalendarDay {
  const known = days.get(timeZone);
  if (known && ms >= known.from && ms < known.until) return known;
  const date = dateAt(ms, timeZone);
  const until = firstWithout((at) => dateAt(at, timeZone) === date, ms, longestDayMs);
  const day = { date, from: ms, until };
  days.set(timeZone, day);
  return day;
}

/** As `2026-11`. */
export function monthAt(ms: number, timeZone: string): string {
  return dayAt(ms, timeZone).date.slice(0, -3);
}

/** The moment at which the month ends that this moment is in (Unix milliseconds). */
export function monthEnd(ms: number, timeZone: string): number {
  const known = monthEnds.get(timeZone);
  if (known && ms >= known.from && ms < known.until) return known.until;
  const month = dateAt(ms, timeZone).slice(0, -3);
  const until = firstWithout((at) => dateAt(at, timeZone).slice(0, -3) === month, ms, longestMonthMs);
  monthEnds.set(timeZone, { from: ms, until });
  return until;
}

function dateAt(ms: number, timeZone: string): string {
  // Budgets have it by default. The first use of a format takes 18 ms.
  if (timeZone === 'UTC') return new Date(ms).toISOString().slice(0, 10);
  const parts = formatOf(timeZone).formatToParts(ms);
  const part = (type: string) => parts.find((each) => each.type === type)?.value ?? '';
  return `${part('year').padStart(4, '0')}-${part('month')}-${part('day')}`;
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
  if (known) return known;
  const fields = { year: 'numeric', month: '2-digit', day: '2-digit' } as const;
  const format = new Intl.DateTimeFormat('en', { timeZone, calendar: 'gregory', ...fields });
  formats.set(timeZone, format);
  return format;
}

/** The first moment after `from` for which it no longer holds. It holds at `from`, and not `withinMs` later. */
function firstWithout(holds: (ms: number) => boolean, from: number, withinMs: number): number {
  let [held, ended] = [from, from + withinMs];
  while (ended - held > 1) {
    const middle = Math.floor((held + ended) / 2);
    if (holds(middle)) held = middle;
    else ended = middle;
  }
  return ended;
}
