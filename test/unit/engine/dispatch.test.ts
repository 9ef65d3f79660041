import { beforeEach, describe, expect, test } from 'vitest';
import { Dispatch } from '../../../src/engine/dispatch.ts';
import { Workqueue } from '../../../src/engine/workqueue.ts';
import { createLogger, createMetrics } from '../../../src/telemetry/index.ts';
import { ManualClock, settle } from '../../support/manual-clock.ts';

const metrics = createMetrics();
let clock: ManualClock;
let queue: Workqueue<string>;
let passes: Map<string, PromiseWithResolvers<void>>;
let dispatch: Dispatch<string>;

beforeEach(() => {
  clock = new ManualClock();
  queue = new Workqueue(clock, metrics);
  passes = new Map();
  const logger = createLogger('silent');
  const pass = (key: string) => {
    const ends = Promise.withResolvers<void>();
    passes.set(key, ends);
    return ends.promise;
  };
  dispatch = new Dispatch(queue, pass, { logger, clock });
  for (let index = 0; index < 100; index += 1) queue.add(`key ${index}`, 'resync');
  dispatch.start();
});

describe('passes', () => {
  test('are begun 48 at a time, and another one when one of them ends', async () => {
    await settle();
    expect(passes.size).toBe(48);
    passes.get('key 7')?.resolve();
    await settle();
    expect([passes.size, [...passes.keys()].at(-1)]).toEqual([49, 'key 48']);
  });

  test('that last 250 ms wait for somebody, and do not count', async () => {
    await settle();
    await clock.advance(249);
    expect(passes.size).toBe(48);
    await clock.advance(1);
    await settle();
    expect(passes.size).toBe(96);
  });

  test('under way are waited for at a stop, however long they last, and no others begin', async () => {
    await settle();
    await clock.advance(250);
    await settle();
    let isStopped = false;
    void dispatch.stop().then(() => (isStopped = true));
    for (const [key, { resolve }] of passes) if (key !== 'key 3') resolve();
    await clock.advance(1000);
    expect([isStopped, passes.size]).toEqual([false, 96]);
    passes.get('key 3')?.resolve();
    await settle();
    expect([isStopped, passes.size, dispatch.alive]).toEqual([true, 96, true]);
  });

  test('that end as none may are a defect, and others continue', async () => {
    await settle();
    passes.get('key 0')?.reject(new Error('a defect'));
    await settle();
    expect([dispatch.alive, passes.size]).toEqual([false, 49]);
  });
});
