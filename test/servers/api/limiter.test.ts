import * as fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { Limiter, priorities, type Lane } from '../../../src/api/index.ts';
import { sleep } from '../../../src/base/index.ts';
import { createMetrics } from '../../../src/telemetry/index.ts';
import { ManualClock } from '../../support/manual-clock.ts';

interface Start {
  readonly lane: Lane;
  readonly atMs: number;
  readonly name: string;
}

const normal = { perSecond: 5, burst: 10, concurrency: 4 };
const metrics = createMetrics();

/** A limiter, and what was started through it when. Times are from the start of the test. */
class Traffic {
  readonly clock = new ManualClock(0);
  readonly limiter: Limiter;
  readonly starts: Start[] = [];
  mostAtOnce = 0;
  finished = 0;
  #running = 0;

  constructor(limits: typeof normal = normal) {
    this.limiter = new Limiter({ account: 'default', ...limits }, this.clock, metrics);
  }

  /** A task of `durationMs` that ends with `answer`. */
  send(
    name: string,
    options: { lane?: Lane; priority?: number; durationMs?: number; answer?: () => void } = {},
  ) {
    const { lane = 'ordinary', priority = priorities.read, durationMs = 0, answer } = options;
    return this.limiter.run(lane, priority, async () => {
      this.starts.push({ lane, atMs: this.clock.monotonicMs(), name });
      this.#running += lane === 'ordinary' ? 1 : 0;
      this.mostAtOnce = Math.max(this.mostAtOnce, this.#running);
      await sleep(this.clock, durationMs);
      this.#running -= lane === 'ordinary' ? 1 : 0;
      this.finished += 1;
      answer?.();
      return name;
    });
  }

  sendMany(count: number, prefix = 'task'): void {
    for (let index = 0; index < count; index += 1) void this.send(`${prefix} ${index}`);
  }

  startsOf(lane: Lane, fromMs = 0): number[] {
    return this.starts.filter((start) => start.lane === lane && start.atMs >= fromMs).map(({ atMs }) => atMs);
  }
}

/** In each window between two starts there are at most `burst + rate · window` of them. */
function expectWithin(startsMs: readonly number[], burst: number, perSecond: number): void {
  for (const [first, fromMs] of startsMs.entries()) {
    for (let last = first; last < startsMs.length; last += 1) {
      const windowMs = (startsMs[last] ?? 0) - fromMs;
      expect(last - first + 1).toBeLessThanOrEqual(burst + (perSecond * windowMs) / 1000 + 1e-3);
    }
  }
}

const limits = fc.record({
  perSecond: fc.integer({ min: 1, max: 20 }),
  burst: fc.integer({ min: 1, max: 12 }),
  concurrency: fc.integer({ min: 1, max: 4 }),
});
const arrival = fc.record({
  atMs: fc.nat(4000),
  durationMs: fc.nat(500),
  priority: fc.integer({ min: 0, max: 3 }),
  lane: fc.constantFrom<Lane>('ordinary', 'ordinary', 'ordinary', 'heartbeat'),
  retryAfterMs: fc.option(fc.integer({ min: 1000, max: 5000 }), { freq: 12 }),
});
const arrivals = fc.array(arrival, { maxLength: 30 });

describe('laws', () => {
  test('no window of time sees more starts than burst + rate · window, and no more run at once than allowed', async () => {
    await fc.assert(
      fc.asyncProperty(limits, arrivals, async (options, pattern) => {
        const traffic = new Traffic(options);
        for (const { atMs, ...task } of pattern) {
          traffic.clock.after(
            atMs,
            () => void traffic.send('', { ...task, answer: () => traffic.limiter.answered() }),
          );
        }
        await traffic.clock.advance(60_000);
        expectWithin(traffic.startsOf('ordinary'), options.burst, options.perSecond);
        expectWithin(
          traffic.starts.map(({ atMs }) => atMs),
          options.burst,
          options.perSecond,
        );
        expect(traffic.mostAtOnce).toBeLessThanOrEqual(options.concurrency);
      }),
      { numRuns: 60 },
    );
  });

  test('whatever is answered, everything that waits is started in the end', async () => {
    await fc.assert(
      fc.asyncProperty(limits, arrivals, async (options, pattern) => {
        const traffic = new Traffic(options);
        for (const { atMs, retryAfterMs, ...task } of pattern) {
          traffic.clock.after(atMs, () => {
            const startedAtMs = traffic.clock.monotonicMs();
            const answer = () =>
              retryAfterMs === null
                ? traffic.limiter.answered()
                : traffic.limiter.rateLimited(startedAtMs, retryAfterMs);
            void traffic.send('', { ...task, answer });
          });
        }
        await traffic.clock.advance(600_000);
        expect(traffic.finished).toBe(pattern.length);
      }),
      { numRuns: 60 },
    );
  });

  test('nothing ordinary starts before Retry-After has passed, whoever asked for it', async () => {
    await fc.assert(
      fc.asyncProperty(limits, arrivals, async (options, pattern) => {
        const traffic = new Traffic(options);
        const shut: { fromMs: number; untilMs: number }[] = [];
        for (const { atMs, retryAfterMs, ...task } of pattern) {
          const answer = () => {
            if (retryAfterMs === null) return;
            const nowMs = traffic.clock.monotonicMs();
            shut.push({ fromMs: nowMs, untilMs: nowMs + retryAfterMs });
            traffic.limiter.rateLimited(nowMs, retryAfterMs);
          };
          traffic.clock.after(atMs, () => void traffic.send('', { ...task, answer }));
        }
        await traffic.clock.advance(60_000);
        for (const { fromMs, untilMs } of shut) {
          expect(traffic.startsOf('ordinary').filter((atMs) => atMs > fromMs && atMs < untilMs)).toEqual([]);
        }
      }),
      { numRuns: 60 },
    );
  });
});

describe('the door', () => {
  let traffic: Traffic;
  beforeEach(() => {
    traffic = new Traffic();
  });

  test('lets a burst in at once, less what is kept for heartbeats, and then goes on at the rate', async () => {
    traffic.sendMany(13);
    await traffic.clock.advance(0);
    expect(traffic.starts).toHaveLength(8);
    await traffic.clock.advance(999);
    expect(traffic.starts).toHaveLength(12);
    await traffic.clock.advance(1);
    expect(traffic.starts).toHaveLength(13);
  });

  // COVERAGE 18, 78
  test('lets a heartbeat in at once although a roll-out has taken all that it may', async () => {
    traffic.sendMany(50);
    await traffic.clock.advance(0);
    void traffic.send('beat', { lane: 'heartbeat' });
    await traffic.clock.advance(0);
    expect(traffic.startsOf('heartbeat')).toEqual([0]);
  });

  test('lets a heartbeat in although every ordinary connection is taken', async () => {
    for (const name of ['a', 'b', 'c', 'd', 'e']) void traffic.send(name, { durationMs: 10_000 });
    void traffic.send('beat', { lane: 'heartbeat' });
    await traffic.clock.advance(0);
    expect(traffic.starts.map(({ name }) => name)).toEqual(['a', 'b', 'c', 'd', 'beat']);
  });

  test('lets in by priority, and within one by order of arrival', async () => {
    traffic = new Traffic({ ...normal, concurrency: 1 });
    void traffic.send('running', { durationMs: 100 });
    void traffic.send('background', { priority: priorities.background });
    void traffic.send('mutation 1', { priority: priorities.mutation });
    void traffic.send('mutation 2', { priority: priorities.mutation });
    void traffic.send('account read', { priority: priorities.accountRead });
    await traffic.clock.advance(10_000);
    expect(traffic.starts.map(({ name }) => name)).toEqual([
      'running',
      'account read',
      'mutation 1',
      'mutation 2',
      'background',
    ]);
  });

  test('gives back what the task gives, also when it throws', async () => {
    const value = traffic.send('value');
    const failure = traffic.limiter.run('ordinary', 0, () => Promise.reject(new Error('no')));
    const settled = Promise.allSettled([value, failure]);
    await traffic.clock.advance(0);
    expect(await settled).toMatchObject([
      { status: 'fulfilled', value: 'value' },
      { status: 'rejected', reason: { message: 'no' } },
    ]);
  });

  test('forgets a task that was given up while it waited', async () => {
    traffic = new Traffic({ ...normal, concurrency: 1 });
    void traffic.send('running', { durationMs: 100 });
    const giveUp = new AbortController();
    const waiting = traffic.limiter.run(
      'ordinary',
      0,
      () => Promise.reject(new Error('started')),
      giveUp.signal,
    );
    giveUp.abort();
    await expect(waiting).rejects.toThrow('aborted');
    await traffic.clock.advance(10_000);
    expect(traffic.starts).toHaveLength(1);
  });

  test('tells what became of a task that was given up after it had begun', async () => {
    traffic = new Traffic(normal);
    const giveUp = new AbortController();
    const running = traffic.limiter.run(
      'ordinary',
      0,
      async () => {
        await sleep(traffic.clock, 100);
        return 'sent';
      },
      giveUp.signal,
    );
    giveUp.abort();
    await traffic.clock.advance(100);
    expect(await running).toBe('sent');
  });

  test('closed, turns away who waits and who comes, and lets finish who is inside', async () => {
    traffic = new Traffic({ ...normal, concurrency: 1 });
    const inside = traffic.send('inside', { durationMs: 100 });
    const waiting = traffic.send('waiting');
    traffic.limiter.close();
    await expect(waiting).rejects.toThrow('cleared');
    await expect(traffic.send('late')).rejects.toThrow('closed');
    await expect(traffic.send('beat', { lane: 'heartbeat' })).rejects.toThrow('closed');
    await traffic.clock.advance(60_000);
    expect(await inside).toBe('inside');
    expect(traffic.starts).toHaveLength(1);
  });

  test('stays closed, whatever the last answers are', async () => {
    const last = traffic.send('last', {
      durationMs: 100,
      answer: () => traffic.limiter.rateLimited(0, 1000),
    });
    traffic.limiter.close();
    await traffic.clock.advance(100_000);
    await last;
    await expect(traffic.send('late')).rejects.toThrow('closed');
  });
});

// COVERAGE 78, 96
describe('after a 429', () => {
  let traffic: Traffic;
  beforeEach(async () => {
    traffic = new Traffic();
    await traffic.clock.advance(1000);
    traffic.limiter.rateLimited(0, 20_000);
  });

  test('heartbeats start, and nothing else', async () => {
    traffic.sendMany(3);
    for (const name of ['beat 1', 'beat 2']) void traffic.send(name, { lane: 'heartbeat' });
    expect(traffic.limiter.shutForMs).toBe(20_000);
    await traffic.clock.advance(19_999);
    expect(traffic.starts).toEqual([
      { lane: 'heartbeat', atMs: 1000, name: 'beat 1' },
      { lane: 'heartbeat', atMs: 1000, name: 'beat 2' },
    ]);
    await traffic.clock.advance(10_000);
    expect(traffic.startsOf('ordinary')).toHaveLength(3);
  });

  test('what has waited starts at the rate, not as a burst', async () => {
    traffic.sendMany(30);
    await traffic.clock.advance(60_000);
    const startsMs = traffic.startsOf('ordinary');
    expect(startsMs).toHaveLength(30);
    expect(startsMs[0]).toBeGreaterThanOrEqual(21_000);
    // One at a time; the hundredth is what comes in while a timer rounds up to a whole millisecond.
    expectWithin(startsMs, 1.01, traffic.limiter.rate);
  });

  test('with a burst of one, a heartbeat still gets through while the door is shut', async () => {
    traffic = new Traffic({ perSecond: 1, burst: 1, concurrency: 1 });
    void traffic.send('limited', { answer: () => traffic.limiter.rateLimited(0, 60_000) });
    await traffic.clock.advance(1000);
    void traffic.send('beat', { lane: 'heartbeat' });
    await traffic.clock.advance(10_000);
    expect(traffic.startsOf('heartbeat')).toHaveLength(1);
  });

  test('without Retry-After the door is shut for a second', () => {
    traffic = new Traffic();
    traffic.limiter.rateLimited(0, undefined);
    expect(traffic.limiter.shutForMs).toBe(1000);
  });

  test('a shorter Retry-After does not open the door earlier', () => {
    traffic.limiter.rateLimited(0, 1000);
    expect(traffic.limiter.shutForMs).toBe(20_000);
  });
});

// COVERAGE 110
describe('the rate', () => {
  test('falls once for all requests that were under way together, and again for a later one', async () => {
    const { clock, limiter } = new Traffic();
    await clock.advance(1000);
    for (const startedAtMs of [900, 950, 1000]) limiter.rateLimited(startedAtMs, 1000);
    expect(limiter.rate).toBeCloseTo(3.5);
    await clock.advance(5000);
    limiter.rateLimited(5500, 1000);
    expect(limiter.rate).toBeCloseTo(2.45);
  });

  test('comes back with answers up to what is configured, and not beyond', async () => {
    const { clock, limiter } = new Traffic();
    await clock.advance(1000);
    limiter.rateLimited(500, 1000);
    const rates = [limiter.rate];
    for (let count = 0; count < 100; count += 1) {
      limiter.answered();
      rates.push(limiter.rate);
    }
    expect(rates).toEqual([...rates].sort((left, right) => left - right));
    expect(rates[1]).toBeLessThan(4);
    expect(limiter.rate).toBe(5);
  });

  test('of an idle account saves up no more than a burst', async () => {
    const traffic = new Traffic();
    await traffic.clock.advance(3_600_000);
    traffic.sendMany(50);
    await traffic.clock.advance(0);
    expect(traffic.starts).toHaveLength(8);
  });

  test('never falls to nothing', async () => {
    const traffic = new Traffic();
    for (let count = 0; count < 100; count += 1) {
      await traffic.clock.advance(10);
      traffic.limiter.rateLimited(traffic.clock.monotonicMs(), 1000);
    }
    void traffic.send('patient');
    await traffic.clock.advance(60_000);
    expect(traffic.finished).toBe(1);
  });
});
