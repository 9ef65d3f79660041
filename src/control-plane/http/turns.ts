/**
 * Whose request is worked on next. Work is synchronous, so whoever has many requests at hand could keep all others
 * waiting for as long as those take together. In one turn of the event loop requests are worked on as they come until
 * `turnMs` are spent; what is left waits in a queue for each account. From then on it is always the turn of the account
 * that had the least time (start-time fair queueing): who comes back after a pause waits for no backlog of others, and
 * can't save up time either.
 */
import type { Clock } from '../../base/clock.ts';
import type { EventLoop } from '../../base/process.ts';

interface Line {
  /** How much time the account had, counted from the least that anybody had who was waiting. */
  virtualMs: number;
  /** Oldest first; `next` is the place of the oldest. What is before it is done, and kept no longer: it holds a whole request. */
  waiting: ((() => void) | undefined)[];
  next: number;
}

const turnMs = 5;
/** What the start of any work costs, so that work without measurable time counts, too. */
const leastMs = 0.01;
/** Lines of accounts that wait for nothing are forgotten beyond this number. */
const mostIdleLines = 1000;

export class Turns {
  readonly #clock: Clock;
  readonly #loop: EventLoop;
  readonly #lines = new Map<string, Line>();
  readonly #linesThatWait = new Set<Line>();
  #virtualMs = 0;
  #spentMs = 0;
  #isEndAwaited = false;

  constructor(clock: Clock, loop: EventLoop) {
    this.#clock = clock;
    this.#loop = loop;
  }

  /** Runs `work` for `id`: now, when there is time left in this turn and nobody waits, or in its turn. */
  enter(id: string, work: () => void): void {
    const line = this.#lineOf(id);
    if (this.#linesThatWait.size === 0 && this.#spentMs < turnMs) return this.#work(line, work);
    line.waiting.push(work);
    this.#linesThatWait.add(line);
    this.#awaitEnd();
  }

  #endTurn(): void {
    this.#isEndAwaited = false;
    this.#spentMs = 0;
    while (this.#linesThatWait.size > 0 && this.#spentMs < turnMs) {
      const line = this.#nextLine();
      const work = line?.waiting[line.next];
      if (!line || !work) break;
      line.waiting[line.next] = undefined;
      line.next += 1;
      if (line.next === line.waiting.length) this.#linesThatWait.delete(line);
      // Halves are moved, so that each is moved once on average.
      if (2 * line.next >= line.waiting.length) {
        line.waiting = line.waiting.slice(line.next);
        line.next = 0;
      }
      this.#work(line, work);
    }
    if (this.#linesThatWait.size > 0) this.#awaitEnd();
    else if (this.#lines.size > mostIdleLines) this.#lines.clear();
  }

  #work(line: Line, work: () => void): void {
    const startedMs = this.#clock.monotonicMs();
    this.#virtualMs = line.virtualMs;
    try {
      work();
    } finally {
      const spentMs = this.#clock.monotonicMs() - startedMs;
      line.virtualMs += Math.max(spentMs, leastMs);
      this.#spentMs += spentMs;
      if (spentMs > 0) this.#awaitEnd();
    }
  }

  #lineOf(id: string): Line {
    let line = this.#lines.get(id);
    if (!line) this.#lines.set(id, (line = { virtualMs: 0, waiting: [], next: 0 }));
    if (line.waiting.length === 0) line.virtualMs = Math.max(line.virtualMs, this.#virtualMs);
    return line;
  }

  #nextLine(): Line | undefined {
    let next: Line | undefined;
    for (const line of this.#linesThatWait) {
      if (!next || line.virtualMs < next.virtualMs) next = line;
    }
    return next;
  }

  #awaitEnd(): void {
    if (this.#isEndAwaited) return;
    this.#isEndAwaited = true;
    this.#loop.endOfTurn(() => this.#endTurn());
  }
}
