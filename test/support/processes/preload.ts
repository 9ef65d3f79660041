/** What is loaded into a process before its own code, to disturb it from within. */

/** The environment of a process that runs `code` (a module) first. */
export function preload(code: string): Record<string, string> {
  return { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(code)}` };
}

/** A wall clock that goes from one time to the next, each time that SIGUSR2 comes. */
export function jumpingClock(timesMs: readonly number[]): Record<string, string> {
  return preload(`
    const real = Date.now;
    const times = ${JSON.stringify(timesMs)};
    let aheadMs = 0;
    Date.now = () => real() + aheadMs;
    globalThis.Date = class extends Date {
      constructor(...given) {
        if (given.length > 0) super(...given);
        else super(Date.now());
      }
    };
    process.on('SIGUSR2', () => { aheadMs = times.shift() - real(); });
  `);
}

/** A wall clock that is wrong by so much from the start. */
export function wrongClock(aheadMs: number): Record<string, string> {
  return preload(`const real = Date.now; Date.now = () => real() + ${aheadMs};`);
}
