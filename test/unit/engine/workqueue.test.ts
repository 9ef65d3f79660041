import * as fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/index.ts';
import { Workqueue, type QueueLane } from '../../../src/engine/workqueue.ts';
import { createMetrics } from '../../../src/telemetry/index.ts';
import { ManualClock, settle } from '../../support/manual-clock.ts';

const metrics = createMetrics();
let clock: ManualClock;
let queue: Workqueue<string>;

beforeEach(() => {
  clock = new ManualClock(0);
  queue = new Workqueue(clock, metrics);
});

/** Takes and finishes keys until none is ready, and gives them in their order. */
async function drain(): Promise<string[]> {
  const taken: string[] = [];
  while (queue.busy > 0) {
    const key = (await queue.take()) ?? '';
    taken.push(key);
    queue.done(key);
  }
  return taken;
}

/** Takes `turns` keys, and adds two to the lane before each. How many had names that begin with a word. */
async function takenWhileAdding(of: QueueLane, turns: number): Promise<(word: string) => number> {
  const taken: string[] = [];
  for (let index = 0; index < turns; index += 1) {
    for (const each of ['one', 'other']) queue.add(`${of} ${index} ${each}`, of);
    const next = (await queue.take()) ?? '';
    taken.push(next.split(' ')[0] ?? '');
    queue.settled(next);
    queue.done(next);
  }
  return (word) => taken.filter((each) => each === word).length;
}

const key = fc.constantFrom('a', 'b', 'c', 'd');
const lane = fc.constantFrom<QueueLane>('new', 'edit', 'moved', 'resync');
const step = fc.oneof(
  fc.record({ do: fc.constant('add' as const), key, lane }),
  fc.record({ do: fc.constant('addAfter' as const), key, delayMs: fc.nat(100) }),
  fc.record({ do: fc.constant('take' as const) }),
  fc.record({ do: fc.constant('done' as const), which: fc.nat(3) }),
  fc.record({ do: fc.constant('advance' as const), durationMs: fc.nat(60) }),
);

describe('laws of the workqueue', () => {
  test('no key is worked on twice at once, and each key is worked on again after it was last added', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        clock = new ManualClock(0);
        queue = new Workqueue(clock, metrics);
        const working: string[] = [];
        const lastAdded = new Map<string, number>();
        const lastTaken = new Map<string, number>();
        let now = 0;
        const take = async () => {
          const taken = (await queue.take()) ?? 'nothing, by a queue that goes on';
          expect(working).not.toContain(taken);
          working.push(taken);
          lastTaken.set(taken, (now += 1));
        };
        const failures: Promise<void>[] = [];
        for (const current of steps) {
          if (current.do === 'add') queue.add(current.key, current.lane);
          if (current.do === 'addAfter') queue.addAfter(current.key, current.delayMs);
          if (current.do === 'add' || current.do === 'addAfter') lastAdded.set(current.key, (now += 1));
          if (current.do === 'take') failures.push(take());
          if (current.do === 'done') {
            const [finished] = working.splice(current.which, 1);
            if (finished !== undefined) queue.done(finished);
          }
          if (current.do === 'advance') await clock.advance(current.durationMs);
          await settle();
        }
        await clock.advance(100);
        // What still waits for a key takes what is left; then everything ends.
        for (let turn = 0; turn < 20; turn += 1) {
          for (const finished of working.splice(0)) queue.done(finished);
          if (queue.busy > 0) failures.push(take());
          await settle();
        }
        expect(queue.busy).toBe(0);
        for (const [added, at] of lastAdded) expect(lastTaken.get(added) ?? 0).toBeGreaterThan(at);
        await Promise.race([Promise.all(failures), settle()]);
      }),
    );
  });

  test('a key that was added any number of times is taken once', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(key, lane), { maxLength: 30 }), async (adds) => {
        for (const [added, into] of adds) queue.add(added, into);
        expect((await drain()).sort()).toEqual([...new Set(adds.map(([added]) => added))].sort());
      }),
    );
  });

  test('within a lane the order of arrival is kept', async () => {
    const names = Array.from({ length: 50 }, (_, index) => `${index}`);
    for (const name of names) queue.add(name, 'resync');
    expect(await drain()).toEqual(names);
  });

  test('of everything taken while edits never end, each fourth comes from the slow lane', async () => {
    for (let index = 0; index < 100; index += 1) queue.add(`resync ${index}`, 'resync');
    const taken: string[] = [];
    for (let index = 0; index < 200; index += 1) {
      for (const edit of ['one', 'other']) queue.add(`edit ${index} ${edit}`, 'edit');
      const next = (await queue.take()) ?? '';
      taken.push(next);
      queue.done(next);
    }
    expect(taken.filter((name) => name.startsWith('resync'))).toHaveLength(50);
    for (let from = 0; from < 200; from += 4) {
      expect(taken.slice(from, from + 4).some((name) => name.startsWith('resync'))).toBe(true);
    }
  });
});

