/**
 * Time as a parameter. Intervals are measured on the monotonic clock; the wall clock is for display and
 * for stamps that must survive a restart, never for deciding how long something took.
 */
export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Milliseconds since the Unix epoch; may jump. */
  wallMs(): number;
  /** Milliseconds since an arbitrary origin; never decreases. */
  monotonicMs(): number;
  /** Calls `run` once, `delayMs` from now (at least 0). A pending timer does not keep the process alive. */
  after(delayMs: number, run: () => void): Timer;
}

/** Node fires a timer beyond 2^31-1 ms after 1 ms; such a delay is cut to this. */
export const longestDelayMs = 2_147_483_647;

export const systemClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  after(delayMs, run) {
    const handle = setTimeout(run, Math.min(Math.max(0, delayMs), longestDelayMs));
    handle.unref();
    return { cancel: () => clearTimeout(handle) };
  },
};

/**
 * Resolves after `delayMs`, or at once when `signal` is aborted. It never rejects: the caller checks the signal,
 * because being stopped is not an error.
 */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = () => {
      timer.cancel();
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = clock.after(delayMs, done);
    signal?.addEventListener('abort', done, { once: true });
  });
}

/** A clock on which time passes `factor` times faster than on `clock`, from the moment it is made. */
export function scaledClock(clock: Clock, factor: number): Clock {
  const wallOrigin = clock.wallMs();
  const monotonicOrigin = clock.monotonicMs();
  const passedMs = () => (clock.monotonicMs() - monotonicOrigin) * factor;
  return {
    wallMs: () => Math.round(wallOrigin + passedMs()),
    monotonicMs: () => monotonicOrigin + passedMs(),
    after: (delayMs, run) => clock.after(delayMs / factor, run),
  };
}

/** RFC 3339 in UTC to the second, as the Kubernetes API writes its times. */
export function rfc3339(wallMs: number): string {
  // Without the milliseconds.
  return `${new Date(wallMs).toISOString().slice(0, -'.000Z'.length)}Z`;
}

const timePattern = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/;

/** Unix milliseconds of an RFC 3339 time; undefined for anything else, and for a day that its month does not have. */
export function parseRfc3339(text: string): number | undefined {
  const wallMs = timePattern.test(text) ? Date.parse(text) : Number.NaN;
  // The parser takes the 30th of February for a day of March.
  return Number.isFinite(wallMs) && isDay(text.slice(0, 10)) ? wallMs : undefined;
}

function isDay(date: string): boolean {
  const wallMs = Date.parse(`${date}T00:00:00Z`);
  return Number.isFinite(wallMs) && new Date(wallMs).toISOString().startsWith(date);
}

/** Between two times of the wall clock, in milliseconds. A clock that was put back shows nothing: then enough time has passed. */
export function elapsedMs(atMs: number, nowMs: number): number {
  return nowMs >= atMs ? nowMs - atMs : Number.POSITIVE_INFINITY;
}
