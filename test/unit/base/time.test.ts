import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  backoffMs,
  longestDelayMs,
  rfc3339,
  scaledClock,
  sleep,
  systemClock,
} from '../../../src/base/index.ts';
import { ManualClock, settle } from '../../support/manual-clock.ts';

describe('backoff', () => {
  const bounds = fc
    .tuple(fc.integer({ min: 1, max: 10_000 }), fc.integer({ min: 1, max: 600_000 }))
    .map(([firstMs, longestMs]) => ({ firstMs, longestMs: Math.max(firstMs, longestMs) }));
  const fraction = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  const random = (value: number) => ({ fraction: () => value, uuid: () => '', bytes: () => Buffer.alloc(0) });

  test('law: each delay lies between half of its ceiling and the ceiling, and never beyond the longest', () => {
    fc.assert(
      fc.property(fc.nat(5000), bounds, fraction, (failures, limits, value) => {
        const ceilingMs = Math.min(limits.firstMs * 2 ** failures, limits.longestMs);
        const delayMs = backoffMs(failures, limits, random(value));
        expect(delayMs).toBeGreaterThanOrEqual(ceilingMs / 2);
        expect(delayMs).toBeLessThanOrEqual(ceilingMs);
      }),
    );
  });

  test('law: one more failure never makes it shorter', () => {
    fc.assert(
      fc.property(fc.nat(5000), bounds, fraction, (failures, limits, value) => {
        const after = backoffMs(failures + 1, limits, random(value));
        expect(after).toBeGreaterThanOrEqual(backoffMs(failures, limits, random(value)));
      }),
    );
  });
});

describe('sleep', () => {
  test('ends when its time has come, and not before', async () => {
    const clock = new ManualClock();
    let awake = false;
    void sleep(clock, 1000).then(() => (awake = true));
    await clock.advance(999);
    expect(awake).toBe(false);
    await clock.advance(1);
    expect(awake).toBe(true);
  });

  test('ends at once, and without an error, when it is aborted', async () => {
    const stop = new AbortController();
    const sleeping = sleep(new ManualClock(), 1000, stop.signal);
    stop.abort();
    const aborted = sleep(new ManualClock(), 1000, stop.signal);
    expect(await Promise.all([sleeping, aborted])).toEqual([undefined, undefined]);
  });

  test('leaves nothing behind: an abort after its end is no event', async () => {
    const clock = new ManualClock();
    const stop = new AbortController();
    let wakes = 0;
    void sleep(clock, 10, stop.signal).then(() => (wakes += 1));
    await clock.advance(10);
    stop.abort();
    await settle();
    expect(wakes).toBe(1);
  });
});

describe('a scaled clock', () => {
  test('law: time passes so many times faster from the moment it is made', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 1000 }), fc.nat(100_000), async (factor, elapsedMs) => {
        const clock = new ManualClock(5000);
        const scaled = scaledClock(clock, factor);
        await clock.advance(elapsedMs);
        expect(scaled.wallMs()).toBe(5000 + elapsedMs * factor);
        expect(scaled.monotonicMs()).toBe(5000 + elapsedMs * factor);
      }),
    );
  });

  test('runs what is due in its own time, unless cancelled', async () => {
    const clock = new ManualClock();
    const scaled = scaledClock(clock, 60);
    const ran: string[] = [];
    scaled.after(60_000, () => ran.push('minute'));
    scaled.after(30_000, () => ran.push('cancelled')).cancel();
    await clock.advance(999);
    expect(ran).toEqual([]);
    await clock.advance(1);
    expect(ran).toEqual(['minute']);
  });
});

describe('the system clock', () => {
  test('runs what is due now, and not what is due in a year', async () => {
    const ran: string[] = [];
    const nextYear = systemClock.after(longestDelayMs * 12, () => ran.push('next year'));
    const anchor = setInterval(() => undefined, 1000);
    await new Promise<void>((resolve) => {
      systemClock.after(-5, () => ran.push('now'));
      systemClock.after(5, resolve);
    });
    clearInterval(anchor);
    nextYear.cancel();
    expect(ran).toEqual(['now']);
  });

  test('is monotonic beside the time of day', () => {
    const [first, second] = [systemClock.monotonicMs(), systemClock.monotonicMs()];
    expect(second).toBeGreaterThanOrEqual(first);
    expect(systemClock.wallMs()).toBeGreaterThan(Date.UTC(2026, 0, 1));
  });
});

test('times are written as the Kubernetes API writes them', () => {
  expect(rfc3339(Date.UTC(2028, 1, 29, 23, 59, 59, 999))).toBe('2028-02-29T23:59:59Z');
});
