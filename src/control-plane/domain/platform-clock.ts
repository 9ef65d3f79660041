/**
 * The platform's time, on which lifecycle, idle sleep and charging are measured. It runs `timeScale` times as fast as
 * the real clock and never decreases, also not across a restart: it resumes at the latest moment in the database, or
 * at the real wall clock if that is later. So the time that the server was down counts (up to `longestCatchUpMs`, in
 * case the wall clock is wrong), and everything that fell due in it happens at the start.
 */
import { scaledClock, type Clock, type Timer } from '../../base/clock.ts';
import { invariant } from '../../base/invariant.ts';
import { longestCatchUpMs } from './config.ts';

export interface PlatformClock {
  /** Whole milliseconds. */
  nowMs(): number;
  after(delayMs: number, run: () => void): Timer;
  /** How much platform time passes in `realMs` of real time. */
  during(realMs: number): number;
}

/** A clock may tell fractions of a millisecond; stamps that are stored and answered are whole. */
export function wholeMilliseconds(clock: Clock): Clock {
  return {
    wallMs: () => Math.floor(clock.wallMs()),
    monotonicMs: () => clock.monotonicMs(),
    after: (delayMs, run) => clock.after(delayMs, run),
  };
}

export function platformClock(clock: Clock, timeScale: number, latestMs: number | undefined): PlatformClock {
  invariant(timeScale > 0, 'a time scale must be above 0');
  const scaled = scaledClock(clock, timeScale);
  const wallMs = clock.wallMs();
  const resumeMs =
    latestMs === undefined ? wallMs : Math.min(Math.max(wallMs, latestMs), latestMs + longestCatchUpMs);
  const startedMs = scaled.monotonicMs();
  return {
    nowMs: () => Math.floor(resumeMs + scaled.monotonicMs() - startedMs),
    after: (delayMs, run) => scaled.after(delayMs, run),
    during: (realMs) => realMs * timeScale,
  };
}