describe('something new', () => {
  test('goes before two thousand edits, whyever it is looked at again, until it is settled', async () => {
    for (let index = 0; index < 2000; index += 1) queue.add(`edit ${index}`, 'edit');
    queue.add('new', 'new');
    for (const again of ['new', 'resync', 'edit', 'resync'] as const) {
      queue.add('new', again);
      const next = [await queue.take(), await queue.take()];
      expect(next).toContain('new');
      expect(queue.laneOf('new')).toBe('new');
      for (const taken of next) queue.done(taken ?? '');
    }
    queue.settled('new');
    queue.add('new', 'edit');
    expect((await drain()).indexOf('new')).toBeGreaterThan(1000);
  });

  test('without end leaves each fourth turn to the others, edits and resyncs in turn', async () => {
    for (let index = 0; index < 100; index += 1) {
      queue.add(`resync ${index}`, 'resync');
      queue.add(`edit ${index}`, 'edit');
    }
    const counts = await takenWhileAdding('new', 80);
    expect([counts('new'), counts('edit'), counts('resync')]).toEqual([60, 10, 10]);
  });
});

describe('an edit', () => {
  test('goes before ten thousand resyncs, whenever it comes', async () => {
    for (let index = 0; index < 10_000; index += 1) queue.add(`resync ${index}`, 'resync');
    for (let round = 0; round < 8; round += 1) {
      queue.add('edited', 'edit');
      const next = [await queue.take(), await queue.take()];
      expect(next).toContain('edited');
      for (const taken of next) queue.done(taken ?? '');
    }
  });

  test('of a key that waits in the slow lane takes it out of there', async () => {
    for (const name of ['a', 'b', 'c']) queue.add(name, 'resync');
    queue.add('c', 'edit');
    expect(await drain()).toEqual(['c', 'a', 'b']);
  });

  test('is not put back by a resync of the same key', async () => {
    queue.add('a', 'resync');
    queue.add('b', 'edit');
    queue.add('b', 'resync');
    expect(await drain()).toEqual(['b', 'a']);
  });

  test('of a key that is being worked on comes next after it', async () => {
    queue.add('a', 'edit');
    expect(await queue.take()).toBe('a');
    queue.add('b', 'resync');
    queue.add('a', 'resync');
    queue.add('a', 'edit');
    queue.add('a', 'resync');
    expect(await queue.take()).toBe('b');
    queue.done('b');
    queue.add('c', 'resync');
    queue.done('a');
    expect(await drain()).toEqual(['a', 'c']);
  });
});

