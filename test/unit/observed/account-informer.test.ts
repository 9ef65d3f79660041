import * as fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { ControlApi, Limiter, type HttpReply, type Transport } from '../../../src/api/index.ts';
import { Sensitive, sleep, systemRandom } from '../../../src/base/index.ts';
import {
  AccountInformer,
  type ReadFailure,
  type ReadProblem,
  type SnapshotChange,
} from '../../../src/observed/index.ts';
import { createLogger, createMetrics } from '../../../src/telemetry/index.ts';
import { clientOf } from '../../servers/api/support.ts';
import { key, startWorld, trainer } from '../../servers/control-plane/support.ts';
import { ManualClock, settle } from '../../support/manual-clock.ts';

const pollMs = 15_000;
const logger = createLogger('silent');
const metrics = createMetrics();

interface Item {
  readonly id: string;
  readonly [field: string]: unknown;
}

function id(number: number): string {
  return `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
}

function ok(
  services: readonly Item[] = [],
  volumes: readonly Item[] = [],
  balanceMicros: unknown = 5,
): HttpReply {
  const account = { balanceMicros, currency: 'USD', services, volumes, ledger: [] };
  return { kind: 'reply', status: 200, retryAfter: undefined, body: JSON.stringify(account) };
}

function refusal(status: number): HttpReply {
  const body = JSON.stringify({ error: { code: 'no', message: 'no' } });
  return { kind: 'reply', status, retryAfter: undefined, body };
}

/** Whose account it is: ours, until a `stranger` is put in. */
class ScriptedIdentity {
  current = true;
  checks = 0;
  foreign: ReadProblem | undefined;

  recheck(): void {
    this.current = false;
  }

  async check(): Promise<ReadProblem | undefined> {
    this.checks += 1;
    this.current = this.foreign === undefined;
    return this.foreign;
  }
}

const foreign: ReadProblem = {
  reason: 'IdentityChanged',
  outcome: { kind: 'not-sent', reason: 'somebody else' },
  message: 'somebody else',
};

/** An account whose answers are scripted, read by an informer whose time moves only when told to. */
class Reading {
  readonly clock = new ManualClock(0);
  readonly changes: SnapshotChange[] = [];
  readonly failures: ReadFailure[] = [];
  /** When each read was sent. */
  readonly readsMs: number[] = [];
  /** The answer to the next reads; they take `answerMs`. */
  answer = ok();
  answerMs = 0;
  heartbeatsWait = false;
  hasOpenWork = false;
  /** Templates are read beside the account, and take so long. */
  templatesMs: number | undefined;
  aborted = 0;
  readonly identity = new ScriptedIdentity();
  readonly api: ControlApi;
  readonly informer: AccountInformer;

  constructor(fraction = 0.5, pace = { perSecond: 1000, burst: 1000 }, quietPollMs = pollMs) {
    const transport: Transport = {
      exchange: async ({ url }, signal) => {
        if (url.endsWith('/api/templates')) {
          await sleep(this.clock, this.templatesMs ?? 0, signal);
          return { kind: 'reply', status: 200, retryAfter: undefined, body: '[]' };
        }
        this.readsMs.push(this.clock.monotonicMs());
        const { answer } = this;
        await sleep(this.clock, this.answerMs, signal);
        if (signal?.aborted) this.aborted += 1;
        return answer;
      },
      close: () => Promise.resolve(),
    };
    const limits = { account: 'default', ...pace, concurrency: 4 };
    this.api = new ControlApi({
      baseUrl: 'https://api.example.com',
      credential: () => new Sensitive('key'),
      transport,
      limiter: new Limiter(limits, this.clock, metrics),
      clock: this.clock,
      metrics,
    });
    this.informer = new AccountInformer({
      api: this.api,
      identity: this.identity,
      clock: this.clock,
      random: { ...systemRandom, fraction: () => fraction },
      logger,
      pollMs,
      quietPollMs,
      hasOpenWork: () => this.hasOpenWork,
      lists: () => ({ templates: this.templatesMs !== undefined, registries: false }),
      heartbeatsWait: () => this.heartbeatsWait,
      onSnapshot: (change) => this.changes.push(change),
      onFailure: (failure) => this.failures.push(failure),
    });
  }

  /** Starts, and lets the first read end. */
  async begin(): Promise<this> {
    this.informer.start();
    await this.clock.advance(this.answerMs);
    return this;
  }

  /** Milliseconds between one read and the next. */
  gaps(): number[] {
    return this.readsMs.slice(1).map((atMs, index) => atMs - (this.readsMs[index] ?? 0));
  }

  changed(): string[][] {
    return this.changes.map(({ changedIds }) => [...changedIds].sort());
  }
}

let reading: Reading;
beforeEach(async () => {
  reading = await new Reading().begin();
});

describe('a balance that is answered while a list beside it is still awaited', () => {
  const answered = async (balanceMicros: unknown) => {
    reading.templatesMs = 8000;
    reading.answer = ok([], [], balanceMicros);
    await reading.clock.advance(pollMs + 1);
    expect(reading.changes).toHaveLength(1);
  };

  test('counts at once when it is less', async () => {
    await answered(3);
    expect(reading.informer.balanceMicros).toBe(3);
    await reading.clock.advance(8000);
    expect(reading.changes).toHaveLength(2);
    expect(reading.informer.balanceMicros).toBe(3);
  });

  test('counts with its snapshot when it is more: only then it is known whose it is', async () => {
    await answered(9);
    expect(reading.informer.balanceMicros).toBe(5);
    await reading.clock.advance(8000);
    expect(reading.informer.balanceMicros).toBe(9);
  });

  test('makes the balance unknown when it can not be read', async () => {
    await answered('plenty');
    expect(reading.informer.balanceMicros).toBeUndefined();
  });

  test('does not count when the key turns out to be of another account', async () => {
    reading.answer = ok([{ id: id(1) }]);
    await reading.clock.advance(pollMs);
    reading.identity.foreign = foreign;
    reading.answer = ok([], [], 3);
    await reading.clock.advance(pollMs + 1);
    expect(reading.failures).toHaveLength(1);
    expect(reading.informer.balanceMicros).toBe(5);
  });
});

describe('an account in which nothing happens for ten minutes', () => {
  const quietAfterMs = 600_000;
  const minuteMs = 60_000;
  const longestMs = 60_000;
  beforeEach(async () => {
    reading = await new Reading(0.5, { perSecond: 1000, burst: 1000 }, longestMs).begin();
  });
  const gapsAfter = async (ms: number) => {
    reading.readsMs.splice(0, reading.readsMs.length - 1);
    await reading.clock.advance(ms);
    return reading.gaps();
  };
  const usual = (count: number) => Array.from({ length: count }, () => pollMs);

  test('is read at its usual pace until then, and then ever more seldom', async () => {
    expect(await gapsAfter(quietAfterMs)).toEqual(usual(40));
    expect(await gapsAfter(4 * minuteMs)).toEqual([30_000, longestMs, longestMs, longestMs]);
  });

  test('is read at its usual pace again from the first change on, for ten minutes', async () => {
    await reading.clock.advance(quietAfterMs + 5 * minuteMs);
    const before = reading.readsMs.length;
    reading.answer = ok([{ id: id(1), state: 'running' }]);
    await reading.clock.advance(2 * quietAfterMs);
    const gaps = reading.gaps().slice(before);
    expect(gaps.slice(0, 42)).toEqual([...usual(40), 30_000, longestMs]);
  });

  test('does not count as busy because its balance moves', async () => {
    for (let minute = 0; minute < 12; minute += 1) {
      reading.answer = ok([], [], 1000 - minute);
      await reading.clock.advance(minuteMs);
    }
    expect(await gapsAfter(2 * minuteMs)).toEqual([longestMs, longestMs]);
  });

  test('is read at its usual pace again after a read that fails', async () => {
    await reading.clock.advance(quietAfterMs + 5 * minuteMs);
    reading.answer = refusal(503);
    await reading.clock.advance(longestMs);
    reading.answer = ok();
    await reading.clock.advance(minuteMs);
    expect(await gapsAfter(5 * minuteMs)).toEqual(usual(20));
  });

  test('is read at its usual pace as long as something is under way, and for ten minutes more', async () => {
    reading.hasOpenWork = true;
    await reading.clock.advance(3 * quietAfterMs);
    reading.hasOpenWork = false;
    const gaps = await gapsAfter(2 * quietAfterMs);
    const first = gaps.findIndex((gap) => gap > pollMs);
    expect(gaps.slice(0, first)).toEqual(usual(first));
    expect(first * pollMs).toBeLessThanOrEqual(quietAfterMs);
    expect(gaps.at(-1)).toBe(longestMs);
  });

  test('is read within a usual poll of the read before when work begins', async () => {
    await reading.clock.advance(quietAfterMs + 5 * minuteMs);
    await reading.clock.advance(20_000);
    const reads = reading.readsMs.length;
    reading.informer.attend();
    await reading.clock.advance(0);
    // The usual poll is over already.
    expect(reading.readsMs).toHaveLength(reads + 1);
    expect(await gapsAfter(minuteMs)).toEqual(usual(4));
  });

  test('is read within a second when somebody asks, and at its usual pace after that', async () => {
    await reading.clock.advance(quietAfterMs + 5 * minuteMs);
    const reads = reading.readsMs.length;
    reading.informer.want();
    await reading.clock.advance(1000);
    expect(reading.readsMs).toHaveLength(reads + 1);
    expect(await gapsAfter(minuteMs)).toEqual(usual(4));
  });

  test('law: at any time, the next read is no further away than the longest interval', async () => {
    const event = fc.oneof(
      fc.constant('want' as const),
      fc.constant('attend' as const),
      fc.constant('change' as const),
      fc.constant('work' as const),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ event, afterMs: fc.integer({ min: 1, max: 900_000 }) }), { maxLength: 12 }),
        async (events) => {
          const each = await new Reading(0.5, { perSecond: 1000, burst: 1000 }, longestMs).begin();
          for (const { event: what, afterMs } of events) {
            await each.clock.advance(afterMs);
            if (what === 'want') each.informer.want();
            if (what === 'attend') each.informer.attend();
            if (what === 'work') each.hasOpenWork = !each.hasOpenWork;
            if (what === 'change') each.answer = ok([{ id: id(afterMs), state: 'running' }]);
          }
          await each.clock.advance(longestMs);
          expect(Math.max(0, ...each.gaps())).toBeLessThanOrEqual(longestMs);
          expect(each.clock.monotonicMs() - (each.readsMs.at(-1) ?? 0)).toBeLessThanOrEqual(longestMs);
          await each.informer.stop();
        },
      ),
      { numRuns: 30 },
    );
  });
});

describe('an account that nobody asks for', () => {
  test('is read once at the start, and then once in each poll', async () => {
    expect(reading.readsMs).toEqual([0]);
    await reading.clock.advance(10 * pollMs);
    expect(reading.readsMs).toEqual(Array.from({ length: 11 }, (_, index) => index * pollMs));
  });

  test('is read at the same times although the answers take a while', async () => {
    reading = new Reading();
    reading.answerMs = 4000;
    await reading.begin();
    await reading.clock.advance(3 * pollMs);
    expect(reading.readsMs).toEqual([0, pollMs, 2 * pollMs, 3 * pollMs]);
  });

  test('is never read twice at once, however slow it is', async () => {
    reading = new Reading();
    reading.answerMs = 2 * pollMs;
    await reading.begin();
    await reading.clock.advance(10 * pollMs);
    for (const gapMs of reading.gaps()) expect(gapMs).toBeGreaterThanOrEqual(2 * pollMs);
    expect(reading.changes.length).toBeGreaterThanOrEqual(5);
  });
});

describe('an account that somebody waits for', () => {
  test('is read within a second', async () => {
    await reading.clock.advance(400);
    reading.informer.want();
    await reading.clock.advance(599);
    expect(reading.readsMs).toEqual([0]);
    await reading.clock.advance(1);
    expect(reading.readsMs).toEqual([0, 1000]);
    await reading.clock.advance(5000);
    reading.informer.want();
    await reading.clock.advance(0);
    expect(reading.readsMs).toEqual([0, 1000, 6000]);
  });

  test('is read a second time at once, and only a second time, for what may be created', async () => {
    await reading.clock.advance(100);
    reading.informer.wantSecond();
    await reading.clock.advance(0);
    expect(reading.readsMs).toEqual([0, 100]);
    reading.informer.wantSecond();
    await reading.clock.advance(5000);
    expect(reading.readsMs).toEqual([0, 100]);
  });

  // COVERAGE 113
  test('is read each five seconds while requests wait for their turn, and each second again when none does', async () => {
    reading = await new Reading(0.5, { perSecond: 1, burst: 1 }).begin();
    let answered = 0;
    for (let count = 0; count < 12; count += 1) void reading.api.registries().then(() => (answered += 1));
    const ask = async () => {
      reading.informer.want('mutation');
      await reading.clock.advance(100);
    };
    const areAnswered = () => answered === 12;
    while (!areAnswered()) await ask();
    const crowded = reading.changes.length;
    expect(crowded).toBeLessThanOrEqual(4);
    for (let count = 0; count < 100; count += 1) await ask();
    expect(reading.changes.length - crowded).toBeGreaterThanOrEqual(8);
  });

  // COVERAGE 3
  test('is read once for many', async () => {
    for (let count = 0; count < 100; count += 1) {
      reading.informer.want();
      await reading.clock.advance(5);
    }
    await reading.clock.advance(5000);
    expect(reading.readsMs).toEqual([0, 1000]);
  });

  test('goes back to the normal poll afterwards', async () => {
    reading.informer.want();
    await reading.clock.advance(1000);
    await reading.clock.advance(2 * pollMs);
    expect(reading.readsMs).toEqual([0, 1000, 1000 + pollMs, 1000 + 2 * pollMs]);
  });

  test('is read again when the read that was under way had begun before', async () => {
    reading.answerMs = 3000;
    await reading.clock.advance(pollMs + 1000);
    expect(reading.readsMs).toEqual([0, pollMs]);
    reading.informer.want();
    await reading.clock.advance(2000);
    expect(reading.readsMs).toEqual([0, pollMs, pollMs + 3000]);
  });

  // COVERAGE 113
  test('is read ever more seldom while nothing changes, until something is sent', async () => {
    for (let elapsedMs = 0; elapsedMs < 120_000; elapsedMs += 100) {
      reading.informer.want();
      await reading.clock.advance(100);
    }
    const gaps = reading.gaps();
    expect(gaps.slice(0, 9)).toEqual(Array.from({ length: 9 }, () => 1000));
    expect(gaps.at(-1)).toBe(pollMs);
    const before = reading.readsMs.length;
    reading.informer.want('mutation');
    await reading.clock.advance(1000);
    expect(reading.readsMs.length).toBe(before + 1);
  });

  test('law: whoever asks after a mutation has a read that began afterwards within a second of the end of the one before', async () => {
    const asks = fc.array(fc.nat(4000), { minLength: 1, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(asks, fc.nat(3000), async (waitsMs, answerMs) => {
        reading = new Reading();
        reading.answerMs = answerMs;
        reading.informer.start();
        const askedMs: number[] = [];
        for (const waitMs of waitsMs) {
          await reading.clock.advance(waitMs);
          reading.informer.want('mutation');
          askedMs.push(reading.clock.monotonicMs());
        }
        await reading.clock.advance(10_000);
        for (const atMs of askedMs) {
          const served = reading.readsMs.find((readMs) => readMs >= atMs) ?? Number.POSITIVE_INFINITY;
          expect(served - atMs).toBeLessThanOrEqual(Math.max(1000, answerMs));
        }
        for (const gapMs of reading.gaps()) expect(gapMs).toBeGreaterThanOrEqual(Math.max(1000, answerMs));
        await reading.informer.stop();
      }),
      { numRuns: 40 },
    );
  });
});

describe('a failed read', () => {
  // COVERAGE 54, 114
  test('leaves the old snapshot as it was, and says that it is old', async () => {
    const before = reading.informer.current;
    expect(before).toBeDefined();
    reading.answer = { kind: 'unknown', reason: 'reset' };
    await reading.clock.advance(pollMs);
    expect(reading.informer.current).toBe(before);
    expect(reading.informer.failure).toMatchObject({
      outcome: { kind: 'unknown' },
      message: 'outcome unknown: reset',
      sinceMs: pollMs,
    });
    await reading.clock.advance(60_000);
    expect(reading.failures.length).toBeGreaterThan(2);
    expect(reading.informer.failure?.sinceMs).toBe(pollMs);
    expect(reading.changes).toHaveLength(1);
  });

  test.each<[string, HttpReply]>([
    ['HTML with 200', { ...ok(), body: '<html>' } as HttpReply],
    ['a list that is cut', { ...ok(), body: '{"services": []}' } as HttpReply],
    ['no connection', { kind: 'not-sent', reason: 'refused' }],
    ['500', refusal(500)],
    ['503', refusal(503)],
  ])('with %s concludes nothing', async (_what, answer) => {
    reading.answer = ok([{ id: id(1) }]);
    await reading.clock.advance(pollMs);
    reading.answer = answer;
    await reading.clock.advance(pollMs);
    expect([...(reading.informer.current?.services.keys() ?? [])]).toEqual([id(1)]);
    expect(reading.informer.failure).toBeDefined();
  });

  test.each([
    [0, 0.5],
    [0.999_999, 1],
  ])(
    'is repeated after half a second, then ever later, up to a minute (jitter %d)',
    async (fraction, share) => {
      reading = new Reading(fraction);
      reading.answer = refusal(503);
      await reading.begin();
      await reading.clock.advance(600_000);
      const ceilings = reading.gaps().map((_gap, index) => Math.min(500 * 2 ** index, 60_000) * share);
      expect(ceilings.length).toBeGreaterThan(10);
      for (const [index, gapMs] of reading.gaps().entries())
        expect(gapMs).toBeCloseTo(ceilings[index] ?? 0, 0);
    },
  );

  test.each([401, 403])('for the credential (%i) backs off up to five minutes', async (status) => {
    reading = new Reading(0.999_999);
    reading.answer = refusal(status);
    await reading.begin();
    await reading.clock.advance(3_600_000);
    const [first = 0, ...more] = reading.gaps();
    expect(first).toBeCloseTo(5000, 0);
    expect(Math.max(...more)).toBeCloseTo(300_000, -1);
    expect(more.length).toBeLessThan(20);
  });

  test('because it is not known whose key it is, is repeated each 30 s at least while heartbeats wait for that', async () => {
    reading = new Reading(0.999_999);
    reading.heartbeatsWait = true;
    reading.identity.foreign = foreign;
    reading.identity.recheck();
    await reading.begin();
    await reading.clock.advance(600_000);
    expect(reading.identity.checks).toBeGreaterThan(20);
    expect(reading.identity.checks).toBeLessThan(30);
  });

  test('is repeated no sooner for heartbeats that need not wait for it', async () => {
    reading = new Reading(0.999_999);
    reading.heartbeatsWait = true;
    reading.answer = refusal(403);
    await reading.begin();
    await reading.clock.advance(3_600_000);
    expect(reading.gaps().length).toBeLessThan(20);
  });

  test('is not repeated sooner because somebody waits', async () => {
    reading.answer = refusal(401);
    await reading.clock.advance(pollMs);
    const count = reading.readsMs.length;
    for (let asked = 0; asked < 20; asked += 1) {
      reading.informer.want();
      await reading.clock.advance(100);
    }
    expect(reading.readsMs).toHaveLength(count);
  });

  test('is repeated at once when the credential has changed', async () => {
    reading.answer = refusal(401);
    await reading.clock.advance(600_000);
    const count = reading.readsMs.length;
    reading.answer = ok();
    reading.informer.retryNow();
    await reading.clock.advance(0);
    expect(reading.readsMs).toHaveLength(count + 1);
    expect(reading.informer.failure).toBeUndefined();
    await reading.clock.advance(pollMs);
    expect(reading.gaps().at(-1)).toBe(pollMs);
  });

  test('that is under way when the credential changes is followed at once by one with the new one', async () => {
    reading.answer = refusal(401);
    reading.answerMs = 100;
    await reading.clock.advance(600_000);
    const underWay = reading.readsMs.length;
    while (reading.readsMs.length === underWay) await reading.clock.advance(50);
    reading.answer = ok();
    reading.informer.retryNow();
    await reading.clock.advance(1000);
    expect(reading.informer.failure).toBeUndefined();
  });

  test('starts the backoff anew after a success', async () => {
    reading.answer = refusal(503);
    await reading.clock.advance(300_000);
    reading.answer = ok();
    reading.informer.retryNow();
    await reading.clock.advance(0);
    reading.answer = refusal(503);
    const count = reading.readsMs.length;
    await reading.clock.advance(pollMs + 375);
    expect(reading.gaps().slice(count - 1)).toEqual([pollMs, 375]);
  });

  test('is told even when it is the first', async () => {
    reading = new Reading();
    reading.answer = refusal(401);
    await reading.begin();
    expect(reading.informer.current).toBeUndefined();
    expect(reading.failures).toHaveLength(1);
  });
});

describe('a snapshot', () => {
  const a = { id: id(1), state: 'running', revision: 1 };
  const b = { id: id(2), state: 'running', revision: 1 };
  const data = { id: id(3), status: 'ready', sizeGb: 20 };

  test('names the objects that are new, gone or different, and no other', async () => {
    const answers = [
      ok([a, b], [data]),
      ok([a, b], [data]),
      ok([b, { ...a, state: 'paused' }], [data]),
      ok([b], [{ ...data, sizeGb: 40 }]),
      ok([]),
    ];
    for (const answer of answers) {
      reading.answer = answer;
      await reading.clock.advance(pollMs);
    }
    expect(reading.changed()).toEqual([
      [],
      [a.id, b.id, data.id],
      [],
      [a.id],
      [a.id, data.id],
      [b.id, data.id],
    ]);
    expect(reading.changes.map(({ snapshot }) => snapshot.sequence)).toEqual([1, 2, 3, 4, 5, 6]);
  });

  test('keeps an object that did not change, whatever the order of its fields', async () => {
    reading.answer = ok([a, b]);
    await reading.clock.advance(pollMs);
    const before = reading.informer.current?.services;
    reading.answer = ok([
      { revision: 1, state: 'running', id: a.id },
      { ...b, revision: 2 },
    ]);
    await reading.clock.advance(pollMs);
    const after = reading.informer.current?.services;
    expect(after?.get(a.id)).toBe(before?.get(a.id));
    expect(after?.get(b.id)).not.toBe(before?.get(b.id));
  });

  test('law: the changed ids are the difference of what was answered', async () => {
    const item = fc.record({ id: fc.integer({ min: 1, max: 4 }).map(id), state: fc.constantFrom('x', 'y') });
    const list = fc.uniqueArray(item, { selector: (one) => one.id });
    await fc.assert(
      fc.asyncProperty(fc.array(list, { maxLength: 6 }), async (lists) => {
        reading = await new Reading().begin();
        let before = new Map<string, string>();
        for (const services of lists) {
          reading.answer = ok(services);
          await reading.clock.advance(pollMs);
          const after = new Map(services.map((one) => [one.id, one.state]));
          const ids = new Set([...before.keys(), ...after.keys()]);
          const expected = [...ids].filter((one) => before.get(one) !== after.get(one)).sort();
          expect(reading.changed().at(-1)).toEqual(expected);
          before = after;
        }
      }),
      { numRuns: 30 },
    );
  });

  test('tells since when it is true: the time before the request was sent', async () => {
    reading.answerMs = 700;
    await reading.clock.advance(pollMs + 700);
    expect(reading.informer.current).toMatchObject({
      startedAtMs: pollMs,
      receivedAt: pollMs + 700,
      balanceMicros: 5,
    });
  });
});

describe('stopped', () => {
  test('it reads no more', async () => {
    await reading.informer.stop();
    reading.informer.want();
    reading.informer.retryNow();
    await reading.clock.advance(10 * pollMs);
    expect(reading.readsMs).toEqual([0]);
  });

  test('it gives up the read that is under way, and tells nothing of it', async () => {
    reading.answerMs = 60_000;
    await reading.clock.advance(pollMs);
    await reading.informer.stop();
    await settle();
    expect(reading.aborted).toBe(1);
    await reading.clock.advance(10 * pollMs);
    expect(reading.readsMs).toHaveLength(2);
    expect([reading.changes.length, reading.failures.length]).toEqual([1, 0]);
  });
});

describe('whose account it is', () => {
  // COVERAGE 2, 83
  test('is made sure of before the first read, and nothing of a stranger is read', async () => {
    reading = new Reading();
    reading.identity.current = false;
    reading.identity.foreign = foreign;
    await reading.begin();
    expect(reading.readsMs).toEqual([]);
    expect(reading.failures).toMatchObject([{ reason: 'IdentityChanged', message: 'somebody else' }]);
    expect(reading.informer.current).toBeUndefined();
  });

  test('is not asked again while nothing gives reason to doubt it', async () => {
    await reading.clock.advance(10 * pollMs);
    expect([reading.readsMs.length, reading.identity.checks]).toEqual([11, 0]);
  });

  test('is asked before a read is believed in which something has vanished', async () => {
    reading.answer = ok([{ id: id(1) }, { id: id(2) }]);
    await reading.clock.advance(pollMs);
    reading.answer = ok([{ id: id(2) }, { id: id(3) }]);
    reading.identity.foreign = foreign;
    await reading.clock.advance(pollMs);
    expect([...(reading.informer.current?.services.keys() ?? [])]).toEqual([id(1), id(2)]);
    expect(reading.informer.failure?.reason).toBe('IdentityChanged');
    reading.identity.foreign = undefined;
    await reading.clock.advance(pollMs);
    expect([...(reading.informer.current?.services.keys() ?? [])]).toEqual([id(2), id(3)]);
    expect(reading.informer.failure).toBeUndefined();
  });

  // COVERAGE 2, 84
  test.each([
    [true, 5000],
    [false, pollMs],
  ])(
    'is asked soon when a request was answered 401 and heartbeats wait (%s)',
    async (heartbeatsWait, afterMs) => {
      reading.heartbeatsWait = heartbeatsWait;
      reading.identity.recheck();
      const [checks, count] = [reading.identity.checks, reading.readsMs.length];
      reading.informer.rejected();
      await reading.clock.advance(afterMs - 1);
      expect(reading.identity.checks).toBe(checks);
      await reading.clock.advance(1);
      expect([reading.identity.checks, reading.readsMs.length]).toEqual([checks + 1, count + 1]);
    },
  );

  test('is asked when the credential has changed, and for a stranger it is asked ever more seldom', async () => {
    reading.identity.foreign = foreign;
    reading.informer.retryNow();
    await reading.clock.advance(0);
    expect([reading.identity.checks, reading.readsMs.length]).toEqual([1, 1]);
    await reading.clock.advance(3_600_000);
    expect(reading.readsMs).toHaveLength(1);
    expect(reading.identity.checks).toBeGreaterThan(10);
    expect(reading.identity.checks).toBeLessThan(30);
  });
});

test('against the reference control plane, a new service is a change, and its start another', async () => {
  await using world = await startWorld();
  await using client = clientOf(world.url, key.alice);
  let reported = Promise.withResolvers<SnapshotChange>();
  const informer = new AccountInformer({
    api: client.api,
    identity: new ScriptedIdentity(),
    clock: client.clock,
    random: systemRandom,
    logger,
    pollMs,
    quietPollMs: pollMs,
    hasOpenWork: () => false,
    lists: () => ({ templates: false, registries: false }),
    heartbeatsWait: () => false,
    onSnapshot: (change) => reported.resolve(change),
    onFailure: (failure) => reported.reject(new Error(failure.message)),
  });
  const next = async () => {
    reported = Promise.withResolvers<SnapshotChange>();
    await client.clock.advance(pollMs);
    return reported.promise;
  };
  informer.start();
  expect((await next()).changedIds).toEqual(new Set());
  const created = (await world.ok('POST', '/api/services', trainer)) as { id: string };
  expect((await next()).changedIds).toEqual(new Set([created.id]));
  await world.clock.advance(8000);
  const { snapshot, changedIds } = await next();
  expect(changedIds).toEqual(new Set([created.id]));
  expect(snapshot.services.get(created.id)).toMatchObject({ name: 'trainer', state: 'running' });
  expect((await next()).changedIds).toEqual(new Set());
  await informer.stop();
});
