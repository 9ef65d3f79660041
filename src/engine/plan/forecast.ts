/**
 * What a month will have cost: spent + ∫ burn(t) dt until it ends. Pure. It informs, and gates nothing.
 *
 * | part of the burn                          | from now on                                                           |
 * |-------------------------------------------|-----------------------------------------------------------------------|
 * | services of a fleet whose number changes  | as now while as many are wanted as now; otherwise that number × the mean price of one |
 * | everything else, volumes included         | as now                                                                |
 *
 * The steps of a fleet are found out one after the other, and at most `mostSteps` of them. What comes after these counts with their mean.
 * Amounts are micro-USD per hour, and micro-USD times milliseconds where they are called an amount.
 */

/** How many are wanted from a moment on (Unix milliseconds). */
export interface CourseStep {
  readonly from: number;
  /** A mean may be a fraction. */
  readonly count: number;
}

export interface Course {
  /** What its services cost now. */
  readonly nowMicros: bigint;
  /** What one of them costs. */
  readonly eachMicros: bigint;
  /** The first one has begun. */
  readonly steps: readonly CourseStep[];
}

export interface ForecastInputs {
  /** The amount at `at`. */
  readonly spent: bigint;
  readonly at: number;
  readonly burnMicros: bigint;
  /** When the month ends. */
  readonly until: number;
  readonly courses: readonly Course[];
  readonly limitMicros: bigint | undefined;
}

export interface Forecast {
  readonly amount: bigint;
  /** Unix milliseconds at which the limit is reached. Undefined if it is not in this month. */
  readonly exhaustedAt: number | undefined;
}

const mostSteps = 500;
const hourMs = 3_600_000n;

/** From one moment to another. `wanted`: how many at a moment, and when that changes next. */
export function courseSteps(
  wanted: (atMs: number) => { readonly count: number; readonly changesAt: number },
  from: number,
  until: number,
): readonly CourseStep[] {
  const steps: CourseStep[] = [];
  let at = from;
  let sum = 0;
  for (let asked = 0; at < until && asked < mostSteps; asked += 1) {
    const { count, changesAt } = wanted(at);
    if (steps.at(-1)?.count !== count) steps.push({ from: at, count });
    const to = Math.min(until, Math.max(changesAt, at + 1));
    sum += count * (to - at);
    at = to;
  }
  return at < until ? [...steps, { from: at, count: sum / (at - from) }] : steps;
}

export function forecast({ spent, at, burnMicros, until, courses, limitMicros }: ForecastInputs): Forecast {
  const changes = changesOf(courses, at);
  const times = [...changes.keys()].filter((time) => time < until).toSorted((left, right) => left - right);
  const limit = limitMicros === undefined ? undefined : limitMicros * hourMs;
  let exhaustedAt = limit !== undefined && spent >= limit && at < until ? at : undefined;
  let [amount, from, burn] = [spent, at, burnMicros];
  for (const to of [...times, until]) {
    const next = to > from ? amount + burn * BigInt(to - from) : amount;
    if (limit !== undefined && exhaustedAt === undefined && next > limit)
      exhaustedAt = from + Number((limit - amount) / burn);
    [amount, from, burn] = [next, Math.max(from, to), burn + (changes.get(to) ?? 0n)];
  }
  return { amount, exhaustedAt };
}

/** The first moment after `at` from which the schedules let it cost less (Unix milliseconds). Undefined: none is known. */
export function costsLessFrom(courses: readonly Course[], at: number): number | undefined {
  // A mean is of no moment.
  const known = courses.map((course) => ({
    ...course,
    steps: course.steps.filter(({ count }) => Number.isInteger(count)),
  }));
  const falls = [...changesOf(known, at)].filter(([, micros]) => micros < 0n).map(([from]) => from);
  return falls.length === 0 ? undefined : Math.min(...falls);
}

/** By how much the burn changes, and when. */
function changesOf(courses: readonly Course[], at: number): ReadonlyMap<number, bigint> {
  const changes = new Map<number, bigint>();
  for (const { nowMicros, eachMicros, steps } of courses) {
    const begun = steps.findLast(({ from }) => from <= at);
    const now = begun?.count;
    let before = nowMicros;
    for (const { from, count } of steps) {
      if (from <= at) continue;
      const micros = count === now ? nowMicros : BigInt(Math.round(Number(eachMicros) * count));
      changes.set(from, (changes.get(from) ?? 0n) + micros - before);
      before = micros;
    }
  }
  return changes;
}