describe('what has moved at the provider', () => {
  test('goes before ten thousand resyncs, and behind an edit', async () => {
    for (let index = 0; index < 10_000; index += 1) queue.add(`resync ${index}`, 'resync');
    queue.add('resync 9000', 'moved');
    queue.add('edited', 'edit');
    expect([await queue.take(), await queue.take()]).toEqual(['edited', 'resync 9000']);
  });

  test('has each eighth turn while edits never end, and resyncs keep each fourth', async () => {
    for (let index = 0; index < 100; index += 1) {
      queue.add(`resync ${index}`, 'resync');
      queue.add(`moved ${index}`, 'moved');
    }
    const counts = await takenWhileAdding('edit', 80);
    expect([counts('edit'), counts('moved'), counts('resync')]).toEqual([50, 10, 20]);
  });
});

describe('keys of a share that has no room', () => {
  const shareOf = (of: string) => ({ name: of.split(' ')[0] ?? '', room: 2 });

  test('hold up nobody else, and come when one of them is done', async () => {
    queue = new Workqueue(clock, metrics, { shareOf });
    for (let index = 0; index < 100; index += 1) queue.add(`stuck ${index}`, 'new');
    queue.add('other 0', 'resync');
    const taken = [await queue.take(), await queue.take(), await queue.take()];
    expect(taken).toEqual(['stuck 0', 'other 0', 'stuck 1']);
    const waiting = queue.take();
    let next: string | undefined;
    void waiting.then((one) => (next = one));
    await settle();
    expect(next).toBeUndefined();
    queue.done('stuck 1');
    await settle();
    expect(next).toBe('stuck 2');
  });

  test('wait no more when they are of another share', async () => {
    const shares = new Map<string, string>();
    const current = (of: string) => ({ name: shares.get(of) ?? 'stuck', room: 1 });
    queue = new Workqueue(clock, metrics, { shareOf: current });
    for (const name of ['a', 'b', 'c']) queue.add(name, 'new');
    expect(await queue.take()).toBe('a');
    const waiting = queue.take();
    shares.set('c', 'other');
    queue.add('c', 'edit');
    expect(await waiting).toBe('c');
  });

  test('come at once when it is given more', async () => {
    queue = new Workqueue(clock, metrics, { shareOf });
    for (const name of ['a 0', 'a 1', 'a 2']) queue.add(name, 'edit');
    const taken = [await queue.take(), await queue.take()];
    const waiting = queue.take();
    queue.resize({ name: 'a', room: 3 });
    expect([...taken, await waiting]).toEqual(['a 0', 'a 1', 'a 2']);
  });

  test('are worked on again like all others, and are waited for at a stop', async () => {
    queue = new Workqueue(clock, metrics, { shareOf });
    for (const name of ['a 0', 'a 1', 'a 2']) queue.add(name, 'edit');
    expect([await queue.take(), await queue.take()]).toEqual(['a 0', 'a 1']);
    queue.add('a 0', 'edit');
    queue.done('a 0');
    expect([await queue.take(), queue.busy]).toEqual(['a 2', 3]);
    let isStopped = false;
    void queue.stop().then(() => (isStopped = true));
    queue.done('a 1');
    await settle();
    expect(isStopped).toBe(false);
    queue.done('a 2');
    await settle();
    expect([isStopped, queue.busy]).toEqual([true, 0]);
  });
});

test('whoever works on a key can ask why', async () => {
  queue.add('a', 'edit');
  queue.add('b', 'resync');
  await queue.take();
  await queue.take();
  expect([queue.laneOf('a'), queue.laneOf('b'), queue.laneOf('c')]).toEqual(['edit', 'resync', 'resync']);
  queue.add('a', 'resync');
  queue.done('a');
  await queue.take();
  expect(queue.laneOf('a')).toBe('resync');
});

describe('a delayed key', () => {
  test('comes when its time has come, and not before', async () => {
    queue.addAfter('a', 1000);
    expect(queue.busy).toBe(0);
    await clock.advance(999);
    expect(queue.busy).toBe(0);
    await clock.advance(1);
    expect(await drain()).toEqual(['a']);
  });

  test('law: of several delays the one that ends first counts, once', async () => {
    const asked = fc.array(fc.record({ afterMs: fc.nat(50), delayMs: fc.nat(500) }), {
      minLength: 1,
      maxLength: 8,
    });
    await fc.assert(
      fc.asyncProperty(asked, async (delays) => {
        clock = new ManualClock(0);
        queue = new Workqueue(clock, metrics);
        const takenAtMs: number[] = [];
        void (async () => {
          for (let taken = await queue.take(); taken !== undefined; taken = await queue.take()) {
            takenAtMs.push(clock.monotonicMs());
            queue.done(taken);
          }
        })();
        // The model: one time at which it is due; it is met, or brought forward.
        const expected: number[] = [];
        let dueAtMs = Number.POSITIVE_INFINITY;
        for (const { afterMs, delayMs } of delays) {
          await clock.advance(afterMs);
          if (dueAtMs <= clock.monotonicMs()) {
            expected.push(dueAtMs);
            dueAtMs = Number.POSITIVE_INFINITY;
          }
          queue.addAfter('a', delayMs);
          dueAtMs = Math.min(dueAtMs, clock.monotonicMs() + delayMs);
        }
        await clock.advance(1000);
        expect(takenAtMs).toEqual([...expected, dueAtMs]);
        await queue.stop();
      }),
    );
  });

  test('that is added meanwhile does not come a second time', async () => {
    queue.addAfter('a', 1000);
    queue.add('a', 'edit');
    expect(await drain()).toEqual(['a']);
    await clock.advance(5000);
    expect(queue.busy).toBe(0);
  });

  test('that falls due while it is worked on comes again afterwards', async () => {
    queue.add('a', 'edit');
    await queue.take();
    queue.addAfter('a', 10);
    await clock.advance(10);
    queue.done('a');
    expect(await drain()).toEqual(['a']);
  });
});

describe('a stopped queue', () => {
  test('waits for what is worked on, and gives nothing out any more', async () => {
    for (const name of ['a', 'b']) queue.add(name, 'edit');
    queue.addAfter('c', 10);
    expect(await queue.take()).toBe('a');
    let stopped = false;
    const stopping = queue.stop().then(() => (stopped = true));
    expect(await queue.take()).toBeUndefined();
    queue.add('d', 'edit');
    queue.addAfter('e', 0);
    await clock.advance(100);
    expect(stopped).toBe(false);
    queue.add('a', 'edit');
    queue.done('a');
    await stopping;
    expect(queue.busy).toBe(0);
    expect(await queue.take()).toBeUndefined();
  });

  test('sends home who waits for a key', async () => {
    const waiting = queue.take();
    await queue.stop();
    expect(await waiting).toBeUndefined();
  });
});

describe('idle', () => {
  test('is a queue without ready keys and without work; what is delayed does not count', async () => {
    queue.addAfter('later', 1000);
    await queue.idle();
    queue.add('a', 'edit');
    let idle = false;
    const waiting = queue.idle().then(() => (idle = true));
    await queue.take();
    queue.add('a', 'resync');
    queue.done('a');
    await settle();
    expect(idle).toBe(false);
    await drain();
    await waiting;
  });
});

test('thousands of keys whose passes wait for nothing leave timers their turn', async () => {
  const busy = new Workqueue(systemClock, metrics);
  const until = (ms: number) => {
    const endMs = systemClock.monotonicMs() + ms;
    while (systemClock.monotonicMs() < endMs);
  };
  for (let index = 0; index < 200; index += 1) busy.add(`key-${index}`, 'resync');
  let left = busy.busy;
  let leftAtTimer = 0;
  systemClock.after(1, () => {
    leftAtTimer = left;
  });
  while (left > 0) {
    const taken = (await busy.take()) ?? '';
    until(1);
    busy.done(taken);
    left = busy.busy;
  }
  expect(leftAtTimer).toBeGreaterThan(100);
});
